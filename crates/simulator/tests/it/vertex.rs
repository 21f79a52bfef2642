//! Vertex AI over a real socket: access tokens that are really signed for, and Google's messages
//! under a project and a place.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};
use trunkline_simulator::{ServiceAccount, Settings, Simulator, VertexSettings};

use crate::client::{Response, ask, started};
use crate::gemini::{saying, with_tools};

const EMAIL: &str = "gateway@project-1.iam.gserviceaccount.com";
const PLACE: &str = "/v1/projects/project-1/locations/us-central1/publishers";
const FORM: &str = "content-type: application/x-www-form-urlencoded\r\n";

struct TestVertex {
    simulator: Simulator,
    key: KeyPair,
}

impl TestVertex {
    async fn started(token_life_secs: u32) -> Self {
        let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let account = ServiceAccount {
            email: EMAIL.to_owned(),
            public_key_pem: public_pem(&key),
        };
        let settings = Settings {
            vertex: VertexSettings {
                accounts: vec![account],
                token_life_secs,
            },
            ..Settings::default()
        };
        let simulator = Simulator::start(settings).await.unwrap();
        Self { simulator, key }
    }

    async fn trade(&self, claims: &Value) -> Response {
        let assertion = signed(&self.key, &json!({"alg": "RS256", "typ": "JWT"}), claims);
        self.send(&assertion).await
    }

    async fn send(&self, assertion: &str) -> Response {
        let body = format!(
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion={assertion}"
        );
        ask(&self.simulator, "POST", "/token", FORM, body.as_bytes()).await
    }

    async fn token(&self) -> String {
        let got = self.trade(&claims()).await;
        let granted = got.json();
        assert_eq!(
            (got.status, &granted["token_type"]),
            (200, &json!("Bearer")),
            "{granted}"
        );
        granted["access_token"].as_str().unwrap().to_owned()
    }

    async fn call(&self, token: &str, path: &str, body: &Value) -> Response {
        let head = format!("authorization: Bearer {token}\r\n");
        let path = format!("{PLACE}/{path}");
        ask(
            &self.simulator,
            "POST",
            &path,
            &head,
            body.to_string().as_bytes(),
        )
        .await
    }
}

fn public_pem(key: &KeyPair) -> String {
    let der: PublicKeyX509Der<'_> = key.public_key().as_der().unwrap();
    let text = STANDARD.encode(der.as_ref());
    format!("-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n")
}

fn signed(key: &KeyPair, header: &Value, claims: &Value) -> String {
    let header = URL_SAFE_NO_PAD.encode(header.to_string());
    let claims = URL_SAFE_NO_PAD.encode(claims.to_string());
    let text = format!("{header}.{claims}");
    let mut signature = vec![0; key.public_modulus_len()];
    let random = SystemRandom::new();
    key.sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature)
        .unwrap();
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[expect(
    clippy::disallowed_methods,
    reason = "an assertion is held against the vendor's clock, which is the machine's"
)]
fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

fn claims() -> Value {
    json!({"iss": EMAIL, "aud": "https://oauth2.googleapis.com/token", "iat": now(),
        "exp": now() + 3600, "scope": "https://www.googleapis.com/auth/cloud-platform"})
}

fn with(name: &str, value: impl Into<Value>) -> Value {
    let mut all = claims();
    all[name] = value.into();
    all
}

#[tokio::test]
async fn an_assertion_is_traded_for_a_token_that_is_accepted() {
    let vertex = TestVertex::started(600).await;
    let got = vertex.trade(&claims()).await;
    assert_eq!(got.json()["expires_in"], 600);
    let token = vertex.token().await;
    let path = "google/models/sim-small:generateContent";
    let answer = vertex.call(&token, path, &saying("hello")).await;
    let answer_json = answer.json();
    assert_eq!(answer.status, 200, "{answer_json}");
    assert_eq!(answer_json["usageMetadata"]["trafficType"], "ON_DEMAND");
    assert_eq!(
        answer_json["usageMetadata"]["candidatesTokensDetails"],
        json!([{"modality": "TEXT", "tokenCount": 5}])
    );
    let truth = vertex.simulator.requests();
    assert!(truth[0].body.is_empty(), "an assertion is not kept");
    assert_eq!(truth[2].key, token[token.len() - 4..]);
}

