//! Documents, their places and their limits.

use serde_json::json;

use super::*;

fn values(text: &str) -> Vec<Value> {
    let documents = documents(text).unwrap();
    documents
        .into_iter()
        .map(|document| document.value)
        .collect()
}

#[test]
fn documents_are_cut_apart_and_empty_ones_left_out() {
    assert!(values("").is_empty());
    assert!(values("# nothing\n").is_empty());
    assert_eq!(
        values("a: 1\n---\na: 2\n---\n"),
        [json!({"a": 1}), json!({"a": 2})]
    );
    assert_eq!(
        values("# first\n---\na: 1\r\n---\r\na: 2\r\n"),
        [json!({"a": 1}), json!({"a": 2})]
    );
    assert_eq!(
        values("--- {a: 1}\n--- # two\na: 2"),
        [json!({"a": 1}), json!({"a": 2})]
    );
    assert_eq!(
        values("\u{feff}%YAML 1.2\n---\na: 1\n...\n"),
        [json!({"a": 1})]
    );
    assert_eq!(
        values("a: |\n  ---\n  text\n"),
        [json!({"a": "---\ntext\n"})]
    );
    assert_eq!(values("{\"a\": \"----\"}"), [json!({"a": "----"})]);
}

#[test]
fn text_that_is_no_yaml_is_refused_with_its_line_in_the_file() {
    let error = documents("a: 1\n---\nb: 2\nc: [1,\n").unwrap_err();
    assert_eq!(error.place.unwrap().line, 5, "{error:?}");
    assert!(error.message.starts_with("not valid YAML: "), "{error:?}");
    let error = documents("a: 1\na: 2\n").unwrap_err();
    assert!(
        error.message.ends_with("the key \"a\" is there twice"),
        "{error:?}"
    );
    assert_eq!(error.place, Some(Place { line: 2, column: 1 }));
    assert!(documents("1: a\n").unwrap()[0].value["1"] == "a");
    assert!(documents("a: !tag b\n").is_err());
}

#[test]
fn bombs_and_towers_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..20 {
        let references = vec![format!("*a{}", i - 1); 10].join(", ");
        bomb.push_str(
            &[
                "a",
                &i.to_string(),
                ": &a",
                &i.to_string(),
                " [",
                &references,
                "]\n",
            ]
            .concat(),
        );
    }
    assert!(
        documents(&bomb)
            .unwrap_err()
            .message
            .contains("repetition limit")
    );
    let tower = "[".repeat(1000) + &"]".repeat(1000);
    assert!(
        documents(&tower)
            .unwrap_err()
            .message
            .contains("recursion limit")
    );
}

#[test]
fn places_count_from_the_start_of_the_file() {
    let text = "a: 1\n---\nspec:\n  list:\n  - name: x\n    weight: 3\n  - name: y\n";
    let document = &documents(text).unwrap()[1];
    let place = |path: &str| {
        let place = document.place_of(path);
        (place.line, place.column)
    };
    assert_eq!(place("spec.list[0].weight"), (6, 13));
    assert_eq!(place("spec.list[1].name"), (7, 11));
    assert_eq!(place("spec.list[1].weight"), (7, 5));
    assert_eq!(place("spec.list"), (5, 3));
    assert_eq!(place("nowhere"), (3, 1));
    assert_eq!(place(""), (3, 1));
}

#[test]
fn numbers_are_no_strings() {
    let document = &documents("schedulerName: 5\n").unwrap()[0];
    let spec =
        document.parse::<crate::apis::scheduler_profile::SchedulerProfileSpec>(&document.value, "");
    let error = spec.unwrap_err();
    assert_eq!(
        (error.field.as_str(), error.place.unwrap().line),
        ("schedulerName", 1)
    );
    assert_eq!(
        error.message,
        "invalid type: integer `5`, expected a string"
    );
}

#[test]
fn items_of_a_list_are_objects_of_their_own() {
    let document = &documents("kind: List\nitems: [{kind: Pod}, {kind: Node}]\n").unwrap()[0];
    let objects = document.objects();
    assert_eq!(
        objects[1],
        ("items[1]".to_owned(), &json!({"kind": "Node"}))
    );
    let pod = &documents("kind: Pod\n").unwrap()[0];
    assert_eq!(pod.objects(), [(String::new(), &json!({"kind": "Pod"}))]);
}
