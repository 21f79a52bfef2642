//! The log of actions: every change of an operator is in it, it cannot be changed, and it is copied out whole.

use http::Method;
use serde_json::{Value, json};
use trunkline_store::people::{self, NewPerson, OperatorRole, Role};

use crate::client::Response;
use crate::customer::harness::{Browser, CustomerConsole};
use crate::payments::harness::Shop;

const EMAIL: &str = "grace@operators.example";
/// A POST that changes nothing.
const READS: [&str; 1] = ["preview_prices"];

/// A change of an operator and its operation id.
struct Change {
    id: &'static str,
    method: Method,
    path: String,
    body: Option<Value>,
}

fn post(id: &'static str, path: String, body: Value) -> Change {
    Change {
        id,
        method: Method::POST,
        path,
        body: Some(body),
    }
}

fn patch(id: &'static str, path: String, body: Value) -> Change {
    Change {
        method: Method::PATCH,
        ..post(id, path, body)
    }
}

/// What the changes are about.
struct Subjects {
    customer: i64,
    key: i64,
    channel: i64,
    payment: String,
    operator: i64,
    simulator: String,
    connection: String,
}

/// Changes of customers, in an order in which each can be made.
fn of_customers(on: &Subjects) -> Vec<Change> {
    let at = |rest: &str| format!("/api/operator/customers/{}{rest}", on.customer);
    let why = || json!({ "reason": "a test" });
    let money = |more: Value| {
        let mut body = json!({ "wallet": "trial", "amount_usd": "3", "reason": "a test" });
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };
    let key = |word: &str| at(&format!("/keys/{}/{word}", on.key));
    let limits = json!({
        "requests_per_minute": 60, "tokens_per_minute": null, "concurrent_calls": null,
    });
    vec![
        post(
            "create_customer",
            "/api/operator/customers".to_owned(),
            json!({ "name": "New" }),
        ),
        patch(
            "change_customer",
            at(""),
            json!({ "group": "vip", "limits": limits }),
        ),
        post("suspend_customer", at("/suspend"), why()),
        post("resume_customer", at("/resume"), why()),
        post(
            "add_note",
            at("/notes"),
            json!({ "text": "Called about an invoice." }),
        ),
        post("disable_customer_key", key("disable"), why()),
        post("enable_customer_key", key("enable"), why()),
        post(
            "invite_to_customer",
            at("/invitations"),
            json!({ "email": "bob@example.com", "role": "viewer" }),
        ),
        post("adjust_customer", at("/adjust"), money(json!({}))),
        post(
            "top_up_customer",
            at("/top-up"),
            money(json!({ "event": "transfer-1" })),
        ),
        post("export_customer", at("/export"), json!({})),
        post(
            "close_connection",
            format!("/api/operator/connections/{}/close", on.connection),
            why(),
        ),
        post("view_customer", at("/view"), json!({})),
        post("end_view", "/api/operator/view/end".to_owned(), json!({})),
    ]
}

fn of_channels(on: &Subjects) -> Vec<Change> {
    let at = |rest: &str| format!("/api/operator/channels/{}{rest}", on.channel);
    let secret = json!({ "secret": "sk-canary-9876543210-liat" });
    let second = json!({ "label": "second", "secret": "sk-canary-0123456789-tail" });
    let new = json!({
        "name": "added", "provider": "simulator", "credentials": [second.clone()],
        "fields": { "base_url": on.simulator, "models": { "open-chat": "sim-large" } },
    });
    let pause = json!({ "reason": "401 at 12:00" });
    vec![
        post("add_channel", "/api/operator/channels".to_owned(), new),
        patch(
            "change_channel",
            at(""),
            json!({ "priority": 3, "region": "eu" }),
        ),
        post("add_credential", at("/credentials"), second),
        post(
            "replace_credential",
            at("/credentials/second/replace"),
            secret,
        ),
        post("pause_credential", at("/credentials/second/pause"), pause),
        post(
            "resume_credential",
            at("/credentials/second/resume"),
            json!({}),
        ),
        post(
            "remove_credential",
            at("/credentials/second/remove"),
            json!({}),
        ),
        post("drain_channel", at("/drain"), json!({})),
        post("resume_channel", at("/resume"), json!({})),
        post("clone_channel", at("/clone"), json!({ "name": "copy" })),
        post("test_channel", at("/test"), json!({})),
    ]
}