#[tokio::test]
async fn a_wrong_assertion_gets_no_token() {
    let vertex = TestVertex::started(600).await;
    let stranger = KeyPair::generate(KeySize::Rsa2048).unwrap();
    let header = json!({"alg": "RS256"});
    let forged = signed(&stranger, &header, &claims());
    let unsigned = signed(&vertex.key, &json!({"alg": "none"}), &claims());
    let good = signed(&vertex.key, &header, &claims());
    let mut moved = good.split('.').map(str::to_owned).collect::<Vec<_>>();
    moved[1] = URL_SAFE_NO_PAD.encode(with("exp", now() + 1800).to_string());
    for (assertion, says) in [
        (forged, "Invalid JWT Signature."),
        (unsigned, "Invalid JWT Signature."),
        (moved.join("."), "Invalid JWT Signature."),
        ("a.b".to_owned(), "Bad Request"),
        (String::new(), "Bad Request"),
    ] {
        let got = vertex.send(&assertion).await;
        assert_eq!(
            (got.status, &got.json()["error"]),
            (400, &json!("invalid_grant"))
        );
        assert_eq!(got.json()["error_description"], says, "{assertion}");
    }
    for (claims, error, says) in [
        (with("iss", "other@x"), "invalid_grant", "account not found"),
        (
            with("aud", "https://example.com"),
            "invalid_grant",
            "audience",
        ),
        (with("exp", now() + 3602), "invalid_grant", "short-lived"),
        (with("exp", now() - 1), "invalid_grant", "short-lived"),
        (with("iat", now() + 900), "invalid_grant", "short-lived"),
        (with("exp", Value::Null), "invalid_grant", "Bad Request"),
        (with("scope", "email"), "invalid_scope", "scope"),
        (with("scope", Value::Null), "invalid_scope", "scope"),
    ] {
        let got = vertex.trade(&claims).await;
        assert_eq!(
            (got.status, &got.json()["error"]),
            (400, &json!(error)),
            "{claims}"
        );
        let description = got.json()["error_description"].to_string();
        assert!(description.contains(says), "{claims}: {description}");
    }
    let body = b"grant_type=password&assertion=x";
    let got = ask(&vertex.simulator, "POST", "/token", FORM, body).await;
    assert_eq!(
        (got.status, &got.json()["error"]),
        (400, &json!("unsupported_grant_type"))
    );
}

#[tokio::test]
async fn a_token_that_ended_or_never_was_is_unauthenticated() {
    let vertex = TestVertex::started(0).await;
    let token = vertex.token().await;
    let path = "google/models/sim-small:generateContent";
    for (token, reason) in [
        (token.as_str(), "ACCESS_TOKEN_EXPIRED"),
        ("ya29.made-up", "ACCESS_TOKEN_TYPE_UNSUPPORTED"),
    ] {
        let got = vertex.call(token, path, &saying("hello")).await;
        let error = &got.json()["error"];
        assert_eq!(
            (got.status, &error["status"]),
            (401, &json!("UNAUTHENTICATED"))
        );
        assert_eq!(error["details"][0]["reason"], reason);
    }
    let path = format!("{PLACE}/{path}");
    let none = ask(&vertex.simulator, "POST", &path, "", b"{}").await;
    assert_eq!(
        none.json()["error"]["details"][0]["reason"],
        "CREDENTIALS_MISSING"
    );
}

#[tokio::test]
async fn without_service_accounts_any_bearer_is_taken() {
    let simulator = started().await;
    let path = "/v1beta1/projects/p/locations/global/publishers/google/models/sim-small";
    let head = "authorization: Bearer anything\r\n";
    let body = saying("[[tokens:2]]").to_string();
    for (verb, piece) in [
        ("generateContent", "sim2 "),
        ("streamGenerateContent?alt=sse", "data: {"),
        ("streamGenerateContent", "[{"),
        ("countTokens", "totalBillableCharacters"),
    ] {
        let path = format!("{path}:{verb}");
        let got = ask(&simulator, "POST", &path, head, body.as_bytes()).await;
        assert_eq!(got.status, 200, "{}", got.text());
        assert!(got.text().contains(piece), "{verb}: {}", got.text());
    }
}

