//! Providers of OpenID Connect: where people are sent, and what the provider says of who comes back. What
//! providers publish is kept for a while; a signature by a key that is not among it has it fetched anew.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use openidconnect::core::{
    CoreAuthPrompt, CoreAuthenticationFlow, CoreClient, CoreErrorResponseType, CoreIdToken,
    CoreIdTokenClaims, CoreJwsSigningAlgorithm, CoreProviderMetadata,
};
use openidconnect::{
    AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret, CsrfToken, HttpRequest,
    HttpResponse, IssuerUrl, Nonce, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl,
    RequestTokenError, Scope, StandardErrorResponse, TokenResponse as _,
};
use tokio::sync::Mutex;
use tokio::time::Instant;
use trunkline_types::Secret;
use trunkline_upstream::{Client, Deadlines, Outgoing, Protocol};

use crate::settings::Provider;

/// Longest answer of a provider.
const MAX_ANSWER_BYTES: usize = 1 << 20;
/// How long one question to a provider may take; a page waits for two or three of them.
const WAIT: Deadlines = Deadlines {
    first_byte: Duration::from_secs(3),
    idle: Duration::from_secs(2),
    total: Duration::from_secs(3),
};
/// How long what a provider publishes is believed.
const BELIEVED: Duration = Duration::from_secs(3_600);
/// What is younger is not fetched anew for a key that is not among it.
const YOUNG: Duration = Duration::from_secs(60);
/// Asymmetric signatures only. Never `none`, and never one made with our own secret.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// All providers. Clones share what they know.
#[derive(Clone)]
pub(crate) struct Providers {
    all: Arc<[Known]>,
    client: Client,
}

struct Known {
    settings: Provider,
    published: Mutex<Option<Published>>,
}

#[derive(Clone)]
struct Published {
    at: Instant,
    metadata: Arc<CoreProviderMetadata>,
}

/// A way to a provider.
pub(crate) struct AuthorizationRequest<'a> {
    /// Where it leads back to.
    pub(crate) callback: &'a str,
    /// What comes back with the answer.
    pub(crate) state: &'a str,
    /// What the answer must repeat.
    pub(crate) nonce: &'a str,
    /// What proves that who asks for the answer is who began.
    pub(crate) verifier: &'a Secret,
}

/// A verified identity from a provider.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) issuer: String,
    pub(crate) subject: String,
    /// The address, if the provider says that it is theirs.
    pub(crate) email: Option<String>,
    pub(crate) name: Option<String>,
    /// When they proved themselves to the provider, in seconds since the epoch.
    pub(crate) proved_at: Option<i64>,
}

/// Why a provider sign-in failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OidcError {
    /// The provider cannot be asked, or answers nonsense.
    Away,
    /// What it said does not hold.
    Refused,
}

/// Why a provider gave no answer.
#[derive(Debug, thiserror::Error)]
#[error("no response from the provider: {0}")]
struct NoResponse(String);

// === impl Providers ===

impl Providers {
    pub(crate) fn new(settings: &[Provider], client: Client) -> Self {
        let known = settings.iter().map(|settings| Known {
            settings: settings.clone(),
            published: Mutex::new(None),
        });
        Self {
            all: known.collect(),
            client,
        }
    }

    /// The settings of a provider.
    pub(crate) fn find(&self, id: &str) -> Option<&Provider> {
        self.known(id).map(|known| &known.settings)
    }

    fn known(&self, id: &str) -> Option<&Known> {
        self.all.iter().find(|known| known.settings.id == id)
    }

