//! Emails without a mail server, in the hands of operators.

use trunkline_console::SignUp;
use trunkline_store::people::Role;

use crate::onboarding::harness::OnboardingConsole;

#[tokio::test]
async fn without_mail_the_operator_sees_the_link_to_pass_on() {
    let harness = OnboardingConsole::with(|settings| settings.sign_up = SignUp::Open).await;
    let (operator, _) = harness
        .person("op@example.com", Role::Owner, true, true)
        .await;
    harness.visitor().sign_up("ada@example.com").await;
    harness.visitor().sign_up("op@example.com").await;
    let mut op = harness.signed_in(operator, true).await;
    let listed = op.get("/api/operator/emails").await.json();
    let data = listed["data"].as_array().unwrap();
    assert_eq!(
        data.len(),
        1,
        "an email without a secret needs no operator: {listed}"
    );
    let email = &data[0];
    assert_eq!(
        (&email["to"], &email["kind"]),
        (&"ada@example.com".into(), &"verify".into())
    );
    assert_eq!(
        (&email["state"], &email["last_error"]),
        (&"kept".into(), &serde_json::Value::Null)
    );
    let token = harness.token_to("ada@example.com").await;
    assert_eq!(
        email["link"],
        format!("http://127.0.0.1:8081/verify#{token}")
    );
    let fields: Vec<&String> = email.as_object().unwrap().keys().collect();
    assert_eq!(fields.len(), 8, "{fields:?}");
    harness.db.shift_clock(48 * 3_600 + 1).await;
    let mut op = harness.signed_in(operator, true).await;
    let later = op.get("/api/operator/emails").await.json();
    assert_eq!(later["data"], serde_json::json!([]), "its link is over");
}

#[tokio::test]
async fn only_an_operator_with_a_fresh_password_check_sees_emails() {
    let harness = OnboardingConsole::with(|_| {}).await;
    let (operator, _) = harness
        .person("op@example.com", Role::Owner, true, true)
        .await;
    let (owner, _) = harness.member("ada@example.com", Role::Owner).await;
    let path = "/api/operator/emails";
    harness
        .visitor()
        .get(path)
        .await
        .error(401, "not_signed_in");
    harness
        .signed_in(owner, true)
        .await
        .get(path)
        .await
        .error(404, "not_found");
    harness
        .signed_in(operator, false)
        .await
        .get(path)
        .await
        .error(403, "step_up_required");
    let got = harness.signed_in(operator, true).await.get(path).await;
    assert_eq!(got.status.as_u16(), 200);
    assert_eq!(got.header("cache-control"), "no-store");
}
