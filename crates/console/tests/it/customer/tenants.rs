//! Two organisations over every route: what is another's answers exactly as what never was. And every
//! role over every route: every role reads, and who may not write changes nothing.

use http::Method;
use serde_json::{Value, json};
use trunkline_store::people::Role;
use trunkline_types::{AccountId, Defect, RequestId};

use crate::client::{Response, ask, request};
use crate::customer::harness::{Browser, CallSpec, CustomerConsole};

/// Every route of a customer: method, path and body, with the ids of something.
fn routes(key: &str, call: &str, task: &str) -> Vec<(Method, String, Option<Value>)> {
    let get = |path: String| (Method::GET, path, None);
    vec![
        get("/api/account/routes".to_owned()),
        get("/api/connections".to_owned()),
        get("/api/home".to_owned()),
        get("/api/keys".to_owned()),
        get(format!("/api/keys/{key}")),
        get(format!("/api/keys/{key}/first-call")),
        get("/api/logs".to_owned()),
        get(format!("/api/logs/{call}")),
        get("/api/tasks".to_owned()),
        get(format!("/api/tasks/{task}")),
        get("/api/usage".to_owned()),
        get("/api/usage.csv".to_owned()),
        get("/api/wallet".to_owned()),
        get("/api/wallet/ledger".to_owned()),
        get("/api/wallet/ledger.csv".to_owned()),
        (
            Method::POST,
            "/api/keys".to_owned(),
            Some(json!({ "name": "x" })),
        ),
        (
            Method::PATCH,
            format!("/api/keys/{key}"),
            Some(json!({ "name": "x" })),
        ),
        (
            Method::PUT,
            format!("/api/keys/{key}/budgets"),
            Some(json!({ "budgets": [] })),
        ),
        (
            Method::POST,
            format!("/api/keys/{key}/rotate"),
            Some(json!({ "overlap_seconds": 0 })),
        ),
        (Method::POST, format!("/api/keys/{key}/disable"), None),
        (Method::POST, format!("/api/keys/{key}/enable"), None),
        (
            Method::POST,
            "/api/playground/key".to_owned(),
            Some(json!({})),
        ),
        (Method::POST, format!("/api/tasks/{task}/cancel"), None),
        (
            Method::PUT,
            "/api/wallet/low-balance-threshold".to_owned(),
            Some(json!({ "threshold_usd": null })),
        ),
        (
            Method::PUT,
            "/api/account/routes".to_owned(),
            Some(json!({})),
        ),
        (Method::DELETE, format!("/api/keys/{key}"), None),
    ]
}

#[tokio::test]
async fn the_routes_that_are_walked_are_all_there_are() {
    let harness = CustomerConsole::new().await;
    let document = ask(&harness.console, request(Method::GET, "/openapi.json"))
        .await
        .json();
    let walked = routes("{id}", "{request_id}", "{id}");
    let own = ["wallet", "keys", "logs", "tasks", "usage"];
    let mut count = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let tag = operation["tags"][0].as_str().unwrap();
            // Codes are redeemed by tests of their own.
            if !own.contains(&tag) || path == "/api/wallet/redeem" {
                continue;
            }
            let is_walked = walked
                .iter()
                .any(|(with, on, _)| with.as_str().eq_ignore_ascii_case(method) && on == path);
            assert!(is_walked, "{method} {path}");
            count += 1;
        }
    }
    assert_eq!(count, walked.len());
}

/// An answer without what must differ: the id of the request.
fn alike(got: &Response) -> (u16, Value) {
    let mut body = got.json();
    if let Some(error) = body["error"].as_object_mut() {
        error.remove("request_id");
    }
    (got.status.as_u16(), body)
}

/// The ids of a key, a call and a task of an organisation, each with a word that no other one may read.
async fn canaries(harness: &CustomerConsole, owner: &Browser, account: AccountId) -> [String; 3] {
    let (key, _) = harness.key(owner, "their canary key").await;
    let spec = CallSpec {
        key: Some(key),
        model: "canary-model".to_owned(),
        ..CallSpec::default()
    };
    let call = harness.call(account, spec).await;
    let task = crate::customer::tasks::waiting(harness, account, key).await;
    let task = crate::customer::tasks::name(task);
    [key.to_string(), call.to_string(), task]
}

