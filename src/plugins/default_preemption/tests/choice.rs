//! Which of several candidates is taken.

use super::*;

#[test]
fn each_rule_decides_where_those_before_it_are_equal() {
    type Pods<'a> = &'a [(i32, u32)];
    let cases: [(&str, Pods<'_>, Pods<'_>); 4] = [
        ("lower highest priority", &[(5, 1)], &[(4, 1), (4, 1)]),
        (
            "lower sum of priorities",
            &[(5, 1), (4, 1)],
            &[(5, 1), (3, 1)],
        ),
        ("fewer pods", &[(5, 1), (i32::MIN, 1)], &[(5, 1)]),
        ("later start", &[(5, 1), (4, 9)], &[(5, 2), (4, 1)]),
    ];
    for (rule, worse, better) in cases {
        let mut scene = by_name([node("n1", "9"), node("n2", "9")]);
        for (node, pods) in [("n1", worse), ("n2", better)] {
            // The port is needed, and each pod of the node is in the way of its own one.
            scene = scene.with(pods.iter().enumerate().map(|(index, (priority, start))| {
                let name = format!("{node}-{index}");
                let port = if index == 0 { 80 } else { 81 };
                running(&name, node, *priority, *start).host_port("", "TCP", port)
            }));
        }
        let pod = preemptor("1")
            .host_port("", "TCP", 80)
            .host_port("", "TCP", 81);
        let said = scene.decide(&pod);
        assert_eq!(said.nominated.as_deref(), Some("n2"), "{rule}");
    }
}

#[test]
fn of_equals_the_first_name_is_taken_or_the_first_on_the_ring() {
    let nodes = || (0..20).map(|i| node(&format!("n{i:02}"), "1"));
    let pods = || (0..20).map(|i| running(&format!("p{i}"), &format!("n{i:02}"), 1, 1));
    let mut scene = by_name(nodes()).with(pods());
    assert_eq!(
        scene.decide(&preemptor("1")).nominated.as_deref(),
        Some("n00")
    );

    let mut scene = Scene::new(TieBreak::Seeded, nodes()).with(pods());
    let mut taken = std::collections::BTreeSet::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        let pod = make_pod(name).priority(10).request("cpu", "1");
        taken.insert(scene.decide(&pod).nominated);
    }
    assert!(taken.len() > 2, "{taken:?}");
}

#[test]
fn enough_candidates_are_as_many_as_the_arguments_say() {
    let plugin = |percentage, absolute| {
        DefaultPreemption::new(&DefaultPreemptionArgs {
            min_candidate_nodes_percentage: percentage,
            min_candidate_nodes_absolute: absolute,
        })
    };
    for (percentage, absolute, nodes, enough) in [
        (None, None, 5_000, 5_000),
        (Some(10), Some(100), 7, 7),
        (Some(10), None, 999, 100),
        (None, Some(100), 5_000, 500),
        (Some(0), Some(20), 5_000, 20),
    ] {
        let plugin = plugin(percentage, absolute);
        assert_eq!(plugin.enough(nodes, TieBreak::Seeded), enough);
        assert_eq!(plugin.enough(nodes, TieBreak::Name), nodes);
    }
}
