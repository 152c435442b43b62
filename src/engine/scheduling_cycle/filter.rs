//! Which nodes will do (`findNodesThatFitPod`).

use std::collections::BTreeSet;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::engine::cache::snapshot::{NodeView, PodView};
use crate::engine::classes::class_verdicts::{ClassNo, ClassVerdicts};
use crate::engine::framework::extension_points::{
    FilterPlugin, FilterScope, FilterVerdict, PreFilterVerdict,
};
use crate::engine::framework::{CycleState, PluginError, PluginName, Rejection, RejectionKind};
use crate::engine::observer::{ObservedPoint, StatusCode};
use crate::engine::scheduling_cycle::by_class::{Begun, Filtered};
use crate::engine::scheduling_cycle::extenders::Told;
use crate::engine::scheduling_cycle::skipped::Skipped;
use crate::engine::scheduling_cycle::{Cycle, Evaluation, Interruption, sampling};

/// The plugin name of nodes that a `PreFilter` result left out.
const NOBODY: PluginName = "";

/// What the `PreFilter` plugins found.
enum Search {
    /// Look at every node, or at these.
    Nodes(Option<NarrowedSearch>),
    /// No node will do.
    Nowhere(Rejection),
}

struct NarrowedSearch {
    names: BTreeSet<Arc<str>>,
    by: BTreeSet<PluginName>,
}

/// What became of the nominated node.
enum Promised<'a> {
    /// It is taken.
    Fits,
    /// It is looked at with the others.
    Rejected(NodeView<'a>, Rejection),
    /// There is none, or it could not be judged.
    Unknown,
}

/// The filters of one attempt: those that were not skipped, each with its place among them.
pub(super) struct Filters<'a, 'v> {
    by_node: Placed<'a>,
    /// Their verdicts hold for a whole node class.
    by_class: Placed<'a>,
    verdicts: &'v mut ClassVerdicts,
}

type Placed<'a> = SmallVec<[(usize, &'a dyn FilterPlugin); 8]>;

