//! Limits at the desk: of accounts, of models and platforms.

use serde_json::json;

use crate::admin_cli::AdminCli;

#[tokio::test]
async fn limits_are_set_listed_and_removed_and_wrong_ones_are_explained() {
    let desk = AdminCli::new().await;
    let id = desk.account("Ada").to_string();
    let set = desk.json(&["account", "limits", &id, "--rpm", "50"]);
    assert_eq!(set["limits"]["requests_per_minute"], json!(50));
    let said = desk.run(&["account", "limits", &id, "--concurrent", "4"]);
    assert!(said.out.contains("4 concurrent calls"), "{said:?}");
    let kept = desk
        .db
        .ask("SELECT concat(requests_per_minute, '/', concurrent_calls) FROM app.account")
        .await;
    assert_eq!(kept, ["/4"], "what is not named has no limit any more");
    let nobody = desk.refused(&["account", "limits", "987654321"]);
    assert!(nobody.contains("there is no account"), "{nobody}");
    let of = ["limit", "set", "model", "sim-fast"];
    desk.json(&[&of[..], &["--rpm", "3"]].concat());
    let own = ["--account", &id, "--tpm", "9"];
    desk.json(&[&of[..], &own].concat());
    desk.json(&["limit", "set", "platform", "reddit", "--concurrent", "2"]);
    let all = desk.json(&["limit", "list"]);
    assert_eq!(all["limits"].as_array().unwrap().len(), 3, "{all}");
    assert!(desk.run(&["limit", "list"]).out.contains("every"));
    let nothing = desk.refused(&of);
    assert!(nothing.contains("needs a number"), "{nothing}");
    let wrong = desk.refused(&[&of[..], &["--concurrent", "0"]].concat());
    assert!(wrong.contains("must be from 1"), "{wrong}");
    desk.json(&["limit", "remove", "model", "sim-fast"]);
    let gone = desk.refused(&["limit", "remove", "model", "sim-fast"]);
    assert!(gone.contains("limit list"), "{gone}");
    let all = desk.json(&["limit", "list"]);
    assert_eq!(all["limits"].as_array().unwrap().len(), 2, "{all}");
}
