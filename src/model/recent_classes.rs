//! The pods whose classes were compiled last. Pods of a workload come one after the other, in lists
//! as in rollouts: to find that a pod says what another one said costs a fraction of compiling it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::model::objects::Pod;
use crate::model::objects::pod::{PodSpec, PodStatus, Volume};
use crate::model::requests::is_resize_infeasible;

/// So many are looked at for each pod. More find little more and cost every pod that is found late.
const KEPT: usize = 8;

/// Pods with their classes, the one that was asked for last first.
#[derive(Debug, Default)]
pub(super) struct RecentClasses(Vec<RecentClass>);

#[derive(Debug)]
struct RecentClass {
    /// What the class was compiled from, and nothing else.
    source: Box<Pod>,
    class: ClassUse,
}

/// A class: the number, and which use of it this is. No reference is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClassUse {
    pub(super) id: u32,
    pub(super) serial: u64,
}

impl RecentClasses {
    /// The class of a pod that says the same in all that counts, whether or not it is still live.
    pub(super) fn find(&mut self, pod: &Pod) -> Option<ClassUse> {
        let mut entries = self.0.iter();
        let place = entries.position(|recent| has_same_class(&recent.source, pod))?;
        self.0[..=place].rotate_right(1);
        Some(self.0[0].class)
    }

    /// The class that was compiled from `pod`.
    pub(super) fn note(&mut self, pod: &Pod, class: ClassUse) {
        self.0.retain(|recent| recent.class.id != class.id);
        self.0.truncate(KEPT - 1);
        let source = Box::new(source(pod));
        self.0.insert(0, RecentClass { source, class });
    }
}

/// The part of a pod that [`has_same_class`] looks at.
fn source(pod: &Pod) -> Pod {
    Pod {
        metadata: ObjectMeta {
            namespace: pod.metadata.namespace.clone(),
            ..ObjectMeta::default()
        },
        ..pod.clone()
    }
}

/// Whether everything that [`PodClass::compile`](crate::model::pod_class::PodClass::compile) reads
/// is the same. May be wrong only by saying no.
fn has_same_class(known: &Pod, pod: &Pod) -> bool {
    let PodSpec {
        containers,
        init_containers,
        ephemeral_containers,
        node_selector,
        affinity,
        tolerations,
        topology_spread_constraints,
        host_network,
        host_users,
        overhead,
        resources,
        volumes,
        resource_claims,
        // No part of a class.
        node_name: _,
        scheduler_name: _,
        priority: _,
        preemption_policy: _,
        scheduling_gates: _,
    } = &known.spec;
    let spec = &pod.spec;
    *containers == spec.containers
        && known.metadata.namespace == pod.metadata.namespace
        && *tolerations == spec.tolerations
        && *node_selector == spec.node_selector
        && *affinity == spec.affinity
        && *topology_spread_constraints == spec.topology_spread_constraints
        && *init_containers == spec.init_containers
        && *ephemeral_containers == spec.ephemeral_containers
        && *host_network == spec.host_network
        && *host_users == spec.host_users
        && *overhead == spec.overhead
        && *resources == spec.resources
        && *resource_claims == spec.resource_claims
        && have_same_volumes(volumes, &spec.volumes)
        && have_same_grants(known, pod)
}

/// Volumes without a source that counts have names that were made up, as those of tokens have.
fn have_same_volumes(known: &[Volume], volumes: &[Volume]) -> bool {
    known.len() == volumes.len()
        && known
            .iter()
            .zip(volumes)
            .all(|(known, volume)| known == volume || !known.has_source() && !volume.has_source())
}

