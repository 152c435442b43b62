//! How many nodes an attempt looks at, and where the next one begins.

use super::*;

/// How many nodes fitted in each of `pods` attempts among 300 equal nodes, and the nodes chosen.
fn placements(percentage: i32, pods: usize) -> Vec<(usize, usize)> {
    let mut driver = Driver::new((0..300).map(|node| make_node(&format!("n{node:03}"))));
    driver.profile(json!({"schedulerName": "bayplan", "percentageOfNodesToScore": percentage}));
    let place = |pod| {
        driver.pod(&make_pod(&format!("p{pod}")));
        let decision = driver.schedule().unwrap();
        let Outcome::Scheduled { node } = decision.outcome else {
            panic!("every node has room: {decision:?}")
        };
        (decision.feasible_count, node[1..].parse().unwrap())
    };
    (0..pods).map(place).collect()
}

#[test]
fn a_percentage_bounds_the_search_and_the_next_one_begins_where_it_ended() {
    let placed = placements(40, 6);
    for (attempt, (feasible, node)) in placed.into_iter().enumerate() {
        let first = attempt * 120 % 300;
        let offset = (node + 300 - first) % 300;
        assert_eq!(feasible, 120);
        assert!(offset < 120, "attempt {attempt} took n{node:03}");
    }
}

#[test]
fn without_a_percentage_every_node_is_looked_at() {
    let placed = placements(100, 3);
    assert!(placed.iter().all(|(feasible, _)| *feasible == 300));
}
