//! `trunkline catalog lint` and `stale`, as an operator and CI run them.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use trunkline_upstream::Providers;

use crate::admin_cli::AdminCli;

fn trunkline(directory: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trunkline"))
        .args(words)
        .current_dir(directory)
        .env_clear()
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn object(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

const GROUPS: &str = "[groups.default]\nrate = \"1\"\n";

/// A model that is dearer than its vendor's list, whose price was read long ago.
fn model(name: &str, vendor: &str) -> String {
    format!(
        r#"
[models.{name}]
groups = ["default"]
{vendor}
description = "A model."
tasks = ["chat"]
specs = {{ type = "llm" }}
prices = {{ billing_unit = "tokens", standard = {{ input = 3, output = 2 }} }}

[[models.{name}.list]]
source = "acme.example"
read_on = "2020-02-29"
unit = "1M tokens"
per = 1_000_000
faces = {{ input = "0.000002", output = "0.000002" }}
"#
    )
}

#[test]
fn the_starter_catalog_lints_without_errors_and_needs_no_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let printed = trunkline(directory.path(), &["catalog", "lint"]);
    assert!(printed.status.success(), "{printed:?}");
    assert!(
        text(&printed).contains("the starter catalog: "),
        "{printed:?}"
    );
    assert!(
        text(&printed).contains(" models, 0 errors, "),
        "{printed:?}"
    );
    let json = object(&trunkline(directory.path(), &["catalog", "lint", "--json"]));
    assert_eq!(json["ok"], true);
    assert_eq!(json["errors"], 0);
    assert!(json["models"].as_u64().unwrap() >= 60);
    let findings = json["findings"].as_array().unwrap();
    assert_eq!(json["warnings"], json!(findings.len()));
    assert!(
        findings
            .iter()
            .all(|finding| finding["severity"] == "warning")
    );
}

#[test]
fn a_catalog_with_an_error_exits_1_and_warnings_alone_do_not() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("catalog");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("groups.toml"), GROUPS).unwrap();
    std::fs::write(folder.join("acme.toml"), model("m", "")).unwrap();
    std::fs::write(folder.join("notes.txt"), "not a catalog").unwrap();
    let warned = trunkline(directory.path(), &["catalog", "lint", "catalog"]);
    assert!(warned.status.success(), "{warned:?}");
    let lines = text(&warned);
    assert!(lines.contains("warning vendor_missing m: "), "{lines}");
    assert!(
        lines.contains("warning above_list m: input is sold at 0.000003 USD"),
        "{lines}"
    );
    assert!(
        lines.contains("catalog: 1 models, 0 errors, 2 warnings."),
        "{lines}"
    );
    std::fs::write(folder.join("acme.toml"), model("m", "vendor = \"nobody\"")).unwrap();
    let failed = trunkline(directory.path(), &["catalog", "lint", "catalog", "--json"]);
    assert_eq!(failed.status.code(), Some(1));
    let json = object(&failed);
    assert_eq!(json["ok"], false);
    assert_eq!(json["findings"][0]["code"], "vendor_unknown");
    assert_eq!(json["findings"][0]["model"], "m");
}

#[test]
fn files_are_read_as_one_catalog_and_what_stands_twice_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    put("groups.toml", GROUPS);
    put("one.toml", &model("m", ""));
    put("two.toml", &model("m", ""));
    let lint = |files: &[&str]| {
        let words: Vec<&str> = ["catalog", "lint"].iter().chain(files).copied().collect();
        trunkline(directory.path(), &words)
    };
    assert!(lint(&["groups.toml", "one.toml"]).status.success());
    let twice = lint(&["groups.toml", "one.toml", "two.toml"]);
    assert_eq!(twice.status.code(), Some(1));
    let reply = String::from_utf8(twice.stderr).unwrap();
    assert!(
        reply.contains("two.toml contradicts another file: model \"m\""),
        "{reply}"
    );
    let absent = lint(&["nothing.toml"]);
    assert_eq!(absent.status.code(), Some(1));
    assert!(
        String::from_utf8(absent.stderr)
            .unwrap()
            .contains("cannot read nothing.toml")
    );
    put("broken.toml", "models = 7");
    assert_eq!(lint(&["broken.toml"]).status.code(), Some(1));
    std::fs::create_dir(directory.path().join("empty")).unwrap();
    assert_eq!(lint(&["empty"]).status.code(), Some(1));
}

#[test]
fn stale_lists_old_prices_with_their_age_and_succeeds() {
    let directory = tempfile::tempdir().unwrap();
    let catalog = format!("{GROUPS}{}", model("m", ""));
    std::fs::write(directory.path().join("old.toml"), catalog).unwrap();
    let printed = trunkline(directory.path(), &["catalog", "stale", "old.toml"]);
    assert!(printed.status.success(), "{printed:?}");
    let lines = text(&printed);
    assert!(
        lines.contains("2020-02-29") && lines.contains("acme.example"),
        "{lines}"
    );
    let json = object(&trunkline(
        directory.path(),
        &["catalog", "stale", "--days", "30", "old.toml", "--json"],
    ));
    assert_eq!((&json["count"], &json["days"]), (&json!(1), &json!(30)));
    assert!(json["prices"][0]["age_days"].as_i64().unwrap() > 2_000);
    let none = trunkline(
        directory.path(),
        &["catalog", "stale", "--days", "1000000", "old.toml"],
    );
    assert!(
        text(&none).contains("no price is older than 1000000 days"),
        "{none:?}"
    );
    assert!(
        trunkline(directory.path(), &["catalog", "stale"])
            .status
            .success()
    );
}

#[tokio::test]
async fn the_starter_catalog_can_be_sold_from_as_it_is() {
    let cli = AdminCli::new().await;
    let done = cli.json(&["catalog", "import", "--starter"]);
    let starter = trunkline_catalog::starter().unwrap();
    let cells = trunkline_social::Cells::builtin().unwrap();
    let sold = cells.all().filter(|cell| cell.price.is_some()).count();
    assert_eq!(done["models"], json!(starter.models.len() + sold));
    // What was put in comes out again, every source and rule of it.
    let exported = cli.run(&["catalog", "export"]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let mut exported = trunkline_catalog::Document::from_toml(&exported.out).unwrap();
    exported
        .models
        .retain(|name, _| cells.by_model(name).is_none());
    assert_eq!(exported, starter);
}

#[test]
fn every_endpoint_of_every_starter_record_is_spoken_by_a_shipped_provider_of_a_vendor() {
    let builtin = Providers::builtin().unwrap();
    // Those of this repository prove nothing: no vendor is behind them.
    let shipped: Vec<&str> = builtin
        .names()
        .filter(|name| !name.starts_with("simulator"))
        .collect();
    assert!(shipped.len() >= 45, "{}", shipped.len());
    let mut pairs = 0;
    for (name, entry) in &trunkline_catalog::starter().unwrap().models {
        for endpoint in entry.endpoints.iter().filter(|one| one.is_callable()) {
            let speak = shipped
                .iter()
                .filter(|provider| builtin.get(provider).unwrap().serves(*endpoint));
            let count = speak.count();
            assert!(count > 0, "{name}: {}", endpoint.name());
            pairs += count;
        }
    }
    assert!(pairs > 1_000, "{pairs}");
}
