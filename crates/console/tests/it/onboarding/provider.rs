//! A provider of OpenID Connect: discovery, keys and tokens over HTTP, signed with a real key. Who stands
//! before it and consents is the test.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use trunkline_console::Provider as Settings;
use trunkline_db::SystemClock;
use trunkline_types::{Clock as _, Secret};

const CLIENT_ID: &str = "trunkline";
const CLIENT_SECRET: &str = "psst/+ canary";

/// What a person was redirected to the provider with.
#[derive(Debug, Clone)]
pub(crate) struct AuthorizationRequest {
    pub(crate) query: BTreeMap<String, String>,
}

struct Key {
    id: String,
    pair: EcdsaKeyPair,
}

struct Shared {
    issuer: String,
    keys: Mutex<Vec<Key>>,
    /// What a code is worth: the claims, and the way that it belongs to.
    codes: Mutex<HashMap<String, (Value, AuthorizationRequest)>>,
    is_away: Mutex<bool>,
}

/// A provider. Dropping it ends it.
pub(crate) struct Provider {
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

impl Provider {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            issuer,
            keys: Mutex::new(vec![key("one")]),
            codes: Mutex::default(),
            is_away: Mutex::new(false),
        });
        let mut tasks = JoinSet::new();
        let serving = Arc::clone(&shared);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&serving);
                let service = service_fn(move |request: http::Request<Incoming>| {
                    let shared = Arc::clone(&shared);
                    async move { Ok::<_, std::convert::Infallible>(shared.answer(request).await) }
                });
                connections.spawn(async move {
                    let builder = auto::Builder::new(TokioExecutor::new());
                    drop(
                        builder
                            .serve_connection(TokioIo::new(stream), service)
                            .await,
                    );
                });
            }
        });
        Self {
            shared,
            _tasks: tasks,
        }
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            id: "work".to_owned(),
            name: "Work".to_owned(),
            issuer: self.shared.issuer.clone(),
            client_id: CLIENT_ID.to_owned(),
            client_secret: Secret::new(CLIENT_SECRET.to_owned()),
            scopes: vec!["email".to_owned(), "profile".to_owned()],
            allowed_domains: Vec::new(),
            makes_people: false,
        }
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.shared.issuer
    }

    /// The provider's claims about a person, unless the test changes it.
    pub(crate) fn claims(
        &self,
        authorization: &AuthorizationRequest,
        subject: &str,
        email: &str,
    ) -> Value {
        let now = SystemClock.now().seconds();
        json!({
            "iss": self.shared.issuer,
            "sub": subject,
            "aud": CLIENT_ID,
            "exp": now + 300,
            "iat": now,
            "auth_time": now,
            "nonce": authorization.query["nonce"],
            "email": email,
            "email_verified": true,
            "name": "Ada Lovelace",
        })
    }

    /// Lets a person through: the address of the console to come back to.
    pub(crate) fn consent(&self, authorization: &AuthorizationRequest, claims: Value) -> String {
        let code = format!("code-{}", self.shared.codes.lock().unwrap().len());
        let mut codes = self.shared.codes.lock().unwrap();
        codes.insert(code.clone(), (claims, authorization.clone()));
        let state = &authorization.query["state"];
        format!("/api/oidc/work/callback?code={code}&state={state}&session_state=x")
    }

    /// Signs with another key from now on, and publishes no other.
    pub(crate) fn change_key(&self) {
        *self.shared.keys.lock().unwrap() = vec![key("two")];
    }

    pub(crate) fn go_away(&self) {
        *self.shared.is_away.lock().unwrap() = true;
    }
}

impl AuthorizationRequest {
    /// Reads where the console redirects a person.
    pub(crate) fn of(location: &str) -> Self {
        let url = url::Url::parse(location).unwrap();
        assert_eq!(url.path(), "/authorize", "{location}");
        let pairs = url.query_pairs();
        Self {
            query: pairs
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect(),
        }
    }
}

impl Shared {
    async fn answer(&self, request: http::Request<Incoming>) -> http::Response<axum::body::Body> {
        let (head, body) = request.into_parts();
        let body = axum::body::to_bytes(axum::body::Body::new(body), 100_000)
            .await
            .unwrap();
        let (status, value) = if *self.is_away.lock().unwrap() {
            (500, json!({ "error": "server_error" }))
        } else {
            match head.uri.path() {
                "/.well-known/openid-configuration" => (200, self.configuration()),
                "/jwks" => (200, self.jwks()),
                "/token" => self.token(&head.headers, &body),
                _ => (404, json!({})),
            }
        };
        http::Response::builder()
            .status(status)
            .header("content-type", "application/json")
            .body(axum::body::Body::from(value.to_string()))
            .unwrap()
    }

    fn configuration(&self) -> Value {
        let issuer = &self.issuer;
        json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "jwks_uri": format!("{issuer}/jwks"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256", "none", "HS256"],
        })
    }

    fn jwks(&self) -> Value {
        let keys = self.keys.lock().unwrap();
        let keys: Vec<Value> = keys
            .iter()
            .map(|key| {
                let public = key.pair.public_key().as_ref();
                json!({
                    "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": key.id,
                    "x": URL_SAFE_NO_PAD.encode(&public[1..33]),
                    "y": URL_SAFE_NO_PAD.encode(&public[33..65]),
                })
            })
            .collect();
        json!({ "keys": keys })
    }

    fn token(&self, headers: &http::HeaderMap, body: &Bytes) -> (u16, Value) {
        let form: BTreeMap<String, String> = url::form_urlencoded::parse(body)
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        let login = headers.get("authorization").unwrap().to_str().unwrap();
        let login = STANDARD
            .decode(login.strip_prefix("Basic ").unwrap())
            .unwrap();
        let login = String::from_utf8(login).unwrap();
        let encode =
            |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        assert_eq!(
            login,
            format!("{}:{}", encode(CLIENT_ID), encode(CLIENT_SECRET))
        );
        let refused = (400, json!({ "error": "invalid_grant" }));
        // Good once, as providers do it.
        let Some((claims, authorization)) = self.codes.lock().unwrap().remove(&form["code"]) else {
            return refused;
        };
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(form["code_verifier"].as_bytes()));
        let is_whole = authorization.query["code_challenge"] == challenge
            && authorization.query["code_challenge_method"] == "S256"
            && authorization.query["redirect_uri"] == form["redirect_uri"]
            && form["grant_type"] == "authorization_code";
        if !is_whole {
            return refused;
        }
        let token = match claims.get("unsigned") {
            Some(_) => unsigned(&claims),
            None => self.signed(&claims),
        };
        (
            200,
            json!({ "access_token": "a", "token_type": "Bearer", "id_token": token }),
        )
    }

    fn signed(&self, claims: &Value) -> String {
        let keys = self.keys.lock().unwrap();
        let key = &keys[0];
        let head = json!({ "alg": "ES256", "typ": "JWT", "kid": key.id });
        let text = format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(head.to_string()),
            URL_SAFE_NO_PAD.encode(claims.to_string())
        );
        let signature = key
            .pair
            .sign(&SystemRandom::new(), text.as_bytes())
            .unwrap();
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }
}

fn unsigned(claims: &Value) -> String {
    let head = json!({ "alg": "none", "typ": "JWT" });
    format!(
        "{}.{}.",
        URL_SAFE_NO_PAD.encode(head.to_string()),
        URL_SAFE_NO_PAD.encode(claims.to_string())
    )
}

fn key(id: &str) -> Key {
    Key {
        id: id.to_owned(),
        pair: EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap(),
    }
}
