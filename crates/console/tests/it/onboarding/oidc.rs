//! Signing in through a provider of OpenID Connect.

use serde_json::{Value, json};
use trunkline_console::{Provider as Settings, SignUp, Trial};
use trunkline_store::people::{self, NewInvitation, Role};

use crate::onboarding::harness::{OnboardingConsole, Visitor};
use crate::onboarding::provider::{AuthorizationRequest, Provider};

/// Makes a token of a provider wrong in one way.
type Spoil = fn(&mut Value);

async fn harness(provider: &Provider, set: impl FnOnce(&mut Settings)) -> OnboardingConsole {
    let mut settings = provider.settings();
    set(&mut settings);
    OnboardingConsole::with(|harness| harness.providers = vec![settings]).await
}

/// Goes to the provider with a page to come back to.
async fn go(visitor: &mut Visitor<'_>, query: &str) -> AuthorizationRequest {
    let got = visitor.get(&format!("/api/oidc/work/start{query}")).await;
    assert_eq!(got.status.as_u16(), 302, "{got:?}");
    AuthorizationRequest::of(got.header("location"))
}

/// Where a browser is led when it comes back.
async fn back(visitor: &mut Visitor<'_>, address: &str) -> String {
    let got = visitor.get(address).await;
    assert_eq!(got.status.as_u16(), 302, "{got:?}");
    assert_eq!(got.header("cache-control"), "no-store");
    got.header("location").to_owned()
}

/// All the way, with claims as the test wants them.
async fn come(
    visitor: &mut Visitor<'_>,
    provider: &Provider,
    change: impl FnOnce(&mut Value),
) -> String {
    let authorization = go(visitor, "?return_to=/keys").await;
    let mut claims = provider.claims(&authorization, "s-1", "ada@example.com");
    change(&mut claims);
    let address = provider.consent(&authorization, claims);
    back(visitor, &address).await
}

#[tokio::test]
async fn a_person_signs_in_by_oidc_and_is_identified_by_subject_afterwards() {
    let provider = Provider::start().await;
    let harness = harness(&provider, |_| {}).await;
    let (_, account) = harness.member("ada@example.com", Role::Owner).await;
    let mut ada = harness.visitor();
    let first_session = ada.session().await;
    assert_eq!(
        first_session["instance"]["providers"],
        json!([{ "id": "work", "name": "Work" }])
    );
    let authorization = go(&mut ada, "?return_to=/keys?x=1").await;
    assert_eq!(
        authorization.query["redirect_uri"],
        "http://127.0.0.1:8081/api/oidc/work/callback"
    );
    assert_eq!(authorization.query["scope"], "openid email profile");
    assert_eq!(authorization.query["response_type"], "code");
    assert!(!authorization.query.contains_key("prompt"));
    let claims = provider.claims(&authorization, "s-1", "Ada@Example.com");
    let address = provider.consent(&authorization, claims);
    assert_eq!(back(&mut ada, &address).await, "/keys?x=1");
    let session = ada.session().await;
    assert_eq!(session["person"]["email"], "ada@example.com");
    assert_eq!(session["account"]["id"], account.number());
    assert_eq!(
        session["stepped_up_until"],
        Value::Null,
        "the provider may know her from days ago"
    );

    // Another address there: the number counts.
    let mut later = harness.visitor();
    let led = come(&mut later, &provider, |claims| {
        claims["email"] = json!("new@example.com")
    })
    .await;
    assert_eq!(led, "/keys");
    assert_eq!(later.session().await["person"]["email"], "ada@example.com");
    let known = harness
        .db
        .ask("SELECT issuer || ' ' || subject FROM app.person_identity")
        .await;
    assert_eq!(known, [format!("{} s-1", provider.issuer())]);
    harness.audit().await;
}

#[tokio::test]
async fn what_a_provider_says_must_hold() {
    let provider = Provider::start().await;
    let harness = harness(&provider, |_| {}).await;
    harness.member("ada@example.com", Role::Owner).await;
    let cases: [(&str, Spoil); 9] = [
        ("provider_refused", |claims| {
            claims["nonce"] = json!("another")
        }),
        ("provider_refused", |claims| {
            drop(claims.as_object_mut().unwrap().remove("nonce"))
        }),
        ("provider_refused", |claims| {
            claims["aud"] = json!("another")
        }),
        ("provider_refused", |claims| {
            claims["aud"] = json!(["trunkline", "another"])
        }),
        ("provider_refused", |claims| {
            claims["exp"] = json!(1_700_000_000)
        }),
        ("provider_refused", |claims| {
            claims["iss"] = json!("https://evil.example")
        }),
        ("provider_refused", |claims| {
            claims["unsigned"] = json!(true)
        }),
        ("address_unverified", |claims| {
            claims["email_verified"] = json!(false)
        }),
        ("address_unverified", |claims| {
            drop(claims.as_object_mut().unwrap().remove("email_verified"))
        }),
    ];
    for (number, (word, change)) in cases.into_iter().enumerate() {
        let mut visitor = harness.visitor();
        let led = come(&mut visitor, &provider, change).await;
        assert_eq!(led, format!("/sign-in?error={word}"), "case {number}");
        assert_eq!(visitor.session().await["signed_in"], false, "case {number}");
    }
    let known = harness
        .db
        .ask("SELECT count(*)::text FROM app.person_identity")
        .await;
    assert_eq!(known, ["0"]);
}

