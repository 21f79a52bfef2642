//! Prices: previewed with their effect, stopped below cost and at zero, published, rolled back, and their history.

use serde_json::{Value, json};
use trunkline_store::people::OperatorRole;

use crate::customer::harness::{Browser, CallSpec, CustomerConsole};

const PUBLISH: &str = "/api/operator/catalog/publish";

fn input(pico: i64) -> Value {
    json!({ "prices": [{ "model": "open-chat", "faces": { "input": pico } }] })
}

async fn publish(console: &CustomerConsole, operator: &Browser, change: Value) -> Value {
    let body = json!({ "change": change, "note": "a test" });
    console.done(operator, PUBLISH, body).await
}

#[tokio::test]
async fn a_preview_says_what_a_price_changes_for_whom_and_changes_nothing() {
    let console = CustomerConsole::new().await;
    let acme = console.firm("Acme", 1_000_000_000, 0).await;
    console.call(acme, CallSpec::default()).await;
    let operator = console.operator(OperatorRole::ReadOnly).await;
    let body = json!({ "change": input(4_000_000) });
    let preview = console
        .done(&operator, "/api/operator/catalog/preview", body)
        .await;
    assert_eq!(preview["models"], json!(["open-chat"]));
    let price = &preview["prices"][0];
    assert_eq!(
        (&price["face"], &price["before"], &price["after"]),
        (&json!("input"), &json!(2_000_000), &json!(4_000_000))
    );
    let model = &preview["last_30_days"][0];
    assert_eq!(
        (&model["model"], &model["calls"]),
        (&json!("open-chat"), &json!(1))
    );
    let customer = &preview["customers"][0];
    assert_eq!(
        (&customer["id"], &customer["name"]),
        (&json!(acme.number()), &json!("Acme"))
    );
    assert_eq!(preview["is_complete"], true);
    let history = console
        .read(&operator, "/api/operator/catalog/history")
        .await;
    assert_eq!(history["data"], json!([]));
    let wrong = json!({ "change": { "prices": [{ "model": "ghost", "faces": { "input": 1 } }] } });
    let got = console
        .post(&operator, "/api/operator/catalog/preview", wrong)
        .await;
    assert_eq!(got.error(400, "invalid_request")["param"], "change");
}

#[tokio::test]
async fn a_price_of_zero_is_stopped_until_the_operator_allows_it() {
    let console = CustomerConsole::new().await;
    let operator = console.operator(OperatorRole::Finance).await;
    let body = json!({ "change": input(0), "note": "a slip" });
    let got = console.post(&operator, PUBLISH, body).await;
    let error = got.error(409, "below_cost");
    assert!(
        error["message"].as_str().unwrap().contains("input"),
        "{error}"
    );
    let history = console
        .read(&operator, "/api/operator/catalog/history")
        .await;
    assert_eq!(history["data"], json!([]), "nothing was changed");
    assert_eq!(console.actions(5).await, Vec::<String>::new());
    let body = json!({ "change": input(0), "note": "a present", "allow_below_cost": true });
    let done = console.done(&operator, PUBLISH, body).await;
    assert_eq!(done["models"], 1);
}