    /// Where to send user. `again` has the provider ask for a proof even if it knows them already.
    pub(crate) async fn address(
        &self,
        id: &str,
        way: &AuthorizationRequest<'_>,
        step_up: bool,
    ) -> Result<String, OidcError> {
        let known = self.known(id).ok_or(OidcError::Refused)?;
        let published = self.published(known, None).await?;
        let client = CoreClient::from_provider_metadata(
            (*published.metadata).clone(),
            ClientId::new(known.settings.client_id.clone()),
            None,
        )
        .set_redirect_uri(callback(way.callback)?);
        let verifier = PkceCodeVerifier::new(way.verifier.reveal().to_owned());
        let (state, nonce) = (way.state.to_owned(), way.nonce.to_owned());
        let mut request = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                || CsrfToken::new(state),
                || Nonce::new(nonce),
            )
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier));
        for scope in &known.settings.scopes {
            request = request.add_scope(Scope::new(scope.clone()));
        }
        if step_up {
            request = request
                .add_prompt(CoreAuthPrompt::Login)
                .set_max_age(Duration::ZERO);
        }
        let (url, _, _) = request.url();
        Ok(url.into())
    }

    /// Who came back with a code.
    pub(crate) async fn identity(
        &self,
        id: &str,
        way: &AuthorizationRequest<'_>,
        code: &str,
    ) -> Result<Identity, OidcError> {
        let known = self.known(id).ok_or(OidcError::Refused)?;
        let mut published = self.published(known, None).await?;
        let token = self.exchange(known, &published, way, code).await?;
        let nonce = Nonce::new(way.nonce.to_owned());
        let claims = match verified(&token, known, &published, &nonce) {
            // It may have been signed by a key that the provider has published since.
            Err(ClaimsVerificationError::SignatureVerification(_)) => {
                published = self.published(known, Some(published.at)).await?;
                verified(&token, known, &published, &nonce)
            }
            other => other,
        };
        let claims = claims.map_err(|error| {
            tracing::warn!(provider = id, %error, "provider ID token rejected");
            OidcError::Refused
        })?;
        let email = claims.email().map(|email| email.as_str().to_owned());
        let name = claims.name().and_then(|names| names.get(None));
        Ok(Identity {
            issuer: known.settings.issuer.clone(),
            subject: claims.subject().as_str().to_owned(),
            email: email.filter(|_| claims.email_verified() == Some(true)),
            name: name.map(|name| name.as_str().to_owned()),
            proved_at: claims.auth_time().map(|at| at.timestamp()),
        })
    }

    async fn exchange(
        &self,
        known: &Known,
        published: &Published,
        way: &AuthorizationRequest<'_>,
        code: &str,
    ) -> Result<CoreIdToken, OidcError> {
        let client = CoreClient::from_provider_metadata(
            (*published.metadata).clone(),
            ClientId::new(known.settings.client_id.clone()),
            Some(ClientSecret::new(
                known.settings.client_secret.reveal().to_owned(),
            )),
        )
        .set_redirect_uri(callback(way.callback)?);
        let exchange = client.exchange_code(AuthorizationCode::new(code.to_owned()));
        let exchange = exchange.map_err(|_| OidcError::Away)?;
        let verifier = PkceCodeVerifier::new(way.verifier.reveal().to_owned());
        let http = |request| call(self.client.clone(), request);
        let answered = exchange
            .set_pkce_verifier(verifier)
            .request_async(&http)
            .await;
        let answered = answered.map_err(|error| {
            // Its text may quote the answer, and with it a token.
            let is_refused = was_refused(&error);
            tracing::warn!(
                provider = known.settings.id,
                is_refused,
                "provider token request failed"
            );
            if is_refused {
                OidcError::Refused
            } else {
                OidcError::Away
            }
        })?;
        answered.id_token().cloned().ok_or(OidcError::Refused)
    }

    /// What a provider publishes; fetched anew if what is kept is old, or was fetched at `not`.
    async fn published(&self, known: &Known, not: Option<Instant>) -> Result<Published, OidcError> {
        let mut kept = known.published.lock().await;
        if let Some(published) = kept.as_ref() {
            let age = published.at.elapsed();
            let is_unwanted = not == Some(published.at) && age >= YOUNG;
            if age < BELIEVED && !is_unwanted {
                return Ok(published.clone());
            }
        }
        let issuer = IssuerUrl::new(known.settings.issuer.clone()).map_err(|_| OidcError::Away)?;
        let http = |request| call(self.client.clone(), request);
        let fetched = CoreProviderMetadata::discover_async(issuer, &http).await;
        let metadata = fetched.map_err(|error| {
            tracing::warn!(provider = known.settings.id, %error, "provider discovery failed");
            OidcError::Away
        })?;
        let published = Published {
            at: Instant::now(),
            metadata: Arc::new(metadata),
        };
        *kept = Some(published.clone());
        Ok(published)
    }
}

/// Whether a provider says that the code is not good. All else it may say is about us, or about itself.
fn was_refused<E: std::error::Error>(
    error: &RequestTokenError<E, StandardErrorResponse<CoreErrorResponseType>>,
) -> bool {
    match error {
        RequestTokenError::ServerResponse(response) => {
            *response.error() == CoreErrorResponseType::InvalidGrant
        }
        RequestTokenError::Request(_)
        | RequestTokenError::Parse(..)
        | RequestTokenError::Other(_) => false,
    }
}

fn callback(text: &str) -> Result<RedirectUrl, OidcError> {
    RedirectUrl::new(text.to_owned()).map_err(|_| OidcError::Away)
}

/// Signature, issuer, audience, time and nonce.
fn verified<'a>(
    token: &'a CoreIdToken,
    known: &Known,
    published: &Published,
    nonce: &Nonce,
) -> Result<&'a CoreIdTokenClaims, ClaimsVerificationError> {
    let client = CoreClient::from_provider_metadata(
        (*published.metadata).clone(),
        ClientId::new(known.settings.client_id.clone()),
        None,
    );
    let verifier = client.id_token_verifier().set_allowed_algs(ALGORITHMS);
    token.claims(&verifier, nonce)
}

/// One question to a provider: bounded in time and size, and never led elsewhere.
async fn call(client: Client, request: HttpRequest) -> Result<HttpResponse, NoResponse> {
    let (head, body) = request.into_parts();
    let mut headers = head.headers;
    if let Some(secret) = headers.get_mut(AUTHORIZATION) {
        secret.set_sensitive(true);
    }
    let outgoing = Outgoing {
        method: head.method,
        uri: head.uri,
        headers,
        body: Bytes::from(body).into(),
        deadlines: WAIT,
        proxy: None,
        protocol: Protocol::Http1,
    };
    let sent = client.send(outgoing).await;
    let mut answer = sent.map_err(|error| NoResponse(error.to_string()))?;
    let body = answer.whole(MAX_ANSWER_BYTES).await;
    let body = body.map_err(|error| NoResponse(error.to_string()))?;
    let mut response = HttpResponse::new(body.to_vec());
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    Ok(response)
}