fn of_prices() -> Vec<Change> {
    let at = |rest: &str| format!("/api/operator/catalog/{rest}");
    let change = json!({ "prices": [{ "model": "open-chat", "faces": { "input": 2_100_000 } }] });
    let publish = json!({ "change": change, "note": "dearer", "allow_below_cost": true });
    let later = json!({
        "change": change, "note": "next year", "at": "2100-01-01T00:00:00Z", "allow_below_cost": true,
    });
    let back = json!({ "revision": 1, "note": "undone", "allow_below_cost": true });
    vec![
        post("publish_prices", at("publish"), publish),
        post("schedule_prices", at("schedule"), later),
        post(
            "cancel_scheduled_prices",
            at("schedule/1/cancel"),
            json!({}),
        ),
        post("rollback_prices", at("rollback"), back),
    ]
}

fn of_money(on: &Subjects) -> Vec<Change> {
    let at = |rest: &str| format!("/api/operator/{rest}");
    let codes = json!({ "amount_usd": "5", "wallet": "paid", "count": 2, "batch": "b1" });
    let refund = json!({ "amount_usd": "5", "reason": "a test" });
    let refunded = at(&format!("payments/{}/refund", on.payment));
    vec![
        post("refund_payment", refunded, refund),
        post("reconcile_payments", at("payments/reconcile"), json!({})),
        post("create_codes", at("codes"), codes),
        post("revoke_codes", at("codes/revoke"), json!({ "batch": "b1" })),
    ]
}

fn of_operators(on: &Subjects) -> Vec<Change> {
    let at = |rest: &str| format!("/api/operator/operators/{}{rest}", on.operator);
    let add = json!({ "email": "new@operators.example", "role": "support" });
    let close = json!({ "reason": "asked to be forgotten", "erase": true });
    let closed = format!("/api/operator/customers/{}/close", on.customer);
    vec![
        post("add_operator", "/api/operator/operators".to_owned(), add),
        patch("change_operator", at(""), json!({ "role": "finance" })),
        post("reset_second_factor", at("/reset-second-factor"), json!({})),
        Change {
            id: "remove_operator",
            method: Method::DELETE,
            path: at(""),
            body: None,
        },
        // Last, because little is left of the customer after it.
        post("close_customer", closed, close),
    ]
}

/// A shop with a payment, a key, a channel and a second operator.
async fn subjects(shop: &mut Shop, operator: &Browser) -> Subjects {
    let payer = shop.customer("Payer").await;
    shop.pay(&payer, "25", false).await;
    let payment = shop.listed(&payer).await[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let acme = shop.customer("Acme").await;
    let console = &shop.harness;
    let (key, _) = console.key(&acme.browser, "first").await;
    let simulator = format!("http://{}/v1", shop.simulator.address());
    let channel = console.channel(operator, "main", &simulator).await;
    let second = "second@operators.example";
    console.operator_called(second, OperatorRole::Support).await;
    let listed = console.read(operator, "/api/operator/operators").await;
    let all = listed["data"].as_array().unwrap();
    let found = all.iter().find(|one| one["email"] == second).unwrap();
    let connection = console.connection(acme.account, key).await;
    Subjects {
        connection: connection.to_string(),
        customer: acme.account.number(),
        key: key.number(),
        channel,
        payment,
        operator: found["id"].as_i64().unwrap(),
        simulator,
    }
}

/// The browser after an answer: some renew the cookie.
fn renewed(browser: Browser, got: &Response) -> Browser {
    let cookies = got.headers.get_all("set-cookie").iter();
    let mut pairs = cookies.filter_map(|line| line.to_str().ok()?.split(';').next());
    match pairs.find_map(|pair| pair.strip_prefix("trunkline=")) {
        Some(token) => Browser::of(token),
        None => browser,
    }
}

#[tokio::test]
async fn every_change_of_an_operator_is_in_the_log_of_actions() {
    let mut shop = Shop::open().await;
    let mut operator = shop
        .harness
        .operator_called(EMAIL, OperatorRole::Owner)
        .await;
    let on = subjects(&mut shop, &operator).await;
    let console = &shop.harness;
    let account = console.firm("Plain", 0, 0).await;
    let new = NewPerson {
        email: "new@operators.example",
        name: "Nora",
        password: None,
        is_verified: true,
        is_operator: false,
    };
    let mut tx = console.people.begin().await.unwrap();
    let person = people::create_person(&mut tx, &new).await.unwrap().unwrap();
    people::add_member(&mut tx, account, person, Role::Owner)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let mut changes = of_customers(&on);
    changes.extend(of_channels(&on));
    changes.extend(of_prices());
    changes.extend(of_money(&on));
    changes.extend(of_operators(&on));
    for change in &changes {
        let before = console.actions(1).await;
        let got = console
            .send(
                &operator,
                change.method.clone(),
                &change.path,
                change.body.clone(),
            )
            .await;
        assert!(got.status.is_success(), "{}: {got:?}", change.id);
        let newest = console.actions(1).await;
        assert_ne!(newest, before, "{} wrote no row", change.id);
        let expected = format!("operator {EMAIL} {} ", change.id);
        assert!(newest[0].starts_with(&expected), "{newest:?}");
        operator = renewed(operator, &got);
    }
    let document = console.read(&operator, "/api/operator/openapi.json").await;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            let is_walked = changes.iter().any(|change| change.id == id);
            let is_read = method == "get" || READS.contains(&id);
            assert!(
                is_walked || is_read,
                "{method} {path} ({id}) is not in this walk"
            );
        }
    }
    let rows = console
        .db
        .ask("SELECT before::text || after::text FROM app.action_log WHERE after IS NOT NULL AND before IS NOT NULL")
        .await;
    let text = rows.concat();
    assert!(!text.contains("canary"), "no secret is in the log");
    console.audit().await;
}

