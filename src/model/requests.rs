//! What a pod needs: one function for filter, score and cache alike.
//!
//! Mirrors `resource.PodRequests` of `k8s.io/component-helpers` and `PodInfo.CalculateResource` of
//! the scheduler, with in-place resize and pod-level resources on, as 1.37 has them by default:
//!
//! * steady = Σ containers + Σ sidecars; peak of an init container = its request + the sidecars
//!   declared before it; the need of each resource is the greatest of them;
//! * of a pod with status, the greatest of the *sums* of spec, allocated and actual;
//! * requests of the pod as a whole replace cpu, memory and huge pages; overhead comes on top.

use std::collections::BTreeMap;

use crate::model::objects::pod::{Container, ContainerStatus, Pod, ResourceList};
use crate::model::pod_class::NonZeroRequests;
use crate::model::quantity::{InvalidQuantity, Quantity};
use crate::model::resources::{CPU, MEMORY, Resources};

/// CPU that a container without a request counts for in scores, in thousandths
/// (`schedutil.DefaultMilliCPURequest`).
const DEFAULT_MILLI_CPU: i64 = 100;

/// Memory that a container without a request counts for in scores, in bytes
/// (`schedutil.DefaultMemoryRequest`).
const DEFAULT_MEMORY: i64 = 200 * 1024 * 1024;

type Amounts = BTreeMap<String, Quantity>;

/// What a pod needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodRequests {
    /// Exact amounts by resource name.
    pub amounts: BTreeMap<String, Quantity>,
    /// The same as `NodeResourcesFit` judges it: of a pod that has no node yet the status does not
    /// count (`computePodResourceRequest`).
    pub asked: BTreeMap<String, Quantity>,
    /// CPU and memory with defaults for containers that request none, as nodes sum them up.
    pub non_zero: NonZeroRequests,
    /// The same as `NodeResourcesFit` scores the pod itself: upstream leaves its scorer's feature
    /// gates unset, so that neither pod-level requests nor the status count (`NewFit`).
    pub scored: NonZeroRequests,
}

/// What `pod` needs. Fails on a text that is not a quantity.
pub fn pod_requests(pod: &Pod) -> Result<PodRequests, InvalidQuantity> {
    let amounts = requests_with_defaults(pod, &Amounts::new())?;
    let asked = asked_amounts(pod)?;
    let mut defaults = scoring_defaults();
    let mut scored =
        sum_of_containers(pod, &defaults, |container, _| &container.resources.requests)?;
    add(&mut scored, &Resources::parse_list(&pod.spec.overhead)?);
    if pod_level_requests(pod).is_some() {
        defaults.retain(|name, _| !amounts.contains_key(name));
    }
    let non_zero = requests_with_defaults(pod, &defaults)?;
    Ok(PodRequests {
        amounts,
        asked,
        non_zero: non_zero_requests(&non_zero),
        scored: non_zero_requests(&scored),
    })
}

/// What the spec alone asks for.
fn asked_amounts(pod: &Pod) -> Result<Amounts, InvalidQuantity> {
    let mut asked = sum_of_containers(pod, &Amounts::new(), |container, _| {
        &container.resources.requests
    })?;
    if let Some(of_pod) = pod_level_requests(pod) {
        replace_pod_level(&mut asked, Resources::parse_list(of_pod)?);
    }
    add(&mut asked, &Resources::parse_list(&pod.spec.overhead)?);
    Ok(asked)
}

fn replace_pod_level(requests: &mut Amounts, of_pod: Amounts) {
    let of_pod = of_pod.into_iter();
    requests.extend(of_pod.filter(|(name, _)| is_pod_level_resource(name)));
}

fn non_zero_requests(amounts: &Amounts) -> NonZeroRequests {
    let amount = |name: &str| amounts.get(name).copied().unwrap_or_default();
    NonZeroRequests {
        milli_cpu: amount(CPU).millis(),
        memory: amount(MEMORY).units(),
    }
}

/// The defaults that scores add for a container that requests nothing.
fn scoring_defaults() -> Amounts {
    Amounts::from([
        (CPU.to_owned(), Quantity::from_millis(DEFAULT_MILLI_CPU)),
        (MEMORY.to_owned(), Quantity::from_units(DEFAULT_MEMORY)),
    ])
}

fn requests_with_defaults(pod: &Pod, defaults: &Amounts) -> Result<Amounts, InvalidQuantity> {
    let mut requests = container_requests(pod, defaults)?;
    if let Some(of_pod) = pod_level_requests(pod) {
        replace_pod_level(&mut requests, effective_pod_level(pod, of_pod)?);
    }
    add(&mut requests, &Resources::parse_list(&pod.spec.overhead)?);
    Ok(requests)
}

/// Pod-level requests, if any supported resource is among them (`IsPodLevelRequestsSet`).
fn pod_level_requests(pod: &Pod) -> Option<&ResourceList> {
    let requests = &pod.spec.resources.as_ref()?.requests;
    requests
        .keys()
        .any(|name| is_pod_level_resource(name))
        .then_some(requests)
}

fn is_pod_level_resource(name: &str) -> bool {
    name == CPU || name == MEMORY || name.starts_with("hugepages-")
}

