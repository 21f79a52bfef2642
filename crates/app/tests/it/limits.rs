//! Limits at the command line: of accounts, of models and platforms.

use serde_json::json;

use crate::admin_cli::AdminCli;

#[tokio::test]
async fn limits_are_set_listed_and_removed_and_wrong_ones_are_explained() {
    let cli = AdminCli::new().await;
    let id = cli.account("Ada").to_string();
    let set = cli.json(&["account", "limits", &id, "--rpm", "50"]);
    assert_eq!(set["limits"]["requests_per_minute"], json!(50));
    let reply = cli.run(&["account", "limits", &id, "--concurrent", "4"]);
    assert!(reply.out.contains("4 concurrent calls"), "{reply:?}");
    let kept = cli
        .db
        .ask("SELECT concat(requests_per_minute, '/', concurrent_calls) FROM app.account")
        .await;
    assert_eq!(kept, ["/4"], "what is not named has no limit any more");
    let unknown = cli.refused(&["account", "limits", "987654321"]);
    assert!(unknown.contains("there is no account"), "{unknown}");
    let of = ["limit", "set", "model", "sim-fast"];
    cli.json(&[&of[..], &["--rpm", "3"]].concat());
    let own = ["--account", &id, "--tpm", "9"];
    cli.json(&[&of[..], &own].concat());
    cli.json(&["limit", "set", "platform", "reddit", "--concurrent", "2"]);
    let all = cli.json(&["limit", "list"]);
    assert_eq!(all["limits"].as_array().unwrap().len(), 3, "{all}");
    assert!(cli.run(&["limit", "list"]).out.contains("every"));
    let nothing = cli.refused(&of);
    assert!(nothing.contains("needs a number"), "{nothing}");
    let wrong = cli.refused(&[&of[..], &["--concurrent", "0"]].concat());
    assert!(wrong.contains("must be from 1"), "{wrong}");
    cli.json(&["limit", "remove", "model", "sim-fast"]);
    let gone = cli.refused(&["limit", "remove", "model", "sim-fast"]);
    assert!(gone.contains("limit list"), "{gone}");
    let all = cli.json(&["limit", "list"]);
    assert_eq!(all["limits"].as_array().unwrap().len(), 2, "{all}");
}