impl<'a> Cycle<'a> {
    /// `class`: what is kept of the class of the pod, if it is known.
    pub(super) fn filter_nodes<'c>(
        &self,
        class: Option<Begun<'c>>,
    ) -> Result<Filtered<'a, 'c>, Interruption> {
        let (known, mut state) = match class {
            Some(Begun {
                index,
                standing,
                state,
            }) => (Some((index, standing)), state),
            None => (None, CycleState::default()),
        };
        let mut skipped = Skipped::default();
        let search = self.observe(ObservedPoint::PreFilter, pre_filter_status, || {
            self.pre_filter(&mut state, &mut skipped)
        })?;
        if !skipped.is_empty() {
            state.write(skipped.clone());
        }
        let mut evaluation = Evaluation::new(state, self.cluster.len());
        let mut search = match search {
            Search::Nodes(search) => search,
            Search::Nowhere(rejection) => {
                nowhere(&mut evaluation, rejection, self.cluster.len());
                return Ok(Filtered::Nodes(evaluation));
            }
        };
        if let (Some(known), None) = (known, &search) {
            return self.filter_by_class(known, evaluation, &skipped);
        }
        let mut verdicts = ClassVerdicts::default();
        let mut filters = Filters::new(self, &skipped, &mut verdicts);
        let mut told = Told::new();
        match self.judge_nominated_node(&mut evaluation, &mut filters, &mut told)? {
            Promised::Fits => return Ok(Filtered::Nodes(evaluation)),
            Promised::Rejected(node, rejection) => {
                note_promised(&mut evaluation, search.as_mut(), node, rejection);
            }
            Promised::Unknown => {}
        }
        let nodes: Vec<NodeView<'a>> = match &search {
            None => self.cluster.nodes().collect(),
            Some(search) => search
                .names
                .iter()
                .filter_map(|name| self.cluster.node(name))
                .collect(),
        };
        if let Some(search) = search {
            let judged = nodes.len() + evaluation.rejected.len();
            leave_out(&mut evaluation, &search, self.cluster.len() - judged);
        }
        self.observe_filter(StatusCode::of_result, || {
            self.judge(&nodes, &mut evaluation, &mut filters)
        })?;
        self.ask_extenders(&mut evaluation, told)?;
        Ok(Filtered::Nodes(evaluation))
    }

    /// A profile without filters is not timed (`HasFilterPlugins`).
    pub(super) fn observe_filter<T>(
        &self,
        status: impl FnOnce(&T) -> StatusCode,
        run: impl FnOnce() -> T,
    ) -> T {
        if self.profile.points.filter.is_empty() {
            return run();
        }
        self.observe(ObservedPoint::Filter, status, run)
    }

    pub(super) fn judge(
        &self,
        nodes: &[NodeView<'a>],
        evaluation: &mut Evaluation<'a>,
        filters: &mut Filters<'a, '_>,
    ) -> Result<(), Interruption> {
        let enough = sampling::enough(self.profile.percentage_of_nodes_to_score, nodes.len());
        for node in sampling::rotated(nodes, self.start) {
            if evaluation.feasible.len() >= enough {
                break;
            }
            evaluation.looked_at += 1;
            match self.run_on(filters, &evaluation.state, &node) {
                FilterVerdict::Fits => evaluation.feasible.push(node),
                FilterVerdict::Rejected(rejection) => evaluation.reject(node, rejection),
                FilterVerdict::Failed(error) => return Err(Interruption::Failed(error)),
            }
        }
        Ok(())
    }

    /// The filters of the attempt, by their index in the profile.
    pub(super) fn filters(
        &self,
        skipped: &Skipped,
    ) -> impl Iterator<Item = (usize, &'a dyn FilterPlugin)> {
        let plugins = self.profile.points.filter.iter();
        let plugins = plugins.map(|index| (*index, self.profile.plugin(*index)));
        plugins
            .filter(|(index, _)| !skipped.has(*index))
            .filter_map(|(index, plugin)| Some((index, plugin.as_filter()?)))
    }

    fn run_on(
        &self,
        filters: &mut Filters<'a, '_>,
        state: &CycleState,
        node: &NodeView<'a>,
    ) -> FilterVerdict {
        self.with_nominated_pods(state, node, |state, node| {
            filters.run(state, &self.pod, node)
        })
    }

    /// Mirrors `RunPreFilterPlugins`: a resolvable no lets the other plugins run on, since
    /// preemption needs what they compute.
    fn pre_filter(
        &self,
        state: &mut CycleState,
        skipped: &mut Skipped,
    ) -> Result<Search, Interruption> {
        let mut narrowed: Option<NarrowedSearch> = None;
        let mut refusal = None;
        for index in &self.profile.points.pre_filter {
            let plugin = self.profile.plugin(*index);
            let Some(pre_filter) = plugin.as_pre_filter() else {
                continue;
            };
            match pre_filter.pre_filter(state, &self.pod, &self.cluster) {
                PreFilterVerdict::Proceed => {}
                PreFilterVerdict::Skip => {
                    skipped.insert(*index);
                }
                PreFilterVerdict::Nodes(names) => {
                    let search = NarrowedSearch::merge(narrowed.take(), names, plugin.name());
                    if search.names.is_empty() {
                        return Ok(Search::Nowhere(search.empty_rejection()));
                    }
                    narrowed = Some(search);
                }
                PreFilterVerdict::Rejected(rejection) if rejection.is_unresolvable() => {
                    return Ok(Search::Nowhere(rejection));
                }
                PreFilterVerdict::Rejected(rejection) => refusal = Some(rejection),
                PreFilterVerdict::Failed(error) => {
                    let message = format!("running PreFilter plugin {:?}: {error}", plugin.name());
                    return Err(Interruption::Failed(PluginError {
                        plugin: plugin.name(),
                        message,
                    }));
                }
            }
        }
        Ok(refusal.map_or(Search::Nodes(narrowed), Search::Nowhere))
    }

    /// A nominated node that fits is taken without looking at any other.
    fn judge_nominated_node(
        &self,
        evaluation: &mut Evaluation<'a>,
        filters: &mut Filters<'a, '_>,
        told: &mut Told,
    ) -> Result<Promised<'a>, Interruption> {
        let name = self.pod.info.nominated_node.as_ref();
        let Some(node) = name.and_then(|name| self.cluster.node(name)) else {
            return Ok(Promised::Unknown);
        };
        let status = |verdict: &FilterVerdict| match verdict {
            FilterVerdict::Failed(_) => StatusCode::Error,
            FilterVerdict::Fits | FilterVerdict::Rejected(_) => StatusCode::Success,
        };
        let run = || self.run_on(filters, &evaluation.state, &node);
        match self.observe_filter(status, run) {
            FilterVerdict::Fits => {}
            FilterVerdict::Rejected(rejection) => return Ok(Promised::Rejected(node, rejection)),
            FilterVerdict::Failed(_) => return Ok(Promised::Unknown),
        }
        evaluation.feasible.push(node);
        match self.filter_by_extenders(evaluation, told, true) {
            Ok(()) if !evaluation.feasible.is_empty() => return Ok(Promised::Fits),
            Err(questions @ Interruption::Questions(_)) => return Err(questions),
            // It is looked at with the others.
            Ok(()) | Err(Interruption::Failed(_)) => evaluation.feasible.clear(),
        }
        Ok(Promised::Unknown)
    }
}

