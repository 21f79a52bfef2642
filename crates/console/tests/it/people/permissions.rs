//! Every route by every role: who may, who must not, and what an anonymous request is answered.

use http::Method;
use serde_json::{Value, json};
use trunkline_store::people::Role;

use super::Browser;
use crate::client::TestConsole;

/// What a route is answered with by owner, admin, developer, billing, viewer, in this order.
struct Row {
    method: Method,
    path: &'static str,
    body: Option<Value>,
    statuses: [u16; 5],
}

fn row(method: Method, path: &'static str, body: Option<Value>, statuses: [u16; 5]) -> Row {
    Row {
        method,
        path,
        body,
        statuses,
    }
}

/// `{member}` stands for a person who may be changed, `{invitation}` for one that is open.
fn rows() -> Vec<Row> {
    let all = [200; 5];
    let managing = |good: u16| [good, good, 403, 403, 403];
    let token = || Some(json!({ "token": "x" }));
    vec![
        row(Method::GET, "/api/session", None, all),
        row(Method::GET, "/api/sessions", None, all),
        row(Method::GET, "/api/members", None, all),
        row(
            Method::POST,
            "/api/members/invitations",
            Some(json!({ "email": "new@example.com", "role": "viewer" })),
            managing(201),
        ),
        row(
            Method::POST,
            "/api/members/invitations",
            Some(json!({ "email": "own@example.com", "role": "owner" })),
            [201, 403, 403, 403, 403],
        ),
        row(
            Method::DELETE,
            "/api/members/invitations/{invitation}",
            None,
            managing(204),
        ),
        row(
            Method::PATCH,
            "/api/members/{member}",
            Some(json!({ "role": "billing" })),
            managing(200),
        ),
        row(
            Method::PATCH,
            "/api/members/{member}",
            Some(json!({ "role": "owner" })),
            [200, 403, 403, 403, 403],
        ),
        row(Method::DELETE, "/api/members/{member}", None, managing(204)),
        row(
            Method::PATCH,
            "/api/account",
            Some(json!({ "name": "Renamed" })),
            managing(200),
        ),
        row(
            Method::PATCH,
            "/api/person",
            Some(json!({ "name": "Me" })),
            all,
        ),
        row(
            Method::POST,
            "/api/session/account",
            Some(json!({ "account_id": 0 })),
            [404; 5],
        ),
        row(
            Method::POST,
            "/api/session/step-up",
            Some(json!({ "password": "no" })),
            [401; 5],
        ),
        row(
            Method::POST,
            "/api/password/change",
            Some(json!({ "current": "no", "password": "a brand new one" })),
            [401; 5],
        ),
        row(Method::DELETE, "/api/sessions/none", None, [404; 5]),
        row(
            Method::POST,
            "/api/setup",
            Some(super::setup_body("x")),
            [400; 5],
        ),
        row(Method::POST, "/api/session/dev", token(), [404; 5]),
        row(Method::POST, "/api/invitations/preview", token(), [400; 5]),
        row(Method::POST, "/api/invitations/accept", token(), [400; 5]),
        row(
            Method::POST,
            "/api/sign-up",
            Some(json!({
                "email": "new@example.com", "name": "New", "password": "a brand new one",
                "organisation": "New",
            })),
            [403; 5],
        ),
        row(Method::POST, "/api/email/verify", token(), [400; 5]),
        row(
            Method::POST,
            "/api/email/verify/again",
            Some(json!({})),
            [202; 5],
        ),
        row(
            Method::POST,
            "/api/password/forgot",
            Some(json!({ "email": "nobody@example.com" })),
            [202; 5],
        ),
        row(
            Method::POST,
            "/api/password/reset",
            Some(json!({ "token": "x", "password": "a brand new one" })),
            [400; 5],
        ),
        row(Method::GET, "/api/oidc/none/start", None, [404; 5]),
        row(Method::GET, "/api/oidc/none/callback", None, [404; 5]),
        row(Method::GET, "/api/operator/emails", None, [404; 5]),
        row(
            Method::POST,
            "/api/wallet/redeem",
            Some(json!({ "code": "x" })),
            [400, 400, 403, 400, 403],
        ),
        row(Method::DELETE, "/api/session", None, [204; 5]),
        // Last, because no person is left after it.
        row(Method::GET, "/api/members", None, [401; 5]),
        row(Method::GET, "/api/none", None, [404; 5]),
    ]
}

