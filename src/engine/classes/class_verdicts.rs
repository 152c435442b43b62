//! What filters say of whole node classes, for one class of pods.

use crate::engine::framework::extension_points::FilterVerdict;
use crate::model::vocabulary::{NodeClassId, Vocabulary};

/// Verdicts by node class.
#[derive(Debug, Default)]
pub(crate) struct ClassVerdicts(Vec<Option<ClassVerdict>>);

/// What filters say of a node class.
#[derive(Debug)]
struct ClassVerdict {
    /// Which use of the id was judged.
    serial: u64,
    no: Option<Box<ClassNo>>,
}

/// The first filter that does not let any node of a class pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassNo {
    /// Its place among the filters of the attempt.
    pub(crate) position: usize,
    /// What it says.
    pub(crate) verdict: FilterVerdict,
}

impl ClassVerdicts {
    /// Why the nodes of `class` will not do, if they will not; `judge` is asked if it is not known.
    pub(crate) fn no(
        &mut self,
        class: NodeClassId,
        vocabulary: &Vocabulary,
        judge: impl FnOnce() -> Option<ClassNo>,
    ) -> Option<&ClassNo> {
        let (index, serial) = (class.index(), vocabulary.node_class_serial(class));
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        let known = &mut self.0[index];
        if known.as_ref().is_none_or(|known| known.serial != serial) {
            let no = judge().map(Box::new);
            *known = Some(ClassVerdict { serial, no });
        }
        known.as_ref()?.no.as_deref()
    }
}