/// The greatest of spec, actual and allocated at the level of the pod.
fn effective_pod_level(pod: &Pod, spec: &ResourceList) -> Result<Amounts, InvalidQuantity> {
    let Some(actual) = &pod.status.resources else {
        return Resources::parse_list(spec);
    };
    let mut effective = Resources::parse_list(&actual.requests)?;
    if !is_resize_infeasible(pod) {
        raise(&mut effective, &Resources::parse_list(spec)?);
    }
    raise(
        &mut effective,
        &Resources::parse_list(&pod.status.allocated_resources)?,
    );
    Ok(effective)
}

/// The greatest of the sums of spec, allocated and actual (`AggregateContainerRequests`).
fn container_requests(pod: &Pod, defaults: &Amounts) -> Result<Amounts, InvalidQuantity> {
    let infeasible = is_resize_infeasible(pod);
    if !infeasible && has_no_grants(pod) {
        return sum_of_containers(pod, defaults, |container, _| &container.resources.requests);
    }
    let granted_to_pod =
        pod.status.resources.as_ref().filter(|actual| {
            !actual.requests.is_empty() && !pod.status.allocated_resources.is_empty()
        });
    let (allocated, actual) = if let Some(actual) = granted_to_pod {
        (
            Resources::parse_list(&pod.status.allocated_resources)?,
            Resources::parse_list(&actual.requests)?,
        )
    } else {
        (
            sum_of_containers(pod, defaults, |container, status| {
                allocated_to(status).unwrap_or_else(|| spec_unless(infeasible, container))
            })?,
            sum_of_containers(pod, defaults, |container, status| {
                actual_of(status)
                    .or_else(|| allocated_to(status))
                    .unwrap_or_else(|| spec_unless(infeasible, container))
            })?,
        )
    };
    let mut requests = allocated;
    raise(&mut requests, &actual);
    if !infeasible {
        raise(
            &mut requests,
            &sum_of_containers(pod, defaults, |container, _| &container.resources.requests)?,
        );
    }
    Ok(requests)
}

/// Whether the status says nothing of resources, as that of a pod that no kubelet has seen.
fn has_no_grants(pod: &Pod) -> bool {
    let status = &pod.status;
    status.resources.is_none()
        && status.container_statuses.is_empty()
        && status.init_container_statuses.is_empty()
}

/// A resize that the node can never grant: the spec does not count (`IsPodResizeInfeasible`).
pub(super) fn is_resize_infeasible(pod: &Pod) -> bool {
    pod.status
        .conditions
        .iter()
        .find(|condition| condition.type_ == "PodResizePending")
        .is_some_and(|condition| condition.reason.as_deref() == Some("Infeasible"))
}

static NOTHING: ResourceList = ResourceList::new();

fn spec_unless(infeasible: bool, container: &Container) -> &ResourceList {
    if infeasible {
        &NOTHING
    } else {
        &container.resources.requests
    }
}

fn allocated_to(status: Option<&ContainerStatus>) -> Option<&ResourceList> {
    status
        .map(|status| &status.allocated_resources)
        .filter(|list| !list.is_empty())
}

fn actual_of(status: Option<&ContainerStatus>) -> Option<&ResourceList> {
    status?
        .resources
        .as_ref()
        .map(|actual| &actual.requests)
        .filter(|list| !list.is_empty())
}

/// Containers, sidecars and init containers together (`aggregateContainerResourcesByFn`).
fn sum_of_containers<'a>(
    pod: &'a Pod,
    defaults: &Amounts,
    requests_of: impl Fn(&'a Container, Option<&'a ContainerStatus>) -> &'a ResourceList,
) -> Result<Amounts, InvalidQuantity> {
    let amounts_of = |container: &'a Container| {
        let mut amounts =
            Resources::parse_list(requests_of(container, status_of(pod, &container.name)))?;
        for (name, amount) in defaults {
            amounts.entry(name.clone()).or_insert(*amount);
        }
        Ok(amounts)
    };
    let mut steady = Amounts::new();
    for container in &pod.spec.containers {
        add(&mut steady, &amounts_of(container)?);
    }
    let mut sidecars = Amounts::new();
    let mut peak = Amounts::new();
    for container in &pod.spec.init_containers {
        let mut amounts = amounts_of(container)?;
        if container.is_restartable() {
            add(&mut steady, &amounts);
            add(&mut sidecars, &amounts);
            raise(&mut peak, &sidecars);
        } else {
            add(&mut amounts, &sidecars);
            raise(&mut peak, &amounts);
        }
    }
    raise(&mut steady, &peak);
    Ok(steady)
}

fn status_of<'a>(pod: &'a Pod, container: &str) -> Option<&'a ContainerStatus> {
    let statuses = &pod.status.container_statuses;
    statuses
        .iter()
        .chain(&pod.status.init_container_statuses)
        .find(|status| status.name == container)
}

fn add(to: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let sum = to.entry(name.clone()).or_default();
        *sum = sum.saturating_add(*amount);
    }
}

fn raise(to: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        to.entry(name.clone())
            .and_modify(|most| *most = (*most).max(*amount))
            .or_insert(*amount);
    }
}
