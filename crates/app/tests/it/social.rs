//! `trunkline social`: cells listed, paused, resumed and priced, as an operator does it.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use trunkline_db::Role;

use crate::admin_cli::AdminCli;

/// Cells that the specification names, and those of them with a published price.
const CELLS: usize = 101;
const PUBLISHED: usize = 75;

fn cells(listed: &Value) -> &Vec<Value> {
    listed["cells"].as_array().unwrap()
}

fn one<'a>(listed: &'a Value, model: &str) -> &'a Value {
    let found = cells(listed).iter().find(|cell| cell["model"] == model);
    found.unwrap_or_else(|| panic!("{model}: {listed}"))
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

#[tokio::test]
async fn a_cell_is_sold_once_it_has_a_price_and_until_it_is_paused() {
    let cli = AdminCli::new().await;
    let bare = cli.json(&["social", "list"]);
    assert!(cells(&bare).len() >= CELLS);
    assert_eq!(bare["available"], 0, "nothing has a price yet");
    assert_eq!(bare["cells"][0]["reason"], "it has no price");
    cli.json(&["catalog", "import", "--starter"]);
    let listed = cli.json(&["social", "list"]);
    assert!(number(&listed["available"]) >= PUBLISHED);
    let search = one(&listed, "social-douyin-search");
    assert_eq!(
        (&search["price_usd"], &search["status"], &search["reason"]),
        (&json!("0.02"), &json!("available"), &Value::Null)
    );
    assert_eq!(search["margin_usd"], "0.01", "{search}");

    let words = ["social", "pause", "douyin", "search"];
    let paused = cli.json(&[&words[..], &["--reason", "a dispute"]].concat());
    assert_eq!(paused["done_now"], true);
    let repeated = cli.run(&[&words[..], &["--reason", "another"]].concat());
    assert!(
        repeated.out.contains("its first reason is kept"),
        "{repeated:?}"
    );
    let listed = cli.json(&["social", "list", "--platform", "douyin"]);
    assert_eq!(cells(&listed).len(), 6);
    let search = one(&listed, "social-douyin-search");
    assert_eq!(
        (&search["status"], &search["reason"], &search["paused_by"]),
        (
            &json!("paused"),
            &json!("a dispute (operator)"),
            &json!("operator")
        )
    );
    assert_eq!(search["price_usd"], "0.02", "it keeps its price");
    let text = cli.run(&["social", "list", "--platform", "douyin"]).out;
    assert!(text.contains("6 cells, 5 available"), "{text}");
    assert!(text.contains("a dispute (operator)"), "{text}");

    let words = ["social", "resume", "douyin", "search"];
    assert_eq!(cli.json(&words)["done_now"], true);
    assert_eq!(cli.json(&words)["done_now"], false);
    let events = cli.json(&["social", "events"]);
    let reported: Vec<(&Value, &Value, &Value)> = events["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| (&event["number"], &event["what"], &event["reason"]))
        .collect();
    assert_eq!(
        reported,
        [
            (&json!(2), &json!("resumed"), &json!("no reason was given")),
            (&json!(1), &json!("paused"), &json!("a dispute")),
        ]
    );
    let text = cli.run(&["social", "events", "--limit", "1"]).out;
    assert!(
        text.contains("resumed") && !text.contains("a dispute"),
        "{text}"
    );
}

#[tokio::test]
async fn unknown_names_are_refused_with_the_valid_ones_and_the_role_is_needed() {
    let cli = AdminCli::new().await;
    let reply = cli.refused(&["social", "pause", "myspace", "search", "--reason", "x"]);
    assert!(
        reply.contains("there is no platform \"myspace\""),
        "{reply}"
    );
    assert!(reply.contains("douyin, xiaohongshu"), "{reply}");
    let reply = cli.refused(&["social", "pause", "zhihu", "user-posts", "--reason", "x"]);
    assert!(
        reply.contains("it has search, post, user, comments, trending"),
        "{reply}"
    );
    let reply = cli.refused(&["social", "list", "--platform", "myspace"]);
    assert!(reply.contains("there is no platform"), "{reply}");
    let reply = cli.refused(&["social", "resume", "myspace", "search"]);
    assert!(reply.contains("there is no platform"), "{reply}");
    assert!(
        cli.run(&["social", "events"])
            .out
            .contains("No cell was ever paused")
    );
    let data = cli.run_as(Role::Data, &["social", "list"]);
    assert_eq!(data.code, Some(1), "{data:?}");
    for wrong in [
        &["social", "price"][..],
        &["social", "pause", "douyin", "search"],
    ] {
        assert_eq!(cli.run(wrong).code, Some(2), "{wrong:?}");
    }
}

#[tokio::test]
async fn a_pause_outlives_the_file_of_its_platform_and_can_be_ended() {
    let cli = AdminCli::new().await;
    let platform = "label = \"P99\"\nkey = \"plaza\"\nname = \"Plaza\"\n[cells.trending]\nmethod = \"GET\"\n\
        path = \"/api/v1/plaza\"\non_400 = \"try_again\"\nresult = { some_of = [\"/items\"] }\n\
        cost = { usd = \"0.003\", source = \"a test\", read_on = \"2026-11-15\" }\n";
    cli.write("mine/plaza.toml", platform);
    cli.write("trunkline.toml", "[social]\ncells = \"mine\"\n");
    let listed = cli.json(&["social", "list", "--platform", "plaza"]);
    assert_eq!(one(&listed, "social-plaza-trending")["cost_usd"], "0.003");
    cli.json(&["social", "pause", "plaza", "trending", "--reason", "x"]);
    cli.write("trunkline.toml", "");
    let done = cli.json(&["social", "resume", "plaza", "trending"]);
    assert_eq!(
        (&done["done_now"], &done["model"]),
        (&json!(true), &json!("social-plaza-trending"))
    );
    cli.refused(&["social", "resume", "plaza", "trending"]);
    cli.write("mine/broken.toml", "label = 7");
    cli.write("trunkline.toml", "[social]\ncells = \"mine\"\n");
    let reply = cli.refused(&["config", "check"]);
    assert!(
        reply.contains("social.cells") && reply.contains("broken.toml"),
        "{reply}"
    );
}

#[tokio::test]
async fn prices_are_proposed_with_their_source_and_written_after_one_yes() {
    let cli = AdminCli::new().await;
    cli.json(&["catalog", "import", "--starter"]);
    let before = cli.json(&["catalog", "history"]);
    let words = ["social", "price", "--suggest"];
    let view = cli.json(&words);
    let proposals = view["proposals"].as_array().unwrap();
    let twice: Vec<&Value> = proposals
        .iter()
        .filter(|one| one["basis"] == "2 × the source's price")
        .collect();
    assert_eq!(
        twice.len(),
        proposals.len(),
        "published prices are there already"
    );
    assert!(twice.len() >= CELLS - PUBLISHED);
    let nano = |text: &Value| {
        let money: trunkline_types::Money = text.as_str().unwrap().parse().unwrap();
        money.nanos()
    };
    for one in &twice {
        assert_eq!(
            nano(&one["price_usd"]),
            2 * nano(&one["source_usd"]),
            "{one}"
        );
        let reported = |name: &str| !one[name].as_str().unwrap().is_empty();
        assert!(reported("source") && reported("read_on"), "{one}");
    }
    assert_eq!(
        (&view["written"], &view["revision"]),
        (&json!(0), &Value::Null)
    );
    let text = cli.run(&words).out;
    assert!(
        text.contains("lemon8") && text.contains("2 × the source's price"),
        "{text}"
    );
    assert!(
        text.ends_with("Nothing was written; --yes writes these prices.\n"),
        "{text}"
    );
    assert_eq!(
        cli.json(&["catalog", "history"]),
        before,
        "the command was not confirmed"
    );

    let done = cli.json(&["social", "price", "--suggest", "--yes"]);
    assert_eq!(number(&done["written"]), twice.len());
    let after = cli.json(&["catalog", "history"]);
    let changes = |history: &Value| history["changes"].as_array().unwrap().len();
    assert_eq!(changes(&after), changes(&before) + 1, "one change for all");
    let listed = cli.json(&["social", "list"]);
    assert_eq!(number(&listed["available"]), cells(&listed).len());
    let lemon = one(&listed, "social-lemon8-search");
    assert_eq!(nano(&lemon["price_usd"]), 2 * nano(&lemon["cost_usd"]));
    let repeated = cli.run(&["social", "price", "--suggest", "--yes"]);
    assert_eq!(repeated.out, "Every cell has a price.\n");
    let exported = cli.run(&["catalog", "export"]);
    cli.write("all.toml", &exported.out);
    let linted = cli.json(&["catalog", "lint", "all.toml"]);
    assert_eq!(linted["errors"], 0, "{linted}");
}

#[tokio::test]
async fn an_empty_catalog_is_told_to_import_one_and_keeps_empty() {
    let cli = AdminCli::new().await;
    let reply = cli.refused(&["social", "price", "--suggest", "--yes"]);
    assert!(
        reply.contains("trunkline catalog import --starter"),
        "{reply}"
    );
    assert_eq!(cli.json(&["catalog", "history"])["changes"], json!([]));
}

/// Runs `social price --suggest` at a terminal and types an answer.
fn at_a_terminal(cli: &AdminCli, typed: &str) -> String {
    let line = format!("{} social price --suggest", env!("CARGO_BIN_EXE_trunkline"));
    let url = cli.db.url(Role::Console);
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new("script")
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .current_dir(directory.path())
        .env("TRUNKLINE__DATABASE__URL", url.reveal())
        .env("TRUNKLINE__DATABASE__ACQUIRE_TIMEOUT_MS", "30000")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut keyboard = child.stdin.take().unwrap();
    keyboard.write_all(typed.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    drop(keyboard);
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

#[tokio::test]
async fn a_person_is_asked_once_and_anything_but_yes_writes_nothing() {
    let cli = AdminCli::new().await;
    cli.json(&["catalog", "import", "--starter"]);
    for no in ["n\n", "\n", "maybe\n"] {
        let screen = at_a_terminal(&cli, no);
        assert_eq!(screen.matches("[y/N]").count(), 1, "{screen}");
        assert!(screen.contains("Nothing was written"), "{no:?}: {screen}");
    }
    let screen = at_a_terminal(&cli, "y\n");
    assert_eq!(screen.matches("where that stands").count(), 1, "{screen}");
    assert!(screen.contains("cells now have a price"), "{screen}");
    let listed = cli.json(&["social", "list"]);
    assert_eq!(number(&listed["available"]), cells(&listed).len());
}
