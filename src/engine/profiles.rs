//! The profiles that run, and those that went while pods of theirs were on their way.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::Engine;
use crate::engine::framework::profile::Profile;
use crate::engine::framework::{Plugin, PluginName};
use crate::model::pod_info::PodUid;
use crate::model::symbols::{Symbol, Symbols};

/// Profiles by `schedulerName`.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    running: BTreeMap<Arc<str>, Arc<Profile>>,
    retired: Vec<Arc<Profile>>,
    asked: RefCell<Option<PodUid>>,
}

impl Profiles {
    pub(super) fn get(&self, scheduler_name: &str) -> Option<&Arc<Profile>> {
        self.running.get(scheduler_name)
    }

    /// All of them, those that went included.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Profile>> {
        self.running.values().chain(&self.retired)
    }

    /// The plugins called `name` of all profiles.
    pub(super) fn running_plugins(&self, name: PluginName) -> impl Iterator<Item = &dyn Plugin> {
        self.running
            .values()
            .filter_map(move |profile| profile.plugin_named(name))
    }

    /// Asks plugins about `pod`, which is known from [`Self::asked`] if one of them panics.
    pub(super) fn ask_about<T>(&self, pod: &PodUid, ask: impl FnOnce() -> T) -> T {
        self.asked.replace(Some(pod.clone()));
        let answer = ask();
        self.asked.replace(None);
        answer
    }

    /// The pod that plugins are being asked about.
    pub(super) fn asked(&self) -> Option<PodUid> {
        self.asked.borrow().clone()
    }

    /// Every symbol that arguments of profiles hold, as often as it is held.
    pub(super) fn held(&self) -> impl Iterator<Item = Symbol> + '_ {
        let profiles = self.running.values().chain(&self.retired);
        profiles.flat_map(|profile| profile.held.iter())
    }

    fn replace(&mut self, profiles: Vec<Profile>) {
        let running = profiles
            .into_iter()
            .map(|profile| (Arc::clone(&profile.scheduler_name), Arc::new(profile)))
            .collect();
        let earlier = std::mem::replace(&mut self.running, running);
        self.retired.extend(earlier.into_values());
    }

    /// Gives back what the arguments of profiles held that no pod uses any more.
    pub(super) fn release_retired(&mut self, symbols: &mut Symbols) {
        for profile in std::mem::take(&mut self.retired) {
            match Arc::try_unwrap(profile) {
                Ok(profile) => symbols.release(profile.held),
                Err(still_used) => self.retired.push(still_used),
            }
        }
    }
}

impl Engine {
    /// Runs `profiles` from the next cycle on. Pods of a profile that is gone leave the queue;
    /// pods that are on their way keep the profile that placed them. Pods that wait are judged
    /// anew, since what rejected them may have changed.
    pub(super) fn change_profiles(&mut self, profiles: Vec<Profile>) {
        self.profiles.replace(profiles);
        self.classes.clear(&mut self.cache.vocabulary);
        let orphans: Vec<PodUid> = self
            .queue
            .pods()
            .filter(|(pod, _)| self.profiles.get(&pod.info.scheduler_name).is_none())
            .map(|(pod, _)| pod.info.uid.clone())
            .filter(|uid| !self.bindings.contains(uid))
            .collect();
        for uid in orphans {
            // Those who may have the room that it held are tried below with all others.
            self.forget_pending(&uid);
        }
        let waiting: Vec<PodUid> = self
            .queue
            .pods()
            .map(|(pod, _)| pod.info.uid.clone())
            .collect();
        let now = self.now;
        let (queue, plugins) = self.queue_and_plugins();
        queue.activate(now, &waiting, &plugins);
    }
}
