//! Service accounts against a small token server that checks the signature, as Google does.

use std::time::Duration;

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use trunkline_types::{Secret, Timestamp};
use trunkline_upstream::{Auth, Client, Credential, Protocol, SendError};

use crate::calls::{LONG, call, proxy};
use crate::recording::{Recording, ScriptedAnswer};

const NOW: Timestamp = Timestamp::from_micros(1_794_745_845_000_000);
const EMAIL: &str = "robot@acme.iam.gserviceaccount.com";

/// An account with a key of its own, and the server that knows it.
struct GoogleSetup {
    key: KeyPair,
    pem: String,
    tokens: Recording,
    opened: Credential,
    client: Client,
}

fn token(text: &str, seconds: u64) -> ScriptedAnswer {
    let body = json!({ "access_token": text, "expires_in": seconds, "token_type": "Bearer" });
    ScriptedAnswer::json(200, &body.to_string())
}

async fn setup() -> GoogleSetup {
    let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
    let der: Pkcs8V1Der<'_> = key.as_der().unwrap();
    let lines = STANDARD.encode(der.as_ref());
    let lines: Vec<&str> = lines
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    let pem = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        lines.join("\n")
    );
    let tokens = Recording::start(token("ya29.canary-1", 3_600)).await;
    let file = json!({
        "type": "service_account",
        "project_id": "acme",
        "private_key_id": "key-1",
        "private_key": pem,
        "client_email": EMAIL,
        "token_uri": tokens.at("/token"),
    });
    let secret = Secret::new(file.to_string());
    let opened = Credential::new(&Auth::GoogleServiceAccount, &secret).unwrap();
    let client = Client::new(LONG).unwrap();
    GoogleSetup {
        key,
        pem,
        tokens,
        opened,
        client,
    }
}

impl GoogleSetup {
    /// The header that a call would have.
    async fn authorization(&self, now: Timestamp) -> Result<String, SendError> {
        let call = call(
            "https://us-east5-aiplatform.googleapis.com/v1/x",
            Protocol::Http1,
        );
        let headers = self.opened.headers(&self.client, &call, now).await?;
        let [(name, value)] = headers.as_slice() else {
            panic!("{headers:?}");
        };
        assert!(name == "authorization" && value.is_sensitive());
        Ok(value.to_str().unwrap().to_owned())
    }

    fn exchanges(&self) -> usize {
        self.tokens.came().len()
    }
}

#[tokio::test]
async fn the_assertion_is_signed_with_issuer_scope_and_expiry() {
    let setup = setup().await;
    assert_eq!(
        setup.authorization(NOW).await.unwrap(),
        "Bearer ya29.canary-1"
    );
    let came = setup.tokens.came();
    assert_eq!((came.len(), came[0].path.as_str()), (1, "/token"));
    assert_eq!(
        came[0].headers["content-type"],
        "application/x-www-form-urlencoded"
    );
    let body = std::str::from_utf8(&came[0].body).unwrap();
    let begin = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
    let assertion = body.strip_prefix(begin).unwrap();
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    let public =
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, setup.key.public_key().as_ref());
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    public.verify(signed.as_bytes(), &signature).unwrap();
    assert!(public.verify(b"another text", &signature).is_err());
    let part = |text: &str| -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap()
    };
    let (head, claims) = signed.split_once('.').unwrap();
    assert_eq!(
        part(head),
        json!({ "alg": "RS256", "typ": "JWT", "kid": "key-1" })
    );
    let expected = json!({
        "iss": EMAIL,
        "scope": "https://www.googleapis.com/auth/cloud-platform",
        "aud": setup.tokens.at("/token"),
        "iat": 1_794_745_845,
        "exp": 1_794_749_445,
    });
    assert_eq!(part(claims), expected);
}

#[tokio::test]
async fn a_token_is_kept_until_five_minutes_before_its_end() {
    let setup = setup().await;
    let first = "Bearer ya29.canary-1";
    assert_eq!(setup.authorization(NOW).await.unwrap(), first);
    setup.tokens.tell(token("ya29.canary-2", 3_600));
    assert_eq!(
        setup.authorization(NOW.plus_seconds(3_299)).await.unwrap(),
        first
    );
    assert_eq!(setup.exchanges(), 1);
    let later = NOW.plus_seconds(3_300);
    assert_eq!(
        setup.authorization(later).await.unwrap(),
        "Bearer ya29.canary-2"
    );
    assert_eq!(setup.exchanges(), 2);
}

