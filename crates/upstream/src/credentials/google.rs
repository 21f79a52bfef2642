//! A Google service account: a signed assertion is exchanged for an access token, which is cached until shortly
//! before it expires. One exchange at a time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Uri};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde::Deserialize;
use serde_json::json;
use trunkline_types::{Secret, Timestamp};

use super::OpenError;
use crate::client::{Client, Deadlines, Outgoing, Protocol, SendError};

/// A token is not used in its last minutes: the call may reach the upstream late.
const LAST_SECONDS: i64 = 300;
/// How long an assertion counts; the most that Google takes.
const ASSERTION_SECONDS: i64 = 3_600;
/// A token with a longer lifetime is refreshed after a day.
const MAX_TOKEN_SECONDS: i64 = 86_400;
const EXCHANGE_WAIT: Duration = Duration::from_secs(10);
const MAX_ANSWER_BYTES: usize = 65_536;
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const GRANT: &str = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer";
/// OAuth error codes that are reported (RFC 6749, 5.2).
const REFUSALS: [&str; 6] = [
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
];

pub(super) struct ServiceAccount {
    email: String,
    key_id: String,
    key: KeyPair,
    token_uri: Uri,
    /// The file and the key in it, as it is and as JSON writes it.
    secrets: Vec<Secret>,
    kept: Mutex<Kept>,
    /// Exchanges that have ended, well or not.
    exchanges: AtomicU64,
    /// Held during an exchange; how the last one ended.
    exchanging: tokio::sync::Mutex<Option<SendError>>,
}

#[derive(Default)]
struct Kept {
    token: Option<(Secret, Timestamp)>,
    /// Still counts at Google, so it is still a secret.
    before: Option<Secret>,
}

/// The file, as far as it is read.
#[derive(Deserialize)]
struct File {
    #[serde(rename = "type")]
    kind: String,
    client_email: String,
    #[serde(default)]
    private_key_id: String,
    private_key: Secret,
    token_uri: String,
}

#[derive(Deserialize)]
struct Given {
    access_token: Secret,
    expires_in: i64,
}

#[derive(Deserialize)]
struct Refused {
    error: String,
}

// === impl ServiceAccount ===