#[tokio::test]
async fn a_bad_price_is_rolled_back_and_the_history_says_what_was_repriced() {
    let console = CustomerConsole::new().await;
    let operator = console.operator(OperatorRole::Finance).await;
    let first = publish(&console, &operator, input(3_000_000)).await;
    let first = first["revision"].as_i64().unwrap();
    let groups = json!({ "groups": { "default": { "rate": "2" } } });
    let second = publish(&console, &operator, groups).await;
    let second = second["revision"].as_i64().unwrap();
    let path = format!("/api/operator/catalog/history/{second}");
    let change = console.read(&operator, &path).await;
    let doubled = json!([{ "name": "default", "before": "1", "after": "2" }]);
    assert_eq!(
        change["groups"], doubled,
        "a group's rate reprices everything in it"
    );
    let stale = json!({ "change": input(3_500_000), "note": "late", "base_revision": first });
    console
        .post(&operator, PUBLISH, stale)
        .await
        .error(409, "conflict");
    let back = json!({ "revision": first, "note": "the rate was wrong", "allow_below_cost": true });
    let done = console
        .done(&operator, "/api/operator/catalog/rollback", back)
        .await;
    assert!(done["revision"].as_i64().unwrap() > second);
    let history = console
        .read(&operator, "/api/operator/catalog/history")
        .await;
    let data = history["data"].as_array().unwrap();
    assert_eq!(data.len(), 3);
    assert_eq!(data[0]["note"], "the rate was wrong");
    assert!(
        data[0]["author"].as_str().unwrap().starts_with("finance-"),
        "{data:?}"
    );
    let unknown = json!({ "revision": 99, "note": "x" });
    let got = console
        .post(&operator, "/api/operator/catalog/rollback", unknown)
        .await;
    got.error(404, "not_found");
}

#[tokio::test]
async fn the_catalog_shows_prices_channels_and_what_is_not_served() {
    let console = CustomerConsole::new().await;
    let operator = console.operator(OperatorRole::Owner).await;
    console
        .channel(&operator, "main", "http://127.0.0.1:9")
        .await;
    let catalog = console.read(&operator, "/api/operator/catalog").await;
    let models = catalog["models"].as_array().unwrap();
    let model = |name: &str| models.iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(model("open-chat")["is_served"], true);
    assert_eq!(model("painter")["is_served"], false);
    assert_eq!(model("open-chat")["prices"]["input"], 2_000_000);
    let record = console
        .read(&operator, "/api/operator/catalog/models/open-chat")
        .await;
    assert_eq!(record["channels"][0]["upstream_model"], "sim-large");
    assert_eq!(record["entry"]["vendor"], "acme");
    let got = console
        .get(&operator, "/api/operator/catalog/models/ghost")
        .await;
    got.error(404, "not_found");
}

#[tokio::test]
async fn a_scheduled_price_is_published_once_when_it_is_due() {
    let console = CustomerConsole::new().await;
    let operator = console.operator(OperatorRole::Finance).await;
    let path = "/api/operator/catalog/schedule";
    let schedule =
        |at: &str, pico: i64| json!({ "change": input(pico), "note": "new year", "at": at });
    let got = console
        .post(&operator, path, schedule("2020-01-01T00:00:00Z", 1))
        .await;
    assert_eq!(got.error(400, "invalid_request")["param"], "at");
    let got = console
        .post(&operator, path, schedule("2100-01-01T00:00:00Z", 0))
        .await;
    got.error(409, "below_cost");
    let soon = "SELECT to_char(app.now() AT TIME ZONE 'UTC' + interval '60 s', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')";
    let soon = console.db.ask(soon).await.remove(0);
    console
        .done(&operator, path, schedule(&soon, 2_500_000))
        .await;
    let gone = console
        .done(&operator, path, schedule(&soon, 3_900_000))
        .await;
    let cancel = format!("{path}/{}/cancel", gone["id"]);
    console.done(&operator, &cancel, json!({})).await;
    let got = console.post(&operator, &cancel, json!({})).await;
    got.error(404, "not_found");
    assert_eq!(console.console.publish_due_prices().await, 0, "not yet");
    console.db.shift_clock(120).await;
    assert_eq!(console.console.publish_due_prices().await, 1);
    assert_eq!(console.console.publish_due_prices().await, 0, "once");
    let listed = console.read(&operator, path).await;
    let states = listed["data"].as_array().unwrap().iter();
    let states: Vec<&str> = states.map(|one| one["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["cancelled", "published"]);
    let history = console
        .read(&operator, "/api/operator/catalog/history")
        .await;
    assert_eq!(history["data"].as_array().unwrap().len(), 1);
    let newest = console.actions(1).await;
    assert!(
        newest[0].starts_with("system scheduled prices publish_prices"),
        "{newest:?}"
    );
}