impl<'a> Evaluation<'a> {
    fn reject(&mut self, node: NodeView<'a>, rejection: Rejection) {
        self.diagnosis.add(&rejection, 1);
        self.rejected.push((node, rejection));
    }
}

fn pre_filter_status(search: &Result<Search, Interruption>) -> StatusCode {
    match search {
        Ok(Search::Nodes(_)) => StatusCode::Success,
        Ok(Search::Nowhere(rejection)) => rejection.into(),
        Err(_) => StatusCode::Error,
    }
}

/// The same rejection holds for every node, and its text becomes the message.
fn nowhere(evaluation: &mut Evaluation<'_>, rejection: Rejection, nodes: usize) {
    evaluation.diagnosis.pre_filter_message = rejection.message();
    evaluation.diagnosis.add(&rejection, nodes);
    evaluation.not_looked_at = Some(rejection);
}

/// A nominated node that does not fit: where `PreFilter` narrowed the search, its plugin is named
/// among those that did, and a node outside the search keeps its own reasons.
fn note_promised<'a>(
    evaluation: &mut Evaluation<'a>,
    search: Option<&mut NarrowedSearch>,
    node: NodeView<'a>,
    rejection: Rejection,
) {
    let Some(search) = search else { return };
    if rejection.kind != RejectionKind::Pending && !rejection.plugin.is_empty() {
        search.by.insert(rejection.plugin);
    }
    if !search.names.contains(node.name()) {
        evaluation.reject(node, rejection);
    }
}

/// Nodes that a `PreFilter` result left out carry a rejection of nobody's.
fn leave_out(evaluation: &mut Evaluation<'_>, search: &NarrowedSearch, count: usize) {
    let rejection = Rejection::unresolvable(
        NOBODY,
        format!("node(s) didn't satisfy plugin(s) {}", go_list(&search.by)),
    );
    if count > 0 {
        evaluation.diagnosis.add(&rejection, count);
    }
    evaluation
        .diagnosis
        .unschedulable_plugins
        .extend(&search.by);
    evaluation.not_looked_at = Some(rejection);
}

/// Go's `%v` of a sorted list.
fn go_list(names: &BTreeSet<PluginName>) -> String {
    let names: Vec<_> = names.iter().copied().collect();
    format!("[{}]", names.join(" "))
}

