//! Filters with the pods that were promised room on the node
//! (`RunFilterPluginsWithNominatedPods`).

use crate::engine::cache::overlay::NodeOverlay;
use crate::engine::cache::snapshot::NodeView;
use crate::engine::framework::CycleState;
use crate::engine::framework::extension_points::{FilterRunner, FilterVerdict};
use crate::engine::scheduling_cycle::Cycle;

impl Cycle<'_> {
    /// Runs the filters as if the pods of the same or a higher priority that are nominated for
    /// `node` were there, and then as if they were not: both must fit, since nobody knows yet
    /// whether they will come. Nodes without such pods are filtered once.
    pub(super) fn with_nominated_pods(
        &self,
        state: &CycleState,
        node: &NodeView<'_>,
        mut run: impl FnMut(&CycleState, &NodeView<'_>) -> FilterVerdict,
    ) -> FilterVerdict {
        let pod = self.pod;
        let mut others = self
            .cluster
            .nominated_pods(node.name())
            .filter(|other| {
                other.info.priority >= pod.info.priority && other.info.uid != pod.info.uid
            })
            .peekable();
        if others.peek().is_some() {
            let mut overlay = NodeOverlay::new(*node);
            let mut state = state.clone();
            for other in others {
                overlay.add(other);
                self.add_pod(&mut state, &pod, &other, &overlay.view());
            }
            let verdict = run(&state, &overlay.view());
            if verdict != FilterVerdict::Fits {
                return verdict;
            }
        }
        run(state, node)
    }
}
