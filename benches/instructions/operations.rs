//! The operations: each prepares an engine and gives back the part that is counted.

use std::sync::Arc;

use bayplan::engine::Engine;
use bayplan::engine::event::ClusterEvent;
use bayplan::model::objects::{Node, Pod};

use crate::bindings::carry_out;
use crate::cluster::{self, Nodes, RunningPods, Size};
use crate::workload::Workload;

/// Nodes of the cluster, and pods that run on each.
const SIZE: Size = Size {
    nodes: 500,
    running: 4,
};
/// Pods or nodes that an operation is about.
const COUNT: usize = 200;

/// What is counted.
pub(crate) struct Operation {
    /// The row in the table.
    pub(crate) name: &'static str,
    prepare: fn(&Fixture) -> Prepared,
}

/// A cluster with what is about to happen to it.
struct Prepared {
    engine: Engine,
    events: Vec<ClusterEvent>,
    decisions: usize,
}

/// What the operations have in common.
struct Fixture {
    workloads: Vec<Workload>,
    nodes: Nodes,
    pods: RunningPods,
}

/// In the order of the table.
pub(crate) const OPERATIONS: [Operation; 15] = [
    Operation {
        name: "decide 200 plain pods",
        prepare: |fixture| fixture.decisions("plain", false),
    },
    Operation {
        name: "decide 200 pods of 200 classes",
        prepare: |fixture| fixture.decisions("plain", true),
    },
    Operation {
        name: "decide 200 pods of a hundred classes in turn",
        prepare: |fixture| fixture.decisions("mixed-classes", false),
    },
    Operation {
        name: "decide 200 pods with labels of their own",
        prepare: |fixture| fixture.decisions("unique-labels", false),
    },
    Operation {
        name: "decide 200 pods that spread over zones",
        prepare: |fixture| fixture.decisions("spread-zone-hard", false),
    },
    Operation {
        name: "decide 200 pods that keep apart by host",
        prepare: |fixture| fixture.decisions("anti-affinity-host", false),
    },
    Operation {
        name: "decide 200 pods that prefer hosts of their kind",
        prepare: |fixture| fixture.decisions("preferred-affinity-host", false),
    },
    Operation {
        name: "decide 200 pods in two zones",
        prepare: |fixture| fixture.decisions("node-affinity-zone", false),
    },
    Operation {
        name: "refuse 200 pods for which no node is large enough",
        prepare: Fixture::refusals,
    },
    Operation {
        name: "take in 200 nodes",
        prepare: |fixture| {
            let nodes = SIZE.nodes..SIZE.nodes + COUNT;
            fixture.events(nodes.map(|i| node_applied(fixture.nodes.node(i))))
        },
    },
    Operation {
        name: "take in 200 updates of nodes that change nothing",
        prepare: |fixture| fixture.events((0..COUNT).map(|i| node_applied(fixture.nodes.node(i)))),
    },
    Operation {
        name: "take in 200 updates of nodes that change a label",
        prepare: |fixture| {
            fixture.events((0..COUNT).map(|i| {
                let mut node = fixture.nodes.node(i);
                let labels = node.metadata.labels.get_or_insert_default();
                labels.insert("rack".to_owned(), "r1".to_owned());
                node_applied(node)
            }))
        },
    },
    Operation {
        name: "take in 200 pods on nodes",
        prepare: |fixture| {
            fixture.events((0..COUNT).map(|i| pod_applied(fixture.pods.pod(i, 200))))
        },
    },
    Operation {
        name: "take in 200 pods on nodes that are gone",
        prepare: |fixture| {
            fixture.events(
                (0..COUNT).map(|i| ClusterEvent::PodDeleted(Arc::new(fixture.pods.pod(i, 0)))),
            )
        },
    },
    Operation {
        name: "take in 200 waiting pods",
        prepare: |fixture| {
            let plain = fixture.workload("plain");
            fixture.events((0..COUNT).map(|i| ClusterEvent::PodApplied(plain.pod(i, SIZE.nodes))))
        },
    },
];

/// Carries out the operation of this number in the table.
pub(crate) fn carry_out_one(number: usize) {
    let fixture = Fixture {
        workloads: Workload::all(),
        nodes: Nodes::new(),
        pods: RunningPods::new(),
    };
    let prepared = (OPERATIONS[number].prepare)(&fixture);
    // The engine is dropped outside of what is counted.
    drop(counted_operation(prepared));
}

/// Only what is called from here is counted: callgrind is told the name.
#[inline(never)]
fn counted_operation(mut prepared: Prepared) -> Engine {
    for event in prepared.events {
        prepared.engine.handle(event);
    }
    for _ in 0..prepared.decisions {
        prepared.engine.schedule_one();
        carry_out(&mut prepared.engine);
    }
    prepared.engine
}

impl Fixture {
    fn workload(&self, name: &str) -> &Workload {
        let workload = self.workloads.iter().find(|workload| workload.name == name);
        workload.expect("a workload of the table must be in benches/workloads")
    }

    /// Pods of a workload wait; none of its classes was seen yet.
    fn decisions(&self, workload: &str, each_of_its_own_class: bool) -> Prepared {
        let workload = self.workload(workload);
        let pods = (0..COUNT).map(|number| {
            if each_of_its_own_class {
                workload.pod_of_its_own_class(number, SIZE.nodes)
            } else {
                workload.pod(number, SIZE.nodes)
            }
        });
        self.waiting(pods)
    }

    fn refusals(&self) -> Prepared {
        let plain = self.workload("plain");
        self.waiting((0..COUNT).map(|number| {
            let mut pod = Arc::unwrap_or_clone(plain.pod(number, SIZE.nodes));
            let requests = &mut pod.spec.containers[0].resources.requests;
            requests.insert("cpu".to_owned(), "64".to_owned());
            Arc::new(pod)
        }))
    }

    fn waiting(&self, pods: impl Iterator<Item = Arc<Pod>>) -> Prepared {
        let mut prepared = self.events(std::iter::empty());
        pods.map(ClusterEvent::PodApplied)
            .for_each(|event| prepared.engine.handle(event));
        prepared.decisions = COUNT;
        prepared
    }

    #[expect(clippy::unused_self, reason = "operations read alike")]
    fn events(&self, events: impl Iterator<Item = ClusterEvent>) -> Prepared {
        Prepared {
            engine: cluster::engine(SIZE),
            events: events.collect(),
            decisions: 0,
        }
    }
}

fn node_applied(node: Node) -> ClusterEvent {
    ClusterEvent::NodeApplied(Arc::new(node))
}

fn pod_applied(pod: Pod) -> ClusterEvent {
    ClusterEvent::PodApplied(Arc::new(pod))
}
