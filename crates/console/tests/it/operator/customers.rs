//! Customers in an operator's hands: found, corrected, suspended, seen as they see themselves, closed and erased.

use http::Method;
use serde_json::{Value, json};
use trunkline_store::people::{OperatorRole, Role};

use crate::customer::harness::{Browser, CallSpec, CustomerConsole};

const DOLLAR: i64 = 1_000_000_000;

fn names(page: &Value) -> Vec<&str> {
    let data = page["data"].as_array().unwrap();
    data.iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn an_operator_finds_customers_by_any_visible_part() {
    let console = CustomerConsole::new().await;
    let acme = console.firm("Acme", 0, 0).await;
    let owner = console.member(acme, Role::Owner).await;
    let (_, secret) = console.key(&owner, "first").await;
    let bravo = console.firm("Bravo", 0, 0).await;
    console.member(bravo, Role::Owner).await;
    let operator = console.operator(OperatorRole::ReadOnly).await;
    let email = console.read(&owner, "/api/session").await["person"]["email"].clone();
    let tail: String = secret.chars().skip(secret.chars().count() - 4).collect();
    for text in [
        "cme",
        "ACM",
        email.as_str().unwrap(),
        &acme.to_string(),
        &tail,
    ] {
        let path = format!("/api/operator/customers?search={text}");
        assert_eq!(
            names(&console.read(&operator, &path).await),
            ["Acme"],
            "{text}"
        );
        let found = console
            .read(&operator, &format!("/api/operator/search?q={text}"))
            .await;
        let data = found["data"].as_array().unwrap();
        assert!(
            data.iter().any(|hit| hit["customer_id"] == acme.number()),
            "{text}: {found}"
        );
    }
    let first = console
        .read(&operator, "/api/operator/customers?limit=1")
        .await;
    assert_eq!(first["next_after"], acme.number());
    let path = format!("/api/operator/customers?after={acme}");
    assert_eq!(names(&console.read(&operator, &path).await), ["Bravo"]);
    let got = console
        .get(&operator, "/api/operator/customers/999999")
        .await;
    got.error(404, "not_found");
}

#[tokio::test]
async fn a_wrong_top_up_is_undone_with_a_reason_and_the_books_hold() {
    let console = CustomerConsole::new().await;
    let acme = console.firm("Acme", 0, 0).await;
    console.operator(OperatorRole::Owner).await;
    let operator = console.operator(OperatorRole::Finance).await;
    let at = |rest: &str| format!("/api/operator/customers/{acme}{rest}");
    let transfer = json!({
        "wallet": "paid", "amount_usd": "2500", "event": "transfer-7", "reason": "bank transfer",
    });
    let booked = console
        .done(&operator, &at("/top-up"), transfer.clone())
        .await;
    assert_eq!(
        (&booked["booked_now"], &booked["balance"]["paid_usd"]),
        (&json!(true), &json!("2500"))
    );
    let repeated = console.done(&operator, &at("/top-up"), transfer).await;
    assert_eq!(repeated["booked_now"], false, "an event is booked once");
    let correct = json!({ "wallet": "paid", "amount_usd": "-2475", "reason": "it was 25" });
    let corrected = console.done(&operator, &at("/adjust"), correct).await;
    assert_eq!(corrected["balance"]["paid_usd"], "25");
    let too_much = json!({ "wallet": "paid", "amount_usd": "-26", "reason": "no" });
    let got = console.post(&operator, &at("/adjust"), too_much).await;
    got.error(409, "conflict");
    let silent = json!({ "wallet": "paid", "amount_usd": "1", "reason": " " });
    let got = console.post(&operator, &at("/adjust"), silent).await;
    assert_eq!(got.error(400, "invalid_request")["param"], "reason");
    let statement = console.read(&operator, &at("/statement")).await;
    let newest = &statement["data"][0];
    assert_eq!(
        (&newest["kind"], &newest["paid_usd"]),
        (&json!("adjustment"), &json!("-2475"))
    );
    assert!(
        newest["details"].as_str().unwrap().ends_with(": it was 25"),
        "{newest}"
    );
    console.audit().await;
}

#[tokio::test]
async fn a_suspended_customer_says_why_and_is_resumed_by_a_person() {
    let console = CustomerConsole::new().await;
    let acme = console.firm("Acme", 0, 0).await;
    let operator = console.operator(OperatorRole::Support).await;
    let at = |rest: &str| format!("/api/operator/customers/{acme}{rest}");
    let why = json!({ "reason": "stolen cards" });
    let view = console.done(&operator, &at("/suspend"), why.clone()).await;
    assert_eq!(
        (&view["state"], &view["suspension_reason"]),
        (&json!("suspended"), &json!("stolen cards"))
    );
    console
        .post(&operator, &at("/suspend"), why.clone())
        .await
        .error(409, "conflict");
    let overview = console.read(&operator, "/api/operator/overview").await;
    assert_eq!(overview["needs_attention"]["suspended_customers"], 1);
    let view = console.done(&operator, &at("/resume"), why).await;
    assert_eq!(
        (&view["state"], &view["suspension_reason"]),
        (&json!("active"), &Value::Null)
    );
}

#[tokio::test]
async fn an_operator_sees_the_console_as_a_customer_does_and_can_change_nothing_there() {
    let console = CustomerConsole::new().await;
    let acme = console.firm("Acme", 7 * DOLLAR, 0).await;
    let operator = console.operator(OperatorRole::Owner).await;
    let path = format!("/api/operator/customers/{acme}/view");
    let got = console.post(&operator, &path, json!({})).await;
    let session = got.json();
    assert_eq!(
        (&session["viewing"], &session["account"]["name"]),
        (&json!(true), &json!("Acme"))
    );
    assert_eq!(
        (&session["account"]["role"], &session["rights"]),
        (&json!("viewer"), &json!([]))
    );
    let line = got.header("set-cookie").to_owned();
    let token = line
        .split(';')
        .next()
        .unwrap()
        .strip_prefix("trunkline=")
        .unwrap()
        .to_owned();
    let viewer = Browser::of(&token);
    let wallet = console.read(&viewer, "/api/wallet").await;
    assert_eq!(wallet["balance"]["paid_usd"], "7");
    console.read(&viewer, "/api/keys").await;
    let key = console
        .post(&viewer, "/api/keys", json!({ "name": "mine" }))
        .await;
    key.error(403, "role_not_allowed");
    let got = console
        .patch(&viewer, "/api/account", json!({ "name": "Mine" }))
        .await;
    got.error(403, "role_not_allowed");
    let got = console
        .post(&viewer, "/api/operator/view/end", json!({}))
        .await;
    assert_eq!(got.json()["viewing"], false);
}

#[tokio::test]
async fn an_operator_reads_why_a_call_failed_and_what_it_cost() {
    let console = CustomerConsole::new().await;
    let acme = console.firm("Acme", 7 * DOLLAR, 0).await;
    let operator = console.operator(OperatorRole::ReadOnly).await;
    let good = console.call(acme, CallSpec::default()).await;
    let bad = CallSpec {
        outcome: trunkline_ledger::Outcome::UpstreamFailed,
        attempts: json!([{ "channel": 7, "status": 503, "error": "overloaded", "ms": 12 }]),
        ..CallSpec::default()
    };
    let bad = console.call(acme, bad).await;
    let call = console
        .read(&operator, &format!("/api/operator/calls/{bad}"))
        .await;
    assert_eq!(call["customer_id"], acme.number());
    assert_eq!(call["attempts"][0]["status"], 503);
    assert_eq!(call["attempts"][0]["error"], "overloaded");
    let call = console
        .read(&operator, &format!("/api/operator/calls/{good}"))
        .await;
    assert_eq!(
        (&call["charged_usd"], &call["cost_usd"]),
        (&json!("0.0004"), &json!("0.000987654"))
    );
    assert_eq!(call["margin_usd"], "-0.000587654");
    let path = format!("/api/operator/calls?customer={acme}&outcome=failed");
    let page = console.read(&operator, &path).await;
    assert_eq!(page["data"].as_array().unwrap().len(), 1);
    assert_eq!(page["data"][0]["request_id"], bad.to_string());
    // The whole id, its end, and as a page shows it: req_01a1ee…4f3c.
    let id = bad.to_string();
    let (head, tail) = (&id[..10], &id[id.len() - 8..]);
    for text in [&id, tail, &format!("{head}%E2%80%A6{}", &tail[4..])] {
        let found = console
            .read(&operator, &format!("/api/operator/search?q={text}"))
            .await;
        let hits = found["data"].as_array().unwrap();
        assert!(
            hits.iter()
                .any(|one| one["kind"] == "call" && one["id"] == id),
            "{text}: {hits:?}"
        );
    }
    let overview = console
        .read(&operator, "/api/operator/overview?days=1")
        .await;
    let totals = &overview["totals"];
    assert_eq!(
        (&totals["calls"], &totals["failed_calls"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(totals["revenue_usd"], "0.0004");
    assert_eq!(totals["error_percent"], "50.0");
    assert_eq!(overview["money_in_usd"], "7");
    let below = &overview["needs_attention"]["below_cost"];
    assert_eq!(below["lines"], 1, "{below}");
}

#[tokio::test]
async fn a_customer_who_is_erased_leaves_money_and_no_name() {
    let console = CustomerConsole::new().await;
    let acme = console.firm("Acme", DOLLAR, 0).await;
    let owner = console.member(acme, Role::Owner).await;
    let email = console.read(&owner, "/api/session").await["person"]["email"].clone();
    let email = email.as_str().unwrap().to_owned();
    console.key(&owner, "secret project").await;
    let operator = console.operator(OperatorRole::Owner).await;
    let at = |rest: &str| format!("/api/operator/customers/{acme}{rest}");
    console
        .done(&operator, &at("/notes"), json!({ "text": "Ada likes tea" }))
        .await;
    let export = console.done(&operator, &at("/export"), json!({})).await;
    assert_eq!(export["customer"]["name"], "Acme");
    assert_eq!(export["keys"][0]["name"], "secret project");
    assert_eq!(export["notes"], json!(["Ada likes tea"]));
    let close = json!({ "reason": "asked to", "erase": true });
    let got = console.post(&operator, &at("/close"), close.clone()).await;
    got.error(409, "conflict");
    let take = json!({ "wallet": "paid", "amount_usd": "-1", "reason": "paid out" });
    console.done(&operator, &at("/adjust"), take).await;
    let view = console.done(&operator, &at("/close"), close).await;
    assert_eq!(
        (&view["state"], &view["name"]),
        (&json!("closed"), &json!("erased"))
    );
    assert_eq!(view["members"], json!([]));
    console
        .get(&owner, "/api/keys")
        .await
        .error(401, "not_signed_in");
    let rest = console
        .db
        .ask(&format!(
            "SELECT 'person' FROM app.person WHERE email = '{email}'
             UNION ALL SELECT 'key' FROM app.api_key WHERE name = 'secret project' OR revoked_at IS NULL
             UNION ALL SELECT 'note' FROM app.account_note"
        ))
        .await;
    assert_eq!(rest, Vec::<String>::new());
    let statement = console.read(&operator, &at("/statement")).await;
    assert_eq!(
        statement["data"].as_array().unwrap().len(),
        2,
        "the ledger is kept"
    );
    let resume = at("/resume");
    let got = console.send(
        &operator,
        Method::POST,
        &resume,
        Some(json!({ "reason": "x" })),
    );
    got.await.error(409, "conflict");
    console.audit().await;
}