fn have_same_grants(known: &Pod, pod: &Pod) -> bool {
    let PodStatus {
        container_statuses,
        init_container_statuses,
        resources,
        allocated_resources,
        // Of the conditions one counts.
        conditions: _,
        // No part of a class.
        phase: _,
        nominated_node_name: _,
        start_time: _,
    } = &known.status;
    let status = &pod.status;
    *container_statuses == status.container_statuses
        && *init_container_statuses == status.init_container_statuses
        && *resources == status.resources
        && *allocated_resources == status.allocated_resources
        && is_resize_infeasible(known) == is_resize_infeasible(pod)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::vocabulary::Vocabulary;
    use crate::plugins::fixtures::{PodBuilder, make_pod};
    use serde_json::json;

    fn base() -> PodBuilder {
        make_pod("a")
            .spec(json!({
                "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
                "initContainers": [{"name": "i"}],
                "ephemeralContainers": [{"name": "e"}],
                "tolerations": [{"key": "t"}],
                "nodeSelector": {"k": "v"},
                "volumes": [{"name": "token-1"}, {"name": "v", "persistentVolumeClaim": {"claimName": "a"}}],
            }))
    }

    fn is_one_class(first: &PodBuilder, second: &PodBuilder) -> bool {
        let mut vocabulary = Vocabulary::new(1);
        let mut class = |pod: &PodBuilder| vocabulary.compile_pod(&pod.object()).unwrap().class;
        class(first) == class(second)
    }

    #[test]
    fn pods_that_differ_in_what_a_class_says_are_not_taken_for_each_other() {
        let different = [
            json!({"containers": [{"name": "c", "image": "j", "resources": {"requests": {"cpu": "1"}}}]}),
            json!({"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}]}),
            json!({"initContainers": [{"name": "i", "resources": {"requests": {"cpu": "3"}}}]}),
            json!({"ephemeralContainers": [{"name": "e",
                "volumeMounts": [{"bindMountOptions": ["noexec"]}]}]}),
            json!({"tolerations": [{"key": "u"}]}),
            json!({"nodeSelector": {"k": "w"}}),
            json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                [{"topologyKey": "k", "labelSelector": {}}]}}}),
            json!({"topologySpreadConstraints": [{"topologyKey": "k", "maxSkew": 1,
                "whenUnsatisfiable": "DoNotSchedule"}]}),
            json!({"hostNetwork": true, "hostUsers": false}),
            json!({"overhead": {"cpu": "1"}}),
            json!({"resources": {"requests": {"cpu": "9"}}}),
            json!({"resourceClaims": [{"name": "r"}]}),
            json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "b"}}]}),
            json!({"volumes": [{"name": "token-1", "image": {"reference": "i"}},
                {"name": "v", "persistentVolumeClaim": {"claimName": "a"}}]}),
        ];
        for spec in different {
            assert!(!is_one_class(&base(), &base().spec(spec.clone())), "{spec}");
        }
        let grants =
            json!({"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "5"}}]});
        assert!(!is_one_class(&base(), &base().status(grants.clone())));
        let infeasible =
            json!({"conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]});
        assert!(!is_one_class(&base(), &base().status(infeasible)));
        let elsewhere = base().metadata(json!({"namespace": "other"}));
        assert!(
            !is_one_class(&base(), &elsewhere),
            "claims are looked up there"
        );
    }

    #[test]
    fn what_is_no_part_of_a_class_does_not_count() {
        let volumes = json!([{"name": "token-2"}, {"name": "v", "persistentVolumeClaim": {"claimName": "a"}}]);
        let other = base()
            .metadata(json!({"name": "b", "uid": "b"}))
            .spec(json!({
                "nodeName": "n", "schedulerName": "s", "priority": 7, "preemptionPolicy": "Never",
                "schedulingGates": [{"name": "g"}], "volumes": volumes,
            }));
        let other = other.status(json!({"phase": "Running", "conditions": [{"type": "Ready"}]}));
        assert!(has_same_class(&source(&base().object()), &other.object()));
        assert!(is_one_class(&base(), &other));
    }

    #[test]
    fn the_number_of_a_class_that_is_gone_is_not_taken_for_the_class() {
        let mut vocabulary = Vocabulary::new(1);
        let first = vocabulary.compile_pod(&base().object()).unwrap();
        vocabulary.release_pod(&first);
        let other = base().spec(json!({"nodeSelector": {"k": "w"}}));
        let second = vocabulary.compile_pod(&other.object()).unwrap();
        assert_eq!(first.class, second.class, "the number is used again");
        let third = vocabulary.compile_pod(&base().object()).unwrap();
        assert_ne!(third.class, second.class);
    }

    #[test]
    fn a_few_classes_are_kept_and_the_one_that_was_asked_for_last_the_longest() {
        let pod = |number: usize| {
            base()
                .spec(json!({"nodeSelector": {"k": number.to_string()}}))
                .object()
        };
        let class = |number: usize| ClassUse {
            id: u32::try_from(number).unwrap(),
            serial: 0,
        };
        let mut recent = RecentClasses::default();
        for number in 0..KEPT {
            recent.note(&pod(number), class(number));
        }
        assert_eq!(recent.find(&pod(0)), Some(class(0)));
        recent.note(&pod(KEPT), class(KEPT));
        assert_eq!(recent.find(&pod(0)), Some(class(0)));
        assert_eq!(recent.find(&pod(1)), None);
        assert_eq!(recent.0.len(), KEPT);
    }
}