#[tokio::test]
async fn a_way_is_good_once_for_one_browser_and_for_ten_minutes() {
    let provider = Provider::start().await;
    let harness = harness(&provider, |_| {}).await;
    harness.member("ada@example.com", Role::Owner).await;
    let mut ada = harness.visitor();
    let authorization = go(&mut ada, "").await;
    let consent = |authorization: &AuthorizationRequest| {
        let claims = provider.claims(authorization, "s-1", "ada@example.com");
        provider.consent(authorization, claims)
    };
    let invalid = "/sign-in?error=state_invalid";
    // Another person's browser, with and without a way of its own.
    let mut mallory = harness.visitor();
    assert_eq!(back(&mut mallory, &consent(&authorization)).await, invalid);
    go(&mut mallory, "").await;
    let authorization = go(&mut ada, "").await;
    assert_eq!(back(&mut mallory, &consent(&authorization)).await, invalid);
    assert_eq!(mallory.session().await["signed_in"], false);
    // The first callback has used it up.
    assert_eq!(back(&mut ada, &consent(&authorization)).await, invalid);
    let authorization = go(&mut ada, "").await;
    let address = consent(&authorization);
    assert_eq!(back(&mut ada, &address).await, "/");
    assert_eq!(back(&mut ada, &address).await, invalid);
    let authorization = go(&mut ada, "").await;
    harness.db.shift_clock(601).await;
    assert_eq!(back(&mut ada, &consent(&authorization)).await, invalid);
    for nonsense in [
        "",
        "?state=x",
        "?code=a&state=",
        "?error=access_denied&state=y",
        "?state=a&state=b",
    ] {
        let led = back(&mut ada, &format!("/api/oidc/work/callback{nonsense}")).await;
        assert_eq!(led, invalid, "{nonsense}");
    }
    let authorization = go(&mut ada, "").await;
    let state = &authorization.query["state"];
    let denied = format!("/api/oidc/work/callback?error=access_denied&state={state}");
    assert_eq!(
        back(&mut ada, &denied).await,
        "/sign-in?error=provider_refused"
    );
    let authorization = go(&mut ada, "").await;
    let state = &authorization.query["state"];
    let forged = format!("/api/oidc/work/callback?code=forged&state={state}");
    assert_eq!(
        back(&mut ada, &forged).await,
        "/sign-in?error=provider_refused"
    );
    ada.get("/api/oidc/other/start")
        .await
        .error(404, "not_found");
    ada.get("/api/oidc/other/callback")
        .await
        .error(404, "not_found");
}

#[tokio::test]
async fn redirects_never_leave_the_site() {
    let provider = Provider::start().await;
    let harness = harness(&provider, |_| {}).await;
    harness.member("ada@example.com", Role::Owner).await;
    for evil in [
        "//evil.example",
        "https://evil.example",
        "/%5Cevil.example",
        "/%09/evil.example",
        "javascript:alert(1)",
        "%2F%2Fevil.example",
    ] {
        let mut ada = harness.visitor();
        let authorization = go(&mut ada, &format!("?return_to={evil}")).await;
        let claims = provider.claims(&authorization, "s-1", "ada@example.com");
        let address = provider.consent(&authorization, claims);
        assert_eq!(back(&mut ada, &address).await, "/", "{evil}");
    }
}

#[tokio::test]
async fn a_new_person_needs_an_invitation_or_a_provider_that_may_sign_up() {
    let provider = Provider::start().await;
    let strict = harness(&provider, |_| {}).await;
    let led = come(&mut strict.visitor(), &provider, |_| {}).await;
    assert_eq!(led, "/sign-in?error=no_person");
    let people = strict.db.ask("SELECT count(*)::text FROM app.person").await;
    assert_eq!(people, ["0"]);

    // Invited: into that organisation, with that role.
    let (_, account) = strict.member("owner@example.com", Role::Owner).await;
    let token = trunkline_console::Token::fresh(&trunkline_keyring::SystemRandom).unwrap();
    let mut tx = strict.people.begin().await.unwrap();
    let new = NewInvitation {
        account,
        email: "ada@example.com",
        role: Role::Viewer,
        token: &token.hash,
        is_mailed: true,
        invited_by: None,
        life_seconds: 3_600,
    };
    people::invite(&mut tx, &new).await.unwrap();
    tx.commit().await.unwrap();
    let mut ada = strict.visitor();
    assert_eq!(come(&mut ada, &provider, |_| {}).await, "/keys");
    let session = ada.session().await;
    assert_eq!(session["account"]["id"], account.number());
    assert_eq!(session["account"]["role"], "viewer");
    assert_eq!(session["person"]["name"], "Ada Lovelace");
    assert_eq!(session["person"]["has_password"], false);
    strict.audit().await;

    // A provider that makes people: an organisation of their own, and credit.
    let mut settings = provider.settings();
    settings.makes_people = true;
    settings.allowed_domains = vec!["example.com".to_owned()];
    let open = OnboardingConsole::with(|harness| {
        harness.providers = vec![settings];
        harness.sign_up = SignUp::Closed;
        harness.trial = Some(Trial {
            amount: "1".parse().unwrap(),
            days: 7,
            per_day: 10,
        });
    })
    .await;
    let other = |claims: &mut Value| claims["email"] = json!("ada@evil-example.com");
    let led = come(&mut open.visitor(), &provider, other).await;
    assert_eq!(led, "/sign-in?error=domain_not_allowed");
    let mut ada = open.visitor();
    assert_eq!(come(&mut ada, &provider, |_| {}).await, "/keys");
    let session = ada.session().await;
    assert_eq!(session["account"]["role"], "owner");
    let account = trunkline_types::AccountId::new(session["account"]["id"].as_i64().unwrap());
    assert_eq!(open.balance(account).await.1, "1");
    open.audit().await;
}