#[tokio::test]
async fn what_is_anothers_answers_exactly_as_what_never_was() {
    let harness = CustomerConsole::new().await;
    let (ours, theirs) = (
        harness.firm("Ours", 1_000_000_000, 0).await,
        harness.firm("Theirs", 1_000_000_000, 0).await,
    );
    let (we, they) = (
        harness.member(ours, Role::Owner).await,
        harness.member(theirs, Role::Owner).await,
    );
    let [key, call, task] = canaries(&harness, &they, theirs).await;
    let foreign = routes(&key, &call, &task);
    let never: RequestId = harness.request();
    let unknown = routes(
        "987654321",
        &never.to_string(),
        &crate::customer::tasks::name(never),
    );
    for ((method, path, body), (_, other, _)) in foreign.into_iter().zip(unknown) {
        let got = harness.send(&we, method.clone(), &path, body.clone()).await;
        let text = String::from_utf8(got.body.to_vec()).unwrap();
        assert!(!text.contains("canary"), "{method} {path}: {text}");
        if path == other {
            continue;
        }
        assert_eq!(got.status.as_u16(), 404, "{method} {path}");
        got.error(404, "not_found");
        let never = harness.send(&we, method.clone(), &other, body).await;
        assert_eq!(alike(&got), alike(&never), "{method} {path}");
    }
    // Filters by another's key find nothing either.
    for path in [
        format!("/api/logs?key={key}"),
        format!("/api/tasks?key={key}"),
        format!("/api/logs?q={call}"),
    ] {
        let page = harness.read(&we, &path).await;
        assert_eq!(page["data"], json!([]), "{path}");
    }
    let usage = harness.read(&we, &format!("/api/usage?key={key}")).await;
    assert_eq!(usage["totals"]["calls"], 0);
    // And theirs is as it was.
    let view = harness.read(&they, &format!("/api/keys/{key}")).await;
    assert_eq!(
        (&view["name"], &view["state"]),
        (&json!("their canary key"), &json!("active"))
    );
    harness.audit().await;
}

#[tokio::test]
async fn a_request_cannot_name_another_account() {
    let harness = CustomerConsole::new().await;
    let ours = harness.firm("Ours", 1_000_000_000, 0).await;
    let theirs = harness.firm("Theirs", 2_000_000_000, 0).await;
    let we = harness.member(ours, Role::Owner).await;
    let wallet = harness.read(&we.naming(theirs), "/api/wallet").await;
    assert_eq!(wallet["balance"]["paid_usd"], "1", "{wallet}");
}

/// Routes of an organisation's people and payments, with the id of a member.
fn routes_of_people(member: &str) -> Vec<(Method, String, Option<Value>)> {
    vec![
        (Method::GET, "/api/members".to_owned(), None),
        (Method::GET, "/api/payments".to_owned(), None),
        (
            Method::PATCH,
            format!("/api/members/{member}"),
            Some(json!({ "role": "viewer" })),
        ),
        (
            Method::POST,
            "/api/members/invitations".to_owned(),
            Some(json!({ "email": "new@example.com", "role": "owner" })),
        ),
        (
            Method::PATCH,
            "/api/account".to_owned(),
            Some(json!({ "name": "x" })),
        ),
        (
            Method::DELETE,
            "/api/payments/automatic-top-up".to_owned(),
            None,
        ),
        (Method::DELETE, format!("/api/members/{member}"), None),
    ]
}

