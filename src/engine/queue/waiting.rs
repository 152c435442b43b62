//! Which waiting pods a change is to be told to, without looking at the others.
//!
//! Pods that wait are kept by the plugin that may wake them and, below it, by what its hints read
//! of a pod ([`HintScope`]). One of each kin is asked for all, so that a change costs what the
//! kinds of waiting pods cost, however many there are of each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::framework::{HintScope, PluginName, QueueingHint};
use crate::engine::queue::in_flight::RecordedChange;
use crate::engine::queue::plugins::QueuePlugins;
use crate::engine::queue::queued_pod::QueuedPod;
use crate::model::controller_ref::ControllerRef;
use crate::model::pod_info::{PodInfo, PodUid};
use crate::model::vocabulary::{LabelSetId, PodClassId};

/// Whose changes may wake a pod, `None` being all, and as which kin it is asked about.
pub(super) type Waker = (Option<PluginName>, Kin);

/// Pods that get the same hints.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kin {
    Class(PlacedAlike),
    Labels(PlacedAlike, LabelSetId, Option<ControllerRef>),
    Pod(PodUid),
}

/// Pods of a profile with one class and rank.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PlacedAlike {
    class: PodClassId,
    priority: i32,
    never_preempts: bool,
    profile: Arc<str>,
}

/// Waiting pods by plugin and kin.
#[derive(Debug, Default)]
pub(super) struct Waiting(BTreeMap<Option<PluginName>, BTreeMap<Kin, BTreeSet<PodUid>>>);

/// Who may wake `pod`.
pub(super) fn wakers(pod: &QueuedPod, plugins: &dyn QueuePlugins) -> Box<[Waker]> {
    let alone = || Kin::Pod(pod.info.uid.clone());
    if let Some(gating) = pod.gating_plugin {
        return Box::from([(Some(gating), alone())]);
    }
    if pod.has_no_rejectors() {
        return Box::from([(None, alone())]);
    }
    let rejectors = pod.unschedulable_plugins.union(&pod.pending_plugins);
    let wakers = rejectors.map(|plugin| {
        let scope = plugins.hint_scope(plugin, &pod.info);
        (Some(*plugin), Kin::of(&pod.info, scope))
    });
    wakers.collect()
}

// === impl Kin ===

impl Kin {
    fn of(pod: &PodInfo, scope: HintScope) -> Self {
        let alike = || PlacedAlike {
            class: pod.class,
            priority: pod.priority,
            never_preempts: pod.never_preempts,
            profile: Arc::clone(&pod.scheduler_name),
        };
        match scope {
            HintScope::Class => Self::Class(alike()),
            HintScope::Labels => Self::Labels(alike(), pod.labels, pod.controller.clone()),
            HintScope::Pod => Self::Pod(pod.uid.clone()),
        }
    }
}

// === impl Waiting ===

impl Waiting {
    pub(super) fn insert(&mut self, wakers: &[Waker], uid: &PodUid) {
        for (plugin, kin) in wakers {
            let kins = self.0.entry(*plugin).or_default();
            kins.entry(kin.clone()).or_default().insert(uid.clone());
        }
    }

    pub(super) fn remove(&mut self, wakers: &[Waker], uid: &PodUid) {
        for (plugin, kin) in wakers {
            let Some(kins) = self.0.get_mut(plugin) else {
                continue;
            };
            if let Some(uids) = kins.get_mut(kin) {
                uids.remove(uid);
                if uids.is_empty() {
                    kins.remove(kin);
                }
            }
            if kins.is_empty() {
                self.0.remove(plugin);
            }
        }
    }

    /// The pods that `change` may concern: those of plugins that registered it and have hope for
    /// one of their kin, and those that nobody rejected.
    pub(super) fn interested<'a>(
        &self,
        change: &RecordedChange,
        plugins: &dyn QueuePlugins,
        info: impl Fn(&PodUid) -> Option<&'a PodInfo>,
    ) -> BTreeSet<PodUid> {
        let is_wildcard = change.event.is_wildcard();
        let mut interested = BTreeSet::new();
        for (plugin, kins) in &self.0 {
            let asked = plugin.filter(|_| !is_wildcard);
            if asked.is_some_and(|plugin| !plugins.is_registered(plugin, change)) {
                continue;
            }
            for (kin, uids) in kins {
                let hopes = |uid: &PodUid| match (asked, info(uid)) {
                    (Some(plugin), Some(info)) => {
                        plugins.hint(plugin, info, change) == Some(QueueingHint::Queue)
                    }
                    _ => true,
                };
                let has_hope = match kin {
                    // It is asked on its own when it is moved.
                    Kin::Pod(_) => true,
                    Kin::Class(..) | Kin::Labels(..) => uids.first().is_none_or(hopes),
                };
                debug_assert!(
                    matches!(kin, Kin::Pod(_)) || uids.last().is_none_or(hopes) == has_hope,
                    "plugin {plugin:?} tells pods apart that it calls alike"
                );
                if has_hope {
                    interested.extend(uids.iter().cloned());
                }
            }
        }
        interested
    }

    /// Every pod with each of its wakers.
    #[cfg(test)]
    pub(super) fn entries(&self) -> BTreeSet<(Waker, PodUid)> {
        let kins = self.0.iter().flat_map(|(plugin, kins)| {
            assert!(!kins.is_empty(), "an empty entry of {plugin:?}");
            kins.iter()
                .map(move |(kin, uids)| ((*plugin, kin.clone()), uids))
        });
        kins.flat_map(|(waker, uids)| {
            assert!(!uids.is_empty(), "an empty entry of {waker:?}");
            uids.iter().map(move |uid| (waker.clone(), uid.clone()))
        })
        .collect()
    }
}