#[tokio::test]
async fn an_address_that_was_never_proved_here_leads_to_nobodys_account() {
    let provider = Provider::start().await;
    let harness = harness(&provider, |settings| settings.makes_people = true).await;
    harness
        .person("ada@example.com", Role::Owner, false, false)
        .await;
    let mut ada = harness.visitor();
    let led = come(&mut ada, &provider, |_| {}).await;
    assert_eq!(led, "/sign-in?error=address_unproved");
    assert_eq!(ada.session().await["signed_in"], false);
}

#[tokio::test]
async fn money_and_secrets_need_a_fresh_proof_at_the_provider() {
    let provider = Provider::start().await;
    let harness = harness(&provider, |_| {}).await;
    harness.member("ada@example.com", Role::Owner).await;
    harness.member("bob@example.com", Role::Owner).await;
    let mut ada = harness.visitor();
    assert_eq!(come(&mut ada, &provider, |_| {}).await, "/keys");
    let cookie = ada.jar["trunkline"].clone();
    let step_up = "?return_to=/keys/new&step_up=true";
    let not_fresh = "/sign-in?error=proof_not_fresh";

    let authorization = go(&mut ada, step_up).await;
    assert_eq!(
        (
            authorization.query["prompt"].as_str(),
            authorization.query["max_age"].as_str()
        ),
        ("login", "0")
    );
    let mut old = provider.claims(&authorization, "s-1", "ada@example.com");
    old["auth_time"] = json!(old["iat"].as_i64().unwrap() - 3_600);
    let address = provider.consent(&authorization, old);
    assert_eq!(back(&mut ada, &address).await, not_fresh);

    let authorization = go(&mut ada, step_up).await;
    let mut silent = provider.claims(&authorization, "s-1", "ada@example.com");
    silent.as_object_mut().unwrap().remove("auth_time");
    let address = provider.consent(&authorization, silent);
    assert_eq!(back(&mut ada, &address).await, not_fresh);

    let authorization = go(&mut ada, step_up).await;
    let bob = provider.claims(&authorization, "s-2", "bob@example.com");
    let address = provider.consent(&authorization, bob);
    assert_eq!(
        back(&mut ada, &address).await,
        not_fresh,
        "another person's proof"
    );
    assert_eq!(ada.session().await["stepped_up_until"], Value::Null);

    let authorization = go(&mut ada, step_up).await;
    let claims = provider.claims(&authorization, "s-1", "ada@example.com");
    let address = provider.consent(&authorization, claims);
    assert_eq!(back(&mut ada, &address).await, "/keys/new");
    let session = ada.session().await;
    assert!(session["stepped_up_until"].is_string(), "{session}");
    assert_eq!(session["person"]["email"], "ada@example.com");
    assert_ne!(
        ada.jar["trunkline"], cookie,
        "what may do more is another token"
    );
    let mut unknown = harness.visitor();
    unknown
        .get(&format!("/api/oidc/work/start{step_up}"))
        .await
        .error(401, "not_signed_in");
}

#[tokio::test]
async fn an_absent_provider_is_reported_and_a_new_key_is_not_trusted_at_once() {
    let provider = Provider::start().await;
    let harness = harness(&provider, |_| {}).await;
    harness.member("ada@example.com", Role::Owner).await;
    let mut ada = harness.visitor();
    assert_eq!(come(&mut ada, &provider, |_| {}).await, "/keys");
    // What was fetched a moment ago is not fetched again for a caller with another key.
    provider.change_key();
    let led = come(&mut harness.visitor(), &provider, |_| {}).await;
    assert_eq!(led, "/sign-in?error=provider_refused");
    provider.go_away();
    let led = come(&mut harness.visitor(), &provider, |_| {}).await;
    assert_eq!(led, "/sign-in?error=provider_away");
    let other = self::harness(&provider, |_| {}).await;
    let got = other.visitor().get("/api/oidc/work/start").await;
    assert_eq!(got.header("location"), "/sign-in?error=provider_away");
}