/// With the defect `foreign-filter` (`just tenants-unfiltered`) every query asks for their account, and the policies of the
/// tables alone know whose request it is; without, nothing believes the header.
#[tokio::test]
async fn queries_that_ask_for_another_account_get_nothing_of_it() {
    let harness = CustomerConsole::new().await;
    let ours = harness.firm("Ours", 1_000_000_000, 0).await;
    let theirs = harness.firm("Their canary", 98_765_432_100_000, 0).await;
    let they = harness.member(theirs, Role::Owner).await;
    let we = harness.member(ours, Role::Owner).await.naming(theirs);
    let [key, call, task] = canaries(&harness, &they, theirs).await;
    let member = harness.read(&they, "/api/members").await["data"][0].clone();
    let ids = [key, call, task, member["id"].to_string()];
    let (keys, wallet) = ("/api/keys", "/api/wallet");
    let before = harness.read(&they, keys).await;
    let money = harness.read(&they, wallet).await;
    assert!(money.to_string().contains("98765.43"), "{money}");
    let canaries = ["canary", "98765.43", member["email"].as_str().unwrap()];
    let all = routes(&ids[0], &ids[1], &ids[2]);
    for (method, path, body) in all.into_iter().chain(routes_of_people(&ids[3])) {
        let got = harness.send(&we, method.clone(), &path, body).await;
        let text = String::from_utf8(got.body.to_vec()).unwrap();
        let leaked = canaries.iter().find(|canary| text.contains(**canary));
        assert_eq!(leaked, None, "{method} {path}: {text}");
        if path.split('/').any(|part| ids.iter().any(|id| id == part)) {
            assert_eq!(got.status.as_u16(), 404, "{method} {path}: {text}");
        }
        if path == wallet {
            let shows_ours = text.contains("\"paid_usd\":\"1\"");
            assert_eq!(shows_ours, !Defect::ForeignFilter.is_on(), "{text}");
        }
    }
    assert_eq!(harness.read(&they, keys).await, before);
    assert_eq!(harness.read(&they, wallet).await, money);
    let people = harness.read(&they, "/api/members").await;
    assert_eq!(people["data"][0]["role"], "owner");
    assert_eq!(people["invitations"], json!([]));
    let name = format!("SELECT name FROM app.account WHERE id = {theirs}");
    assert_eq!(harness.db.ask(&name).await, ["Their canary"]);
    harness.audit().await;
}

#[tokio::test]
async fn unauthenticated_and_cross_site_requests_get_nothing() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 1_000_000_000, 0).await;
    let owner = harness.member(account, Role::Owner).await;
    let (key, _) = harness.key(&owner, "laptop").await;
    let never = harness.request();
    let all = routes(
        &key.to_string(),
        &never.to_string(),
        &crate::customer::tasks::name(never),
    );
    let stranger = Browser::stranger();
    for (method, path, body) in all {
        let got = harness.send(&stranger, method.clone(), &path, body).await;
        got.error(401, "not_signed_in");
        if method == Method::GET {
            continue;
        }
        // Without the header of our pages nothing is done, with any person's cookie.
        let bare = ask(&harness.console, request(method.clone(), &path)).await;
        bare.error(403, "cross_site");
    }
    let view = harness.read(&owner, &format!("/api/keys/{key}")).await;
    assert_eq!(
        (&view["name"], &view["state"]),
        (&json!("laptop"), &json!("active"))
    );
}

#[tokio::test]
async fn each_role_reads_and_writes_what_it_allows() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 10_000_000_000, 0).await;
    let owner = harness.member(account, Role::Owner).await;
    for role in Role::ALL {
        let person = harness.member(account, role).await;
        let (key, _) = harness.key(&owner, "laptop").await;
        let spec = CallSpec {
            key: Some(key),
            ..CallSpec::default()
        };
        let call = harness.call(account, spec).await;
        let task = crate::customer::tasks::waiting(&harness, account, key).await;
        let all = routes(
            &key.to_string(),
            &call.to_string(),
            &crate::customer::tasks::name(task),
        );
        for (method, path, body) in all {
            let right = if method == Method::GET {
                None
            } else if path.starts_with("/api/account") {
                Some([Role::Owner, Role::Admin].as_slice())
            } else if path.starts_with("/api/tasks") {
                Some([Role::Owner, Role::Admin, Role::Developer].as_slice())
            } else if path.starts_with("/api/wallet") {
                Some([Role::Owner, Role::Admin, Role::Billing].as_slice())
            } else {
                Some([Role::Owner, Role::Admin, Role::Developer].as_slice())
            };
            let allowed = right.is_none_or(|roles| roles.contains(&role));
            let got = harness.send(&person, method.clone(), &path, body).await;
            let status = got.status.as_u16();
            if allowed {
                // The task of this test cannot be stopped.
                let expected = if path.ends_with("/cancel") {
                    409..=409
                } else {
                    200..=204
                };
                assert!(
                    expected.contains(&status),
                    "{role:?} {method} {path}: {got:?}"
                );
            } else {
                got.error(403, "role_not_allowed");
            }
        }
    }
    harness.audit().await;
}