#[tokio::test]
async fn calls_that_come_together_make_one_exchange() {
    let setup = setup().await;
    // Even if the token lives too short to be kept.
    let slow = ScriptedAnswer {
        after: Duration::from_millis(100),
        ..token("ya29.canary-1", 60)
    };
    setup.tokens.tell(slow);
    let mut calls: Vec<_> = (0..50)
        .map(|_| Box::pin(setup.authorization(NOW)))
        .collect();
    for one in &mut calls {
        let polled = tokio::time::timeout(Duration::ZERO, one).await;
        assert!(polled.is_err(), "it waits");
    }
    for one in calls {
        assert_eq!(one.await.unwrap(), "Bearer ya29.canary-1");
    }
    assert_eq!(setup.exchanges(), 1);
}

#[tokio::test]
async fn without_a_token_nothing_is_sent_and_the_next_call_tries_again() {
    let setup = setup().await;
    let refusal =
        r#"{"error":"invalid_grant","error_description":"canary: Invalid JWT Signature."}"#;
    let refused = ScriptedAnswer {
        after: Duration::from_millis(100),
        ..ScriptedAnswer::json(400, refusal)
    };
    setup.tokens.tell(refused);
    let mut calls: Vec<_> = (0..20)
        .map(|_| Box::pin(setup.authorization(NOW)))
        .collect();
    for one in &mut calls {
        assert!(tokio::time::timeout(Duration::ZERO, one).await.is_err());
    }
    for one in calls {
        let words = "the service account got no token: status 400, invalid_grant";
        assert_eq!(one.await, Err(SendError::NotSent(words.to_owned())));
    }
    assert_eq!(setup.exchanges(), 1, "who waited shares the failure");
    for (scripted, words) in [
        (
            ScriptedAnswer::json(200, "{\"error\":\"canary\"}"),
            "an answer without a token",
        ),
        (
            ScriptedAnswer::json(500, "canary"),
            "status 500, without a known reason",
        ),
    ] {
        setup.tokens.tell(scripted);
        let Err(SendError::NotSent(reply)) = setup.authorization(NOW).await else {
            panic!("it was sent");
        };
        assert!(reply.ends_with(words), "{reply}");
    }
    setup.tokens.tell(token("ya29.canary-3", 3_600));
    assert_eq!(
        setup.authorization(NOW).await.unwrap(),
        "Bearer ya29.canary-3"
    );
    assert_eq!(setup.exchanges(), 4);
}

#[tokio::test]
async fn a_token_is_fetched_the_calls_own_way_out_and_within_its_time() {
    let setup = setup().await;
    let unknown = proxy("http://127.0.0.1:1");
    let mut call = call("https://aiplatform.googleapis.com/v1/x", Protocol::Http1);
    call.proxy = Some(&unknown);
    let through = setup.opened.headers(&setup.client, &call, NOW).await;
    assert!(matches!(through, Err(SendError::NotSent(_))), "{through:?}");
    assert_eq!(setup.exchanges(), 0);

    setup.tokens.tell(ScriptedAnswer {
        after: LONG,
        ..token("ya29.canary-1", 3_600)
    });
    call.proxy = None;
    call.deadlines.first_byte = Duration::from_millis(50);
    let late = setup.opened.headers(&setup.client, &call, NOW).await;
    let words = "the service account got no token: no token came in time";
    assert_eq!(late.unwrap_err(), SendError::NotSent(words.to_owned()));
}

#[tokio::test]
async fn the_key_and_every_token_that_still_counts_are_secrets() {
    let setup = setup().await;
    setup.authorization(NOW).await.unwrap();
    setup.tokens.tell(token("ya29.canary-2", 3_600));
    setup.authorization(NOW.plus_seconds(3_400)).await.unwrap();
    let secrets = setup.opened.secrets();
    let holds = |text: &str| secrets.iter().any(|secret| secret.reveal() == text);
    let line = setup.pem.lines().nth(3).unwrap();
    let escaped = setup.pem.replace('\n', "\\n");
    for text in [&setup.pem, line, &escaped, "ya29.canary-1", "ya29.canary-2"] {
        assert!(holds(text), "{text}");
    }
    let printed = format!("{:?} {secrets:?}", setup.opened);
    assert!(
        !printed.contains("canary") && !printed.contains(line),
        "{printed}"
    );
}

#[test]
fn an_assertion_leaves_this_machine_in_tls_only() {
    let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
    let der: Pkcs8V1Der<'_> = key.as_der().unwrap();
    let body = STANDARD.encode(der.as_ref());
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
    let open = |uri: &str| {
        let file = json!({
            "type": "service_account", "client_email": EMAIL, "private_key": pem, "token_uri": uri,
        });
        Credential::new(&Auth::GoogleServiceAccount, &Secret::new(file.to_string())).is_ok()
    };
    for good in [
        "https://oauth2.googleapis.com/token",
        "http://localhost:1/",
        "http://127.0.0.1:1/",
    ] {
        assert!(open(good), "{good}");
    }
    for bad in [
        "http://oauth2.googleapis.com/token",
        "http://127.0.0.1.example/",
        "/token",
        "",
    ] {
        assert!(!open(bad), "{bad}");
    }
}
