//! Which pods there are and when each comes and goes, step by step. The steps are carried out
//! elsewhere.

use std::collections::VecDeque;

/// The workloads whose pods come by turns, and what is special about them.
const TURNS: [(&str, Kind); 7] = [
    ("plain", Kind::Free),
    ("spread-zone-hard", Kind::Free),
    ("anti-affinity-host", Kind::Free),
    ("affinity-zone", Kind::Free),
    (NEVER_FIT, Kind::Misfit),
    ("gated-crowd", Kind::Gated),
    ("unique-labels", Kind::Free),
];
/// The workload whose crowd fits nowhere.
pub(crate) const NEVER_FIT: &str = "unschedulable-crowd";
/// Namespaces that the running pods are in at a time.
const NAMESPACES: usize = 8;
/// A pod is behind its gate for so many seconds,
const GATED_SECONDS: usize = 10;
/// and one that never fits is there for so many: their number is steady before memory is judged.
const MISFIT_SECONDS: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Can be bound at once.
    Free,
    /// Can be bound when its gate has opened.
    Gated,
    /// Fits nowhere.
    Misfit,
}

/// A pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pod {
    /// Its place among all pods.
    pub(crate) number: usize,
    /// The number of its namespace.
    namespace: usize,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    MakeNamespace(String),
    Make(Pod),
    OpenGate(Pod),
    Delete(Pod),
    DropNamespace(String),
}

/// The pods that are there. As many of them fit at any time; the oldest go first.
#[derive(Debug)]
pub(crate) struct Population {
    running: usize,
    /// Pods later, a gate opens or a misfit goes.
    gated_for: usize,
    misfit_for: usize,
    next: usize,
    /// Those that have a node or will get one.
    fitting: VecDeque<Pod>,
    gated: VecDeque<Pod>,
    misfits: VecDeque<Pod>,
}

/// Whether a pod of this name fits.
pub(crate) fn fits(name: &str) -> bool {
    !name.starts_with(NEVER_FIT)
}

fn namespace(number: usize) -> String {
    format!("soak-{number}")
}

impl Pod {
    /// The file of `benches/workloads` that it is from.
    pub(crate) fn workload(self) -> &'static str {
        TURNS[self.number % TURNS.len()].0
    }

    pub(crate) fn kind(self) -> Kind {
        TURNS[self.number % TURNS.len()].1
    }

    pub(crate) fn name(self) -> String {
        format!("{}-{}", self.workload(), self.number)
    }

    pub(crate) fn namespace(self) -> String {
        namespace(self.namespace)
    }
}

impl Population {
    /// Nobody yet. `rate` pods come each second.
    pub(crate) fn new(running: usize, rate: usize) -> Self {
        Self {
            running,
            // Whatever the rate, they go before their namespace does.
            gated_for: (rate * GATED_SECONDS).min(running / 4),
            misfit_for: (rate * MISFIT_SECONDS).min(running / 2),
            next: 0,
            fitting: VecDeque::new(),
            gated: VecDeque::new(),
            misfits: VecDeque::new(),
        }
    }

    /// The first pods, which have a node from the beginning, so that the mix does not change later.
    pub(crate) fn fill(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        while self.fitting.len() < self.running {
            let pod = self.come(&mut steps);
            if pod.kind() != Kind::Misfit {
                self.fitting.push_back(pod);
                steps.push(Step::Make(pod));
            }
        }
        steps
    }

    /// One more pod comes, and others go for it.
    pub(crate) fn advance(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        let pod = self.come(&mut steps);
        steps.push(Step::Make(pod));
        match pod.kind() {
            Kind::Misfit => self.misfits.push_back(pod),
            Kind::Gated => {
                self.gated.push_back(pod);
                self.fitting.push_back(pod);
            }
            Kind::Free => self.fitting.push_back(pod),
        }
        let open = due(&mut self.gated, pod.number, self.gated_for);
        steps.extend(open.map(Step::OpenGate));
        let gone = due(&mut self.misfits, pod.number, self.misfit_for);
        steps.extend(gone.map(Step::Delete));
        if self.fitting.len() > self.running
            && let Some(oldest) = self.fitting.pop_front()
        {
            steps.push(Step::Delete(oldest));
            self.leave(oldest, &mut steps);
        }
        steps
    }

    /// Opens the gates that are left.
    pub(crate) fn open_all(&mut self) -> Vec<Step> {
        self.gated.drain(..).map(Step::OpenGate).collect()
    }

    fn come(&mut self, steps: &mut Vec<Step>) -> Pod {
        let number = self.next;
        self.next += 1;
        let each = self.running / NAMESPACES;
        if number.is_multiple_of(each) {
            steps.push(Step::MakeNamespace(namespace(number / each)));
        }
        Pod {
            number,
            namespace: number / each,
        }
    }

    /// A namespace goes when the one after it has lost its last pod, so that its own pods are gone.
    fn leave(&self, oldest: Pod, steps: &mut Vec<Step>) {
        let left = self.fitting.front().map(|pod| pod.namespace);
        if left != Some(oldest.namespace)
            && let Some(before) = oldest.namespace.checked_sub(1)
        {
            steps.push(Step::DropNamespace(namespace(before)));
        }
    }
}

/// Takes out those that came so long before pod number `now`.
fn due(pods: &mut VecDeque<Pod>, now: usize, after: usize) -> impl Iterator<Item = Pod> {
    std::iter::from_fn(move || pods.pop_front_if(|pod| pod.number + after <= now))
}

#[cfg(test)]
mod tests;
