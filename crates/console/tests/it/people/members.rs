//! Members: who sees them, who changes whom, and the owner who stays.

use serde_json::{Value, json};
use trunkline_store::people::Role;
use trunkline_testkit::all_at_once;

use super::Browser;
use crate::client::TestConsole;

async fn own_id(browser: &Browser<'_>) -> i64 {
    browser.session().await["person"]["id"].as_i64().unwrap()
}

async fn change(browser: &Browser<'_>, id: i64, role: &str) -> crate::client::Response {
    let path = format!("/api/members/{id}");
    browser.patch(&path, json!({ "role": role })).await
}

#[tokio::test]
async fn every_member_sees_the_members_and_an_owner_changes_them() {
    let test_console = TestConsole::new().await;
    let account = test_console.organisation("Acme").await;
    let owner = test_console
        .member(account, "ada@example.com", Role::Owner)
        .await;
    let viewer = test_console
        .member(account, "vera@example.com", Role::Viewer)
        .await;
    let listed = viewer.get("/api/members").await.json();
    let members = listed["data"].as_array().unwrap();
    assert_eq!(members.len(), 2);
    assert_eq!(members[0]["email"], "ada@example.com", "owners first");
    assert_eq!(
        (&members[0]["you"], &members[1]["you"]),
        (&json!(false), &json!(true))
    );
    assert!(members[1]["last_seen_at"].is_string() && members[1]["joined_at"].is_string());
    assert_eq!(listed["invitations"], json!([]));
    let vera = own_id(&viewer).await;
    assert_eq!(viewer.session().await["rights"], json!([]));
    let changed = change(&owner, vera, "developer").await;
    assert_eq!(changed.status.as_u16(), 200, "{changed:?}");
    assert_eq!(changed.json()["role"], "developer");
    let rights = viewer.session().await["rights"].clone();
    assert_eq!(
        rights,
        json!(["keys.write", "playground", "tasks.write"]),
        "at once"
    );
    let gone = owner.delete(&format!("/api/members/{vera}")).await;
    assert_eq!(gone.status.as_u16(), 204);
    viewer
        .get("/api/members")
        .await
        .error(403, "role_not_allowed");
    let repeated = owner.delete(&format!("/api/members/{vera}")).await;
    repeated.error(404, "not_found");
    test_console.audit().await;
}

#[tokio::test]
async fn an_admin_does_all_but_touch_owners() {
    let test_console = TestConsole::new().await;
    let account = test_console.organisation("Acme").await;
    let owner = test_console
        .member(account, "ada@example.com", Role::Owner)
        .await;
    let admin = test_console
        .member(account, "max@example.com", Role::Admin)
        .await;
    let viewer = test_console
        .member(account, "vera@example.com", Role::Viewer)
        .await;
    let (ada, max, vera) = (
        own_id(&owner).await,
        own_id(&admin).await,
        own_id(&viewer).await,
    );
    assert_eq!(change(&admin, vera, "admin").await.status.as_u16(), 200);
    assert_eq!(change(&admin, vera, "billing").await.status.as_u16(), 200);
    for (id, role) in [
        (ada, "viewer"),
        (vera, "owner"),
        (max, "owner"),
        (ada, "owner"),
    ] {
        change(&admin, id, role)
            .await
            .error(403, "role_not_allowed");
    }
    let removed = admin.delete(&format!("/api/members/{ada}")).await;
    removed.error(403, "role_not_allowed");
    let invite = json!({ "email": "eve@example.com", "role": "owner" });
    let invited = admin.post("/api/members/invitations", invite).await;
    invited.error(403, "role_not_allowed");
    assert_eq!(change(&owner, max, "owner").await.status.as_u16(), 200);
    assert_eq!(
        change(&admin, ada, "viewer").await.status.as_u16(),
        200,
        "an owner may"
    );
    test_console.audit().await;
}

#[tokio::test]
async fn the_last_owner_cannot_leave_and_other_members_can() {
    let test_console = TestConsole::new().await;
    let account = test_console.organisation("Acme").await;
    let owner = test_console
        .member(account, "ada@example.com", Role::Owner)
        .await;
    let viewer = test_console
        .member(account, "vera@example.com", Role::Viewer)
        .await;
    let (ada, vera) = (own_id(&owner).await, own_id(&viewer).await);
    change(&owner, ada, "admin").await.error(409, "conflict");
    assert_eq!(
        change(&owner, ada, "owner").await.status.as_u16(),
        200,
        "nothing changes"
    );
    owner
        .delete(&format!("/api/members/{ada}"))
        .await
        .error(409, "conflict");
    assert_eq!(
        viewer
            .delete(&format!("/api/members/{vera}"))
            .await
            .status
            .as_u16(),
        204
    );
    let session = viewer.session().await;
    assert_eq!(
        (&session["signed_in"], &session["account"]),
        (&json!(true), &Value::Null)
    );
    test_console.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_owners_leaving_at_once_one_stays() {
    let test_console = TestConsole::new().await;
    for round in 0..5 {
        let account = test_console.organisation("Acme").await;
        let one = test_console
            .member(account, &format!("one{round}@example.com"), Role::Owner)
            .await;
        let two = test_console
            .member(account, &format!("two{round}@example.com"), Role::Owner)
            .await;
        let going = [&one, &two].map(|owner| async move {
            let id = own_id(owner).await;
            owner
                .delete(&format!("/api/members/{id}"))
                .await
                .status
                .as_u16()
        });
        let mut statuses = all_at_once(going.into_iter().collect()).await;
        statuses.sort_unstable();
        assert_eq!(statuses, [204, 409], "round {round}");
    }
    test_console.audit().await;
}

#[tokio::test]
async fn an_organisation_is_renamed_by_permitted_roles() {
    let test_console = TestConsole::new().await;
    let account = test_console.organisation("Acme").await;
    let owner = test_console
        .member(account, "ada@example.com", Role::Owner)
        .await;
    let renamed = owner
        .patch(
            "/api/account",
            json!({ "name": " <script>alert(1)</script> " }),
        )
        .await;
    let view = renamed.json();
    assert_eq!(view["name"], "<script>alert(1)</script>", "text stays text");
    assert_eq!(renamed.header("content-type"), "application/json");
    assert_eq!(
        (&view["id"], &view["role"], &view["kind"]),
        (&json!(account.number()), &json!("owner"), &json!("live"))
    );
    for wrong in ["", "two\nlines", &"x".repeat(101)] {
        let got = owner.patch("/api/account", json!({ "name": wrong })).await;
        assert_eq!(got.error(400, "invalid_request")["param"], "name");
    }
    test_console.audit().await;
}