/// What every person may do about their own second factor, whatever their role.
fn second_factor_rows() -> Vec<Row> {
    let nothing = || Some(json!({}));
    let code = || Some(json!({ "code": "000000" }));
    vec![
        row(Method::GET, "/api/second-factor", None, [200; 5]),
        row(
            Method::POST,
            "/api/second-factor/recovery-codes",
            nothing(),
            [409; 5],
        ),
        row(
            Method::POST,
            "/api/second-factor/enrol",
            nothing(),
            [200; 5],
        ),
        row(Method::POST, "/api/second-factor/confirm", code(), [401; 5]),
        row(
            Method::POST,
            "/api/second-factor/disable",
            nothing(),
            [204; 5],
        ),
        row(Method::POST, "/api/session/second-factor", code(), [401; 5]),
    ]
}

#[tokio::test]
async fn every_route_is_open_to_the_roles_that_may_and_to_no_other() {
    let test_console = TestConsole::new().await;
    for (index, role) in Role::ALL.into_iter().enumerate() {
        let account = test_console.organisation("Acme").await;
        let word = role.as_str();
        let boss = test_console
            .member(account, &format!("boss-{word}@example.com"), Role::Owner)
            .await;
        let own = test_console
            .member(account, &format!("own-{word}@example.com"), role)
            .await;
        let rows = second_factor_rows().into_iter().chain(rows());
        for (number, row) in rows.enumerate() {
            let other = format!("other-{word}-{number}@example.com");
            let other = test_console.member(account, &other, Role::Viewer).await;
            let other = other.session().await["person"]["id"].to_string();
            // An address of its own: one address gets three invitations an hour.
            let invited = format!("open-{word}-{number}@example.com");
            let invite = json!({ "email": invited, "role": "viewer" });
            let open = boss.post("/api/members/invitations", invite).await.json();
            let path = row.path.replace("{member}", &other);
            let path = path.replace("{invitation}", &open["id"].to_string());
            let got = own.send(row.method.clone(), &path, row.body).await;
            let expected = row.statuses[index];
            assert_eq!(
                got.status.as_u16(),
                expected,
                "{word} {} {path}: {got:?}",
                row.method
            );
            if row.path == "/api/sign-up" {
                got.error(403, "sign_up_closed");
            } else if expected == 403 {
                got.error(403, "role_not_allowed");
            }
        }
    }
    test_console.audit().await;
}

#[tokio::test]
async fn every_route_that_is_documented_is_in_the_table() {
    let test_console = TestConsole::new().await;
    let document = test_console.get("/openapi.json").await.json();
    let known: Vec<(Method, String)> = rows()
        .into_iter()
        .chain(second_factor_rows())
        .map(|row| {
            let path = row
                .path
                .replace("{member}", "{id}")
                .replace("{invitation}", "{id}");
            (row.method, path.replace("/none", "/{id}"))
        })
        .collect();
    for (path, item) in document["paths"].as_object().unwrap() {
        // Those of customers' own things have a table of theirs.
        let tagged = |operation: &Value| {
            let tags = ["people", "operator"].map(|tag| json!([tag]));
            tags.contains(&operation["tags"])
        };
        for (method, _) in item
            .as_object()
            .unwrap()
            .iter()
            .filter(|(_, one)| tagged(one))
        {
            let method: Method = method.to_uppercase().parse().unwrap();
            // Signing in has tests of its own: there is no role before it.
            let signs_in = method == Method::POST && path == "/api/session";
            let is_there = signs_in || known.iter().any(|(own, at)| *own == method && at == path);
            assert!(is_there, "{method} {path} has no row");
        }
    }
}

#[tokio::test]
async fn an_anonymous_request_for_private_data_is_asked_to_sign_in() {
    let test_console = TestConsole::new().await;
    let stranger = Browser::new(&test_console);
    let open = [
        "/api/session",
        "/api/setup",
        "/api/session/dev",
        "/api/invitations/preview",
        "/api/invitations/accept",
        "/api/sign-up",
        "/api/email/verify",
        "/api/password/forgot",
        "/api/password/reset",
        "/api/oidc/none/start",
        "/api/oidc/none/callback",
        "/api/none",
    ];
    for row in rows().into_iter().chain(second_factor_rows()) {
        if open.contains(&row.path) {
            continue;
        }
        let path = row
            .path
            .replace("{member}", "1")
            .replace("{invitation}", "1");
        let got = stranger.send(row.method.clone(), &path, row.body).await;
        got.error(401, "not_signed_in");
        assert!(got.headers.get("set-cookie").is_none(), "{path}");
    }
}
