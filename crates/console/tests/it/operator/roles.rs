//! Every route of the operator's document by who must not use it.

use http::Method;
use serde_json::{Value, json};
use trunkline_store::people::{OperatorRole, Role};

use crate::customer::harness::{Browser, CustomerConsole};

/// A POST that changes nothing: a preview brings more than a query can.
const READS: [&str; 1] = ["preview_prices"];
/// A GET that is not for every role: its links are as good as passwords.
const SECRET: &str = "list_emails";

struct Route {
    id: String,
    method: Method,
    path: String,
}

async fn routes(console: &CustomerConsole, operator: &Browser) -> Vec<Route> {
    let document = console.read(operator, "/api/operator/openapi.json").await;
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let path = ["id", "key", "revision"]
                .iter()
                .fold(path.clone(), |path, name| {
                    path.replace(&format!("{{{name}}}"), "1")
                });
            all.push(Route {
                id: operation["operationId"].as_str().unwrap().to_owned(),
                method: method.to_uppercase().parse().unwrap(),
                path: path
                    .replace("{label}", "main")
                    .replace("{name}", "open-chat")
                    .replace("{request_id}", "x"),
            });
        }
    }
    assert!(all.len() > 60, "{}", all.len());
    all
}

fn body(method: &Method) -> Option<Value> {
    (method != Method::GET && method != Method::DELETE).then(|| json!({}))
}

#[tokio::test]
async fn a_read_only_operator_can_change_nothing() {
    let console = CustomerConsole::new().await;
    let operator = console.operator(OperatorRole::ReadOnly).await;
    for route in routes(&console, &operator).await {
        let body = body(&route.method);
        let got = console
            .send(&operator, route.method.clone(), &route.path, body)
            .await;
        let is_read = route.method == Method::GET || READS.contains(&route.id.as_str());
        if is_read && route.id != SECRET {
            assert_ne!(
                got.status.as_u16(),
                403,
                "{} {}: {got:?}",
                route.method,
                route.path
            );
        } else {
            got.error(403, "role_not_allowed");
        }
    }
    assert_eq!(console.actions(10).await, Vec::<String>::new());
}

#[tokio::test]
async fn who_is_no_operator_finds_no_operator_route() {
    let console = CustomerConsole::new().await;
    let operator = console.operator(OperatorRole::Owner).await;
    let account = console.firm("Acme", 0, 0).await;
    let owner = console.member(account, Role::Owner).await;
    for route in routes(&console, &operator).await {
        let body = || body(&route.method);
        let method = || route.method.clone();
        let got = console.send(&owner, method(), &route.path, body()).await;
        assert_eq!(
            got.error(404, "not_found")["message"],
            "not found",
            "{}",
            route.path
        );
        let stranger = Browser::stranger();
        let got = console.send(&stranger, method(), &route.path, body()).await;
        got.error(401, "not_signed_in");
    }
}

#[tokio::test]
async fn every_role_of_operators_has_its_own_permissions() {
    let console = CustomerConsole::new().await;
    let account = console.firm("Acme", 5_000_000_000, 0).await;
    let suspend = format!("/api/operator/customers/{account}/suspend");
    let resume = format!("/api/operator/customers/{account}/resume");
    let adjust = format!("/api/operator/customers/{account}/adjust");
    let why = json!({ "reason": "a test" });
    let money = json!({ "wallet": "paid", "amount_usd": "1", "reason": "a test" });
    let support = console.operator(OperatorRole::Support).await;
    console.done(&support, &suspend, why.clone()).await;
    console.done(&support, &resume, why.clone()).await;
    let got = console.post(&support, &adjust, money.clone()).await;
    got.error(403, "role_not_allowed");
    let finance = console.operator(OperatorRole::Finance).await;
    console.done(&finance, &adjust, money).await;
    let got = console.post(&finance, &suspend, why).await;
    got.error(403, "role_not_allowed");
    let add = json!({ "email": "x@example.com", "role": "owner" });
    for who in [&support, &finance] {
        let got = console
            .post(who, "/api/operator/operators", add.clone())
            .await;
        got.error(403, "role_not_allowed");
    }
}

#[tokio::test]
async fn a_change_needs_the_password_again_after_ten_minutes() {
    let console = CustomerConsole::new().await;
    let account = console.firm("Acme", 0, 0).await;
    let operator = console.operator(OperatorRole::Owner).await;
    console.db.shift_clock(601).await;
    let path = format!("/api/operator/customers/{account}/notes");
    let got = console.post(&operator, &path, json!({ "text": "x" })).await;
    got.error(403, "step_up_required");
    console.read(&operator, "/api/operator/overview").await;
}

#[tokio::test]
async fn the_last_owner_among_operators_stays_one() {
    let console = CustomerConsole::new().await;
    let owner = console.operator(OperatorRole::Owner).await;
    let other = console.operator(OperatorRole::Support).await;
    let listed = console.read(&owner, "/api/operator/operators").await;
    let id = |you: bool| {
        let all = listed["data"].as_array().unwrap();
        let one = all.iter().find(|one| one["you"] == you).unwrap();
        format!("/api/operator/operators/{}", one["id"])
    };
    let demote = json!({ "role": "read_only" });
    let got = console.patch(&owner, &id(true), demote.clone()).await;
    got.error(409, "conflict");
    let got = console.send(&owner, Method::DELETE, &id(true), None).await;
    got.error(409, "conflict");
    let promote = json!({ "role": "owner" });
    assert_eq!(
        console
            .patch(&owner, &id(false), promote)
            .await
            .status
            .as_u16(),
        200
    );
    assert_eq!(
        console
            .patch(&owner, &id(true), demote)
            .await
            .status
            .as_u16(),
        200
    );
    // A changed role applies from the next request.
    let got = console.send(&owner, Method::DELETE, &id(false), None).await;
    got.error(403, "role_not_allowed");
    console.read(&other, "/api/operator/operators").await;
    console.audit().await;
}