#[tokio::test]
async fn vertex_is_stricter_and_wraps_the_errors_of_streams() {
    let vertex = TestVertex::started(600).await;
    let token = vertex.token().await;
    let roleless = json!({"contents": [{"parts": [{"text": "hello"}]}]});
    let path = "google/models/sim-small:streamGenerateContent?alt=sse";
    let got = vertex.call(&token, path, &roleless).await;
    let error = &got.json()[0]["error"];
    assert_eq!(error["message"], "Please use a valid role: user, model.");
    let mut labelled = saying("hello");
    labelled["labels"] = json!({"team": "a"});
    let path = "google/models/sim-small:generateContent";
    assert_eq!(vertex.call(&token, path, &labelled).await.status, 200);
    let got = vertex
        .call(&token, "google/models/gemini-x:generateContent", &labelled)
        .await;
    assert_eq!(got.status, 404);
    assert!(
        got.text()
            .contains("Publisher Model `projects/project-1/locations/us-central1")
    );
    // Calls have no ids here, unless the prompt asks for them.
    for (prompt, has_id) in [("[[tool:stop]]", false), ("[[tool:stop]] [[ids:on]]", true)] {
        let answer = vertex.call(&token, path, &with_tools(prompt)).await.json();
        let call = &answer["candidates"][0]["content"]["parts"][0]["functionCall"];
        assert_eq!(call["id"].is_string(), has_id, "{answer}");
    }
}

#[tokio::test]
async fn the_signature_is_wanted_back_in_vertex_words() {
    let vertex = TestVertex::started(600).await;
    let token = vertex.token().await;
    let mut body = with_tools("[[tool:stop]]");
    let contents = body["contents"].as_array_mut().unwrap();
    contents.push(json!({"role": "model", "parts": [{"functionCall": {"name": "stop"}}]}));
    contents.push(json!({"role": "user", "parts":
        [{"functionResponse": {"name": "stop", "response": {}}}]}));
    let path = "google/models/sim-reason:generateContent";
    let got = vertex.call(&token, path, &body).await;
    let message = got.json()["error"]["message"].to_string();
    assert!(message.contains("function call `stop` in the 2. content block is missing a"));
}

fn claude(prompt: &str) -> Value {
    json!({"anthropic_version": "vertex-2023-10-16", "max_tokens": 50,
        "messages": [{"role": "user", "content": prompt}]})
}

#[tokio::test]
async fn partner_models_answer_on_this_endpoint() {
    let vertex = TestVertex::started(600).await;
    let token = vertex.token().await;
    let whole = "anthropic/models/sim-small:rawPredict";
    let got = vertex.call(&token, whole, &claude("[[tokens:3]]")).await;
    let answer = got.json();
    assert_eq!((got.status, &answer["model"]), (200, &json!("sim-small")));
    assert_eq!(answer["content"][0]["text"], "sim1 sim2 sim3 ");
    assert_eq!(got.header("anthropic-ratelimit-requests-limit"), None);
    let mut body = claude("[[tokens:3]]");
    body["stream"] = json!(true);
    let path = "anthropic/models/sim-small:streamRawPredict";
    let events = vertex.call(&token, path, &body).await.events();
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.first(), Some(&"message_start"));
    assert_eq!(names.last(), Some(&"message_stop"));
    let mut body = claude("hello");
    body["model"] = json!("sim-small");
    body.as_object_mut().unwrap().remove("max_tokens");
    let path = "anthropic/models/count-tokens:rawPredict";
    let counted = vertex.call(&token, path, &body).await.json();
    assert!(counted["input_tokens"].as_u64().unwrap() > 0, "{counted}");
}

#[tokio::test]
async fn a_body_for_partner_models_is_checked_by_both_vendors() {
    let vertex = TestVertex::started(600).await;
    let token = vertex.token().await;
    let mut named = claude("hello");
    named["model"] = json!("sim-small");
    let mut old = claude("hello");
    old["anthropic_version"] = json!("2023-06-01");
    let mut strange = claude("hello");
    strange["strange"] = json!(1);
    let limited = claude("[[fault:rate_limited:7]]");
    for (body, status, says) in [
        (&named, 400, "model: Extra inputs are not permitted"),
        (&old, 400, "anthropic_version: Input should be"),
        (&json!({}), 400, "anthropic_version: Field required"),
        (&strange, 400, "invalid_request_error"),
        (&limited, 429, "RESOURCE_EXHAUSTED"),
    ] {
        for verb in ["rawPredict", "streamRawPredict"] {
            let path = format!("anthropic/models/sim-small:{verb}");
            let got = vertex.call(&token, &path, body).await;
            assert_eq!(got.status, status, "{body}");
            assert!(got.text().contains(says), "{}", got.text());
        }
    }
    for path in [
        "meta/models/sim-small:generateContent",
        "anthropic/models/else:rawPredict",
    ] {
        let got = vertex.call(&token, path, &claude("hello")).await;
        assert_eq!(got.status, 404, "{path}");
    }
}
