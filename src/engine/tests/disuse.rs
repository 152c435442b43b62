//! Classes of pods that nobody has any more do not stay.

use super::*;

/// More than `GONE_AFTER`.
const MANY: usize = 1_100;

impl Driver {
    /// A pod comes and is bound.
    fn bound(&mut self, pod: &PodBuilder) {
        self.pod(pod);
        self.placed();
        self.complete(
            self.binding(),
            EffectOutcome::Done {
                resource_version: None,
            },
        );
        self.effects.clear();
    }

    /// Pods that are alike come and go.
    fn pass(&mut self, count: usize) {
        for number in 0..count {
            let pod = make_pod(&format!("passing-{number}"));
            self.bound(&pod);
            self.delete(&pod);
        }
    }

    /// Whether something is kept that was found out for this pod.
    fn keeps_class_of(&self, name: &str) -> bool {
        let mut kept = self.engine.classes.pods();
        kept.any(|pod| &*pod.key.name == name)
    }
}

fn of_class(name: &str, milli_cpu: u32) -> PodBuilder {
    make_pod(name).request("cpu", &format!("{milli_cpu}m"))
}

#[test]
fn a_class_without_pods_is_forgotten_once_many_others_were_decided() {
    let mut driver = Driver::new([make_node("n").allocatable(&[("cpu", "8"), ("pods", "110")])]);
    let pod = of_class("seldom", 100);
    driver.bound(&pod);
    driver.delete(&pod);
    driver.pass(MANY / 2);
    driver.bound(&of_class("another", 200));
    assert!(driver.keeps_class_of("seldom"), "others may come soon");
    driver.pass(MANY);
    driver.bound(&of_class("third", 300));
    assert!(!driver.keeps_class_of("seldom"));
    assert!(driver.keeps_class_of("another"), "its pod is there");
}

#[test]
fn a_class_that_is_used_stays_though_its_first_pod_is_gone() {
    let mut driver = Driver::new([make_node("n").allocatable(&[("cpu", "8"), ("pods", "110")])]);
    driver.pass(MANY);
    driver.bound(&of_class("another", 200));
    assert!(driver.keeps_class_of("passing-0"));
}

#[test]
fn what_is_forgotten_gives_back_all_that_it_held() {
    let mut driver = Driver::new([make_node("n").allocatable(&[("cpu", "8"), ("pods", "110")])]);
    for number in 0..5 {
        let pod = of_class("seldom", 100 + number);
        driver.bound(&pod);
        driver.delete(&pod);
        driver.pass(MANY);
    }
    // Each has a class and a standing: those that pass by, and the last of the others.
    assert_eq!(driver.engine.classes.pods().count(), 4);
    driver.assert_empty();
}

#[test]
fn a_class_takes_room_for_what_it_alone_knows_of_nodes() {
    const NODES: usize = 10;
    let nodes = (0..NODES).map(|number| {
        let node = make_node(&format!("n-{number}")).allocatable(&[("cpu", "8"), ("pods", "110")]);
        node.label("zone", "a").label("host", &number.to_string())
    });
    let mut driver = Driver::new(nodes);
    let mut grown = |pod: &PodBuilder| {
        let before = driver.engine.classes.bytes();
        driver.bound(pod);
        driver.engine.classes.bytes() - before
    };
    assert_eq!(grown(&of_class("plain", 100)), 0, "the ranking is shared");
    let spread = |key: &str| {
        json!([{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "x"}}}])
    };
    let over_zones = json!({"topologySpreadConstraints": spread("zone")});
    let over_zones = grown(&of_class("over-zones", 100).spec(over_zones));
    assert!((NODES..64 * NODES).contains(&over_zones), "{over_zones}");
}

#[test]
fn a_class_that_fits_nowhere_takes_its_room_when_it_fits() {
    let mut driver = Driver::new([]);
    let apart = json!({"affinity": {"podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {"app": "x"}}}]}}});
    let node = |cpu: &str| {
        make_node("n")
            .allocatable(&[("cpu", cpu), ("pods", "110")])
            .label("kubernetes.io/hostname", "n")
    };
    driver.node(&node("0"));
    driver.pod(&of_class("first", 100).spec(apart.clone()).label("app", "x"));
    driver.message();
    let before = driver.engine.classes.bytes();
    driver.node(&node("8"));
    driver.pod(&of_class("second", 100).spec(apart).label("app", "x"));
    driver.placed();
    assert!(driver.engine.classes.bytes() > before);
}