impl ServiceAccount {
    pub(super) fn read(secret: &Secret) -> Result<Self, OpenError> {
        let wrong = OpenError::NotGoogle;
        // serde's message quotes the file.
        let file: File = serde_json::from_str(secret.reveal()).map_err(|_| {
            wrong("it must be JSON with type, client_email, private_key and token_uri")
        })?;
        if file.kind != "service_account" {
            return Err(wrong("its type must be \"service_account\""));
        }
        let pem = file.private_key.reveal();
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes());
        let der = der.map_err(|_| wrong("its private_key must be a PKCS #8 key in PEM"))?;
        let key = KeyPair::from_pkcs8(der.secret_pkcs8_der());
        let key = key.map_err(|_| wrong("its private_key must be an RSA key"))?;
        let token_uri: Option<Uri> = file.token_uri.parse().ok().filter(is_safe);
        let token_uri = token_uri.ok_or(wrong("its token_uri must be an https:// address"))?;
        let escaped = serde_json::to_string(pem).unwrap_or_default();
        let mut secrets = vec![
            secret.clone(),
            file.private_key.clone(),
            Secret::new(escaped.trim_matches('"').to_owned()),
        ];
        // A message rarely repeats a key as a whole; its lines are secrets too.
        let lines = pem.lines().filter(|line| !line.starts_with("-----"));
        let lines = lines.map(str::trim).filter(|line| line.len() >= 16);
        secrets.extend(lines.map(|line| Secret::new(line.to_owned())));
        Ok(Self {
            email: file.client_email,
            key_id: file.private_key_id,
            key,
            token_uri,
            secrets,
            kept: Mutex::default(),
            exchanges: AtomicU64::new(0),
            exchanging: tokio::sync::Mutex::default(),
        })
    }

    pub(super) fn secrets(&self) -> Vec<Secret> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let tokens = kept.token.iter().map(|(token, _)| token);
        let tokens = tokens.chain(&kept.before).cloned();
        self.secrets.iter().cloned().chain(tokens).collect()
    }

    /// A token that counts, fetched if there is none.
    pub(super) async fn token(
        &self,
        client: &Client,
        call: &Outgoing<'_>,
        now: Timestamp,
    ) -> Result<Secret, SendError> {
        if let Some(token) = self.kept_until(now.plus_seconds(LAST_SECONDS)) {
            return Ok(token);
        }
        let fetched = self.fetched_by_one(client, call, now);
        match tokio::time::timeout(call.deadlines.first_byte, fetched).await {
            Ok(token) => token,
            Err(_) => Err(not_sent("no token came in time")),
        }
    }

    /// The cached token, if it is valid at that time.
    fn kept_until(&self, moment: Timestamp) -> Option<Secret> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let good = kept.token.as_ref().filter(|(_, ends)| moment < *ends);
        good.map(|(token, _)| token.clone())
    }

    /// Calls that wait for a running exchange share its result: a hundred waiting calls make one attempt and not a
    /// hundred in sequence.
    async fn fetched_by_one(
        &self,
        client: &Client,
        call: &Outgoing<'_>,
        now: Timestamp,
    ) -> Result<Secret, SendError> {
        let seen = self.exchanges.load(Ordering::Acquire);
        let mut last = self.exchanging.lock().await;
        // It may have come between the look before and the lock.
        if let Some(token) = self.kept_until(now.plus_seconds(LAST_SECONDS)) {
            return Ok(token);
        }
        if self.exchanges.load(Ordering::Acquire) != seen {
            if let Some(error) = &*last {
                return Err(error.clone());
            }
            // A token with a short lifetime is good enough for the calls that waited for it.
            if let Some(token) = self.kept_until(now) {
                return Ok(token);
            }
        }
        let ended = self.exchange(client, call, now).await;
        *last = ended.as_ref().err().cloned();
        self.exchanges.fetch_add(1, Ordering::Release);
        let (token, lives) = ended?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.before = kept.token.take().map(|(token, _)| token);
        kept.token = Some((token.clone(), now.plus_seconds(lives)));
        Ok(token)
    }

    async fn exchange(
        &self,
        client: &Client,
        call: &Outgoing<'_>,
        now: Timestamp,
    ) -> Result<(Secret, i64), SendError> {
        let assertion = self.assertion(now)?;
        let mut headers = HeaderMap::new();
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let wait = EXCHANGE_WAIT;
        let exchange = client.send(Outgoing {
            method: Method::POST,
            uri: self.token_uri.clone(),
            headers,
            // Its three parts are base64url with dots between: nothing that a form would encode.
            body: Bytes::from(format!("grant_type={GRANT}&assertion={assertion}")).into(),
            deadlines: Deadlines {
                first_byte: wait,
                idle: wait,
                total: wait,
            },
            proxy: call.proxy,
            protocol: Protocol::Http1,
        });
        // Whatever happened to it, the call itself was not sent.
        let mut answer = exchange
            .await
            .map_err(|error| not_sent(&error.to_string()))?;
        let body = answer.whole(MAX_ANSWER_BYTES).await;
        let body = body.map_err(|error| not_sent(&error.to_string()))?;
        if !answer.status.is_success() {
            let status = answer.status.as_u16();
            return Err(not_sent(&format!("status {status}, {}", word_in(&body))));
        }
        let given: Result<Given, _> = serde_json::from_slice(&body);
        let given = given.map_err(|_| not_sent("an answer without a token"))?;
        Ok((
            given.access_token,
            given.expires_in.clamp(0, MAX_TOKEN_SECONDS),
        ))
    }

    /// The JWT assertion of RFC 7523 (issuer, scope, audience, expiry), signed with RS256.
    fn assertion(&self, now: Timestamp) -> Result<String, SendError> {
        let issued = now.seconds();
        let head = json!({ "alg": "RS256", "typ": "JWT", "kid": self.key_id });
        let claims = json!({
            "iss": self.email,
            "scope": SCOPE,
            "aud": self.token_uri.to_string(),
            "iat": issued,
            "exp": issued.saturating_add(ASSERTION_SECONDS),
        });
        let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&head), part(&claims));
        let mut signature = vec![0; self.key.public_modulus_len()];
        let random = SystemRandom::new();
        self.key
            .sign(
                &RSA_PKCS1_SHA256,
                &random,
                signed.as_bytes(),
                &mut signature,
            )
            .map_err(|_| not_sent("the assertion cannot be signed"))?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

fn not_sent(words: &str) -> SendError {
    SendError::NotSent(format!("the service account got no token: {words}"))
}

/// The OAuth error code, if it is a known one: other text may quote the request.
fn word_in(body: &[u8]) -> &'static str {
    let refused: Option<Refused> = serde_json::from_slice(body).ok();
    let code = refused.map(|refused| refused.error).unwrap_or_default();
    let known = REFUSALS.into_iter().find(|word| *word == code);
    known.unwrap_or("without a known reason")
}

/// The assertion opens the account, so it goes out in TLS, or stays on this machine.
fn is_safe(uri: &Uri) -> bool {
    let Some(host) = uri.host().filter(|host| !host.is_empty()) else {
        return false;
    };
    let is_local = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    uri.scheme_str() == Some("https") || (uri.scheme_str() == Some("http") && is_local)
}
