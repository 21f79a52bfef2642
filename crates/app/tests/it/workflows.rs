//! `trunkline workflow`: records checked without a database, kept with one.

use serde_json::{Value, json};
use trunkline_db::Role;

use crate::admin_cli::AdminCli;

const BASE: &str = include_str!("../../../catalog/tests/fixtures/workflows/base.json");

fn record(changes: &[(&str, Value)]) -> String {
    let mut record: Value = serde_json::from_str(BASE).unwrap();
    for (pointer, value) in changes {
        *record.pointer_mut(pointer).unwrap() = value.clone();
    }
    record.to_string()
}

#[test]
fn a_record_is_validated_without_a_database_and_every_finding_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let run = |text: &str, words: &[&str]| {
        std::fs::write(directory.path().join("w.json"), text).unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_trunkline"))
            .args(["workflow", "validate", "w.json"])
            .args(words)
            .current_dir(directory.path())
            .env_clear()
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), text)
    };
    let (code, text) = run(BASE, &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("valid workflow record") && text.contains("d350d675"),
        "{text}"
    );
    let (code, text) = run(BASE, &["--json"]);
    let object: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (code, &object["ok"], &object["findings"]),
        (Some(0), &json!(true), &json!([]))
    );

    let wrong = record(&[("/title", json!("")), ("/inputs/1/type", json!("number"))]);
    let (code, text) = run(&wrong, &[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("findings: 2") && text.contains("$.inputs[1].type: must be one of"),
        "{text}"
    );
    let (code, text) = run(&wrong, &["--json"]);
    let object: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &object["ok"]), (Some(1), &json!(false)));
    let paths: Vec<&str> = object["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["$.title", "$.inputs[1].type"]);

    let unfounded = record(&[("/runtime_binding/status", json!("verified"))]);
    let (code, text) = run(&unfounded, &[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("$.runtime_binding.last_verified_at"),
        "{text}"
    );
    assert!(text.contains("only under a verified contract"), "{text}");
    let (code, _) = run(&format!("{BASE}{}", " ".repeat(300_000)), &[]);
    assert_eq!(code, Some(1));
}

#[tokio::test]
async fn records_are_imported_step_by_step_and_listed() {
    let cli = AdminCli::new().await;
    let empty = cli.json(&["workflow", "list"]);
    assert_eq!(empty["workflows"], json!([]));
    let import = |changes: &[(&str, Value)]| {
        cli.write("w.json", &record(changes));
        cli.json(&["workflow", "import", "w.json"])
    };
    let first = import(&[]);
    assert_eq!(
        (&first["how"], &first["workflow"]["revision"]),
        (&json!("first"), &json!(1))
    );
    assert_eq!(import(&[])["how"], "same");
    let locked = ("/contract_status", json!("contract_locked_not_executable"));
    assert_eq!(import(std::slice::from_ref(&locked))["how"], "kept");
    let fallen = import(&[
        locked,
        ("/executor_query/selection_policy", json!("fastest")),
    ]);
    assert_eq!(fallen["how"], "fell_back");
    assert_eq!(fallen["workflow"]["contract_status"], "draft_unverified");

    cli.write(
        "w.json",
        &record(&[
            ("/contract_status", json!("verified")),
            ("/executor_query/selection_policy", json!("fastest")),
        ]),
    );
    let refused = cli.refused(&["workflow", "import", "w.json"]);
    assert!(refused.contains("one step at a time"), "{refused}");
    cli.write("w.json", &record(&[("/slug", json!("A"))]));
    let found = cli.run(&["workflow", "import", "w.json"]);
    assert_eq!(found.code, Some(1));
    assert!(found.out.contains("$.slug"), "{found:?}");
    assert!(
        cli.refused(&["workflow", "import", "none.json"])
            .contains("none.json")
    );

    let listed = cli.json(&["workflow", "list"]);
    assert_eq!(listed["workflows"], json!([fallen["workflow"]]));
    assert_eq!(listed["workflows"][0]["runnable"], false);
    let text = cli.run(&["workflow", "list"]).out;
    assert!(
        text.contains("product-clip") && text.contains("draft_unverified"),
        "{text}"
    );
    let after = cli.json(&["workflow", "list", "--after", "product-clip"]);
    assert_eq!(after["workflows"], json!([]));
    let stranger = cli.run_as(Role::Data, &["workflow", "list"]);
    assert_eq!(
        stranger.code,
        Some(1),
        "the command needs the console's role"
    );
}
