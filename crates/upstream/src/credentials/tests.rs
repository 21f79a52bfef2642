//! Credentials of every kind, and what must not be seen of them.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};

use super::*;
use crate::client::{Deadlines, Protocol};

fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned())
}

fn call() -> Outgoing<'static> {
    let wait = Duration::from_secs(1);
    Outgoing {
        method: Method::POST,
        uri: "https://a.example/".parse().unwrap(),
        headers: HeaderMap::new(),
        body: Bytes::new().into(),
        deadlines: Deadlines {
            first_byte: wait,
            idle: wait,
            total: wait,
        },
        proxy: None,
        protocol: Protocol::Http1,
    }
}

#[tokio::test]
async fn klings_key_pair_signs_each_call_and_is_never_printed() {
    let client = Client::new(Duration::from_secs(1)).unwrap();
    let opened =
        Credential::new(&Auth::KlingToken, &secret("canary-access:canary-secret")).unwrap();
    let mut seen = Vec::new();
    for second in [1, 2] {
        let now = Timestamp::from_micros(second * 1_000_000);
        let headers = opened.headers(&client, &call(), now).await.unwrap();
        assert_eq!(headers.len(), 1);
        assert_eq!(headers[0].0, "authorization");
        assert!(headers[0].1.is_sensitive());
        let authorization = headers[0].1.to_str().unwrap().to_owned();
        let token = authorization.strip_prefix("Bearer ").unwrap().to_owned();
        assert_eq!(token.split('.').count(), 3);
        let secrets = opened.secrets();
        assert!(secrets.iter().any(|known| known.reveal() == token));
        let printed = format!("{opened:?} {headers:?}");
        assert!(!printed.contains("canary") && !printed.contains(&token));
        seen.push(token);
    }
    assert_ne!(seen[0], seen[1], "each call has its own");
    let secrets = opened.secrets();
    let is_kept = |text: &str| secrets.iter().any(|known| known.reveal() == text);
    assert!(is_kept("canary-secret") && is_kept("canary-access"));
}

#[tokio::test]
async fn a_bearer_or_a_header_is_the_same_on_every_call_and_marked_sensitive() {
    let client = Client::new(Duration::from_secs(1)).unwrap();
    let call = call();
    for (auth, name, value) in [
        (Auth::Bearer, "authorization", "Bearer sk-canary"),
        (Auth::Header("api-key".to_owned()), "api-key", "sk-canary"),
        (Auth::KlingToken, "authorization", "Bearer sk-canary"),
    ] {
        let opened = Credential::new(&auth, &secret("sk-canary")).unwrap();
        let now = Timestamp::from_micros(0);
        let headers = opened.headers(&client, &call, now).await.unwrap();
        assert_eq!(headers.len(), 1);
        assert_eq!(headers[0].0, name);
        assert_eq!(headers[0].1, value);
        assert!(headers[0].1.is_sensitive());
        assert!(!format!("{opened:?} {headers:?}").contains("canary"));
        assert_eq!(opened.secrets().len(), 1);
        assert_eq!(opened.secrets()[0].reveal(), "sk-canary");
    }
}

#[test]
fn what_cannot_be_opened_is_refused_in_words_without_the_secret() {
    let account = |kind: &str, key: &str, uri: &str| {
        serde_json::json!({
            "type": kind, "client_email": "canary@x", "private_key": key, "token_uri": uri,
        })
        .to_string()
    };
    let pem = "-----BEGIN PRIVATE KEY-----\nY2FuYXJ5\n-----END PRIVATE KEY-----\n";
    let rows = [
        (
            Auth::Bearer,
            "canary\n".to_owned(),
            "cannot stand in a header",
        ),
        (
            Auth::Header("x".to_owned()),
            "canary\u{0}".to_owned(),
            "cannot stand in a header",
        ),
        (
            Auth::KlingToken,
            "canary:1\n2".to_owned(),
            "cannot stand in a header",
        ),
        (
            Auth::SigV4("bedrock".to_owned()),
            "canary".to_owned(),
            "ACCESS_KEY_ID:SECRET",
        ),
        (
            Auth::GoogleServiceAccount,
            "{\"canary\"".to_owned(),
            "must be JSON with type",
        ),
        (
            Auth::GoogleServiceAccount,
            account("authorized_user", pem, "https://a.example"),
            "its type must be",
        ),
        (
            Auth::GoogleServiceAccount,
            account("service_account", "canary", "https://a.example"),
            "a PKCS #8 key in PEM",
        ),
        (
            Auth::GoogleServiceAccount,
            account("service_account", pem, "https://a.example"),
            "must be an RSA key",
        ),
    ];
    for (auth, text, words) in rows {
        let message = Credential::new(&auth, &secret(&text))
            .unwrap_err()
            .to_string();
        assert!(message.contains(words), "{message}");
        assert!(!message.contains("canary"), "{message}");
    }
}