#[tokio::test]
async fn what_members_change_is_in_the_log_with_who_and_from_where() {
    let console = CustomerConsole::new().await;
    let account = console.firm("Acme", 1_000_000_000, 0).await;
    let owner = console.member(account, Role::Owner).await;
    let (key, _) = console.key(&owner, "first").await;
    let at = |rest: &str| format!("/api/keys/{key}{rest}");
    console.post(&owner, &at("/disable"), json!({})).await;
    console
        .post(&owner, &at("/rotate"), json!({ "overlap_seconds": 0 }))
        .await;
    console
        .patch(&owner, "/api/account", json!({ "name": "Acme Ltd" }))
        .await;
    let invite = json!({ "email": "bob@example.com", "role": "viewer" });
    console
        .post(&owner, "/api/members/invitations", invite)
        .await;
    console.send(&owner, Method::DELETE, &at(""), None).await;
    let operator = console.operator(OperatorRole::ReadOnly).await;
    let path = format!("/api/operator/actions?customer={account}&kind=member");
    let listed = console.read(&operator, &path).await;
    let data = listed["data"].as_array().unwrap();
    let words: Vec<&str> = data
        .iter()
        .map(|one| one["action"].as_str().unwrap())
        .collect();
    let expected = [
        "delete_key",
        "invite",
        "change_account",
        "rotate_key",
        "disable_key",
        "create_key",
    ];
    assert_eq!(words, expected);
    let renamed = &data[2];
    assert_eq!(renamed["before"], json!({ "name": "Acme" }));
    assert_eq!(renamed["after"], json!({ "name": "Acme Ltd" }));
    assert_eq!(renamed["address"], "127.0.0.1");
    assert!(renamed["actor"].as_str().unwrap().starts_with("owner-"));
    let one = console
        .read(&operator, "/api/operator/actions?action=invite&limit=1")
        .await;
    assert_eq!(one["data"].as_array().unwrap().len(), 1);
    let lines = console.get(&operator, "/api/operator/actions/export").await;
    let lines = String::from_utf8(lines.body.to_vec()).unwrap();
    assert_eq!(lines.lines().count(), 6);
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["action"], "create_key", "oldest first");
    let table = console
        .get(&operator, "/api/operator/actions/export?format=csv")
        .await;
    let table = String::from_utf8(table.body.to_vec()).unwrap();
    assert_eq!(table.lines().count(), 7);
    assert!(table.starts_with("id,at,kind,actor,"), "{table}");
}
