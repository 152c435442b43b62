//! The scripts, a file for each subject.

mod gates;
mod nodes;
mod nominations;
mod tolerations;
mod victims;
mod volumes;

use std::pin::Pin;

use crate::stage::Stage;

/// A script on its way.
type Playing<'a> = Pin<Box<dyn Future<Output = anyhow::Result<()>> + 'a>>;

/// Plays with pods of the stage's scheduler. Nothing may depend on chance: of two nodes that are
/// equally good each scheduler would take its own.
type Script = for<'a> fn(&'a Stage) -> Playing<'a>;

/// All of them, by name.
pub(crate) const SCRIPTS: [(&str, Script); 11] = [
    ("gate removal", |stage| Box::pin(gates::lifted(stage))),
    ("toleration added", |stage| {
        Box::pin(tolerations::added_while_waiting(stage))
    }),
    ("node becoming ready", |stage| {
        Box::pin(nodes::becoming_ready(stage))
    }),
    ("claim bound late", |stage| {
        Box::pin(volumes::immediate_claim_bound_late(stage))
    }),
    ("volume made late", |stage| {
        Box::pin(volumes::volume_made_late(stage))
    }),
    ("victims and budgets", |stage| {
        Box::pin(victims::budgets_decide(stage))
    }),
    ("victims under equal violations", |stage| {
        Box::pin(victims::priorities_decide(stage))
    }),
    ("preemptor deleted", |stage| {
        Box::pin(nominations::preemptor_deleted(stage))
    }),
    ("victim hangs", |stage| {
        Box::pin(nominations::victim_hangs(stage))
    }),
    ("node tainted after nomination", |stage| {
        Box::pin(nominations::node_tainted(stage))
    }),
    ("more important pod comes", |stage| {
        Box::pin(nominations::more_important_pod_comes(stage))
    }),
];