// === impl NarrowedSearch ===

impl NarrowedSearch {
    fn merge(earlier: Option<Self>, names: BTreeSet<Arc<str>>, by: PluginName) -> Self {
        match earlier {
            None => Self {
                names,
                by: BTreeSet::from([by]),
            },
            Some(mut search) => {
                search.names.retain(|name| names.contains(name));
                search.by.insert(by);
                search
            }
        }
    }

    /// No node is left: a message about the pod as a whole.
    fn empty_rejection(&self) -> Rejection {
        let mut by = self.by.iter();
        let reason = match (by.next(), by.next()) {
            (Some(plugin), None) => format!("node(s) didn't satisfy plugin {plugin}"),
            _ => format!(
                "node(s) didn't satisfy plugin(s) {} simultaneously",
                go_list(&self.by)
            ),
        };
        Rejection::new(RejectionKind::UnschedulableAndUnresolvable, NOBODY, reason)
    }
}

// === impl Filters ===

impl<'a, 'v> Filters<'a, 'v> {
    pub(super) fn new(
        cycle: &Cycle<'a>,
        skipped: &Skipped,
        verdicts: &'v mut ClassVerdicts,
    ) -> Self {
        Self::of(cycle, skipped, verdicts, |_| true)
    }

    /// The filters at the indices that `wanted` wants. `verdicts` are those of the same filters on
    /// pods of the same class.
    pub(super) fn of(
        cycle: &Cycle<'a>,
        skipped: &Skipped,
        verdicts: &'v mut ClassVerdicts,
        wanted: impl Fn(usize) -> bool,
    ) -> Self {
        let filters = cycle.filters(skipped).filter(|(index, _)| wanted(*index));
        let filters = filters.map(|(_, filter)| filter).enumerate();
        let (by_class, by_node) =
            filters.partition(|(_, filter)| filter.scope(&cycle.pod) == FilterScope::NodeClass);
        Self {
            by_node,
            by_class,
            verdicts,
        }
    }

    /// Runs the filters until the first that says no.
    pub(super) fn run(
        &mut self,
        state: &CycleState,
        pod: &PodView<'_>,
        node: &NodeView<'_>,
    ) -> FilterVerdict {
        let by_class = &self.by_class;
        let judge = || first_no(by_class, state, pod, node);
        let cluster = node.cluster();
        let vocabulary = cluster.vocabulary();
        let no = self.verdicts.no(node.class_id(), vocabulary, judge);
        let before = no.map_or(usize::MAX, |no| no.position);
        for (position, filter) in &self.by_node {
            if *position > before {
                break;
            }
            let verdict = filter.filter(state, pod, node);
            if verdict != FilterVerdict::Fits {
                return naming_the_plugin(verdict);
            }
        }
        no.map_or(FilterVerdict::Fits, |no| no.verdict.clone())
    }
}

/// The first of `filters` that says no, whose word is good for every node of the class.
fn first_no(
    filters: &[(usize, &dyn FilterPlugin)],
    state: &CycleState,
    pod: &PodView<'_>,
    node: &NodeView<'_>,
) -> Option<ClassNo> {
    filters.iter().find_map(|(position, filter)| {
        let verdict = naming_the_plugin(filter.filter(state, pod, node));
        (verdict != FilterVerdict::Fits).then_some(ClassNo {
            position: *position,
            verdict,
        })
    })
}

/// A failure says which plugin it comes from (`RunFilterPlugins`).
pub(super) fn naming_the_plugin(verdict: FilterVerdict) -> FilterVerdict {
    match verdict {
        FilterVerdict::Failed(PluginError { plugin, message }) => {
            let message = format!("running {plugin:?} filter plugin: {message}");
            FilterVerdict::Failed(PluginError { plugin, message })
        }
        verdict => verdict,
    }
}
