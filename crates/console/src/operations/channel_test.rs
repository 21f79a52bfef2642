//! One harmless call with each credential of a channel. Of an answer only the status and the names of models are
//! told: the text of a refusal may quote the credential.

use std::collections::BTreeSet;
use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use serde_json::Value;
use trunkline_keyring::Keyring;
use trunkline_store::channels::{Channel, Credential};
use trunkline_types::Secret;
use trunkline_upstream::{Addressing, Auth, Client, Deadlines, Outgoing, Provider, Proxy};

use super::channel_secrets::{self, ChannelSecretError};

/// Longest list of models that is read.
const MAX_ANSWER_BYTES: usize = 4_000_000;
/// A person waits: longer than this is a failure too, whatever the provider is allowed.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What came back for one credential.
#[derive(Debug, Clone)]
pub struct TestedCredential {
    pub label: String,
    pub hint: String,
    pub status: Option<u16>,
    /// How many models were listed, if that could be read.
    pub models_listed: Option<usize>,
    /// The upstream's names of the channel's models that were not listed.
    pub models_missing: Vec<String>,
    pub problem: Option<String>,
}

/// Why a channel cannot be tested at all.
#[derive(Debug, thiserror::Error)]
pub enum ChannelTestError {
    #[error(transparent)]
    Secret(#[from] ChannelSecretError),
    #[error("{0} has no endpoint that lists models")]
    NoList(String),
    #[error("{0} is not a URL")]
    NotAUrl(String),
}

/// What is the same for all credentials of a channel.
struct Place<'a> {
    client: &'a Client,
    patience: Duration,
    channel: &'a Channel,
    provider: &'a Provider,
    uri: Uri,
    proxy: Option<Proxy>,
}

/// Tests the credentials of a channel, one after the other.
pub async fn test(
    client: &Client,
    keyring: &Keyring,
    provider: &Provider,
    channel: &Channel,
    patience: Duration,
) -> Result<Vec<TestedCredential>, ChannelTestError> {
    let place = Place {
        client,
        patience,
        uri: models_address(channel, provider)?,
        proxy: channel_secrets::open_proxy(keyring, channel)?,
        channel,
        provider,
    };
    let mut all = Vec::new();
    for credential in &channel.credentials {
        all.push(place.try_one(keyring, credential).await);
    }
    Ok(all)
}

/// Whether a provider's credentials can be tested: not those that are derived for each call.
#[must_use]
pub fn can_test(provider: &Provider) -> bool {
    let is_sent = matches!(provider.auth, Auth::Bearer | Auth::Header(_));
    is_sent && provider.models_path().is_some()
}

// === impl TestedCredential ===

impl TestedCredential {
    /// Whether it answers, and lists the channel's models where it lists any.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.problem.is_none() && self.models_missing.is_empty()
    }
}

// === impl Place ===

impl Place<'_> {
    async fn try_one(&self, keyring: &Keyring, credential: &Credential) -> TestedCredential {
        let mut found = TestedCredential {
            label: credential.label.clone(),
            hint: credential.hint.clone(),
            status: None,
            models_listed: None,
            models_missing: Vec::new(),
            problem: None,
        };
        if let Err(problem) = self.ask(keyring, credential, &mut found).await {
            found.problem = Some(problem);
        }
        found
    }

    async fn ask(
        &self,
        keyring: &Keyring,
        credential: &Credential,
        found: &mut TestedCredential,
    ) -> Result<(), String> {
        let secret = channel_secrets::open(keyring, self.channel, credential);
        let secret = secret.map_err(|error| error.to_string())?;
        let call = Outgoing {
            method: Method::GET,
            uri: self.uri.clone(),
            headers: self.headers(&secret)?,
            body: Bytes::new().into(),
            deadlines: Deadlines {
                first_byte: self.patient(self.provider.first_byte_ms),
                idle: self.patient(self.provider.idle_ms),
                total: self.patience,
            },
            proxy: self.proxy.as_ref(),
            protocol: self.provider.protocol(false),
        };
        let sent = self.client.send(call).await;
        let mut answer = sent.map_err(|error| with_causes(&error))?;
        found.status = Some(answer.status.as_u16());
        if !answer.status.is_success() {
            return Err(format!("the upstream returned {}", answer.status.as_u16()));
        }
        let body = answer.whole(MAX_ANSWER_BYTES).await;
        let body = body.map_err(|error| with_causes(&error))?;
        // Azure lists what could be deployed, and a channel's models are deployments.
        if self.provider.addressing == Addressing::Plain
            && let Some(names) = names_in(&body)
        {
            found.models_listed = Some(names.len());
            found.models_missing = missing(&names, self.channel);
        }
        Ok(())
    }

    fn headers(&self, secret: &Secret) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        let wrong = |what: &str| format!("{what} is not a header");
        for (name, value) in &self.channel.extra_headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            let value = HeaderValue::from_str(value);
            let (Ok(name), Ok(value)) = (name, value) else {
                return Err(wrong("an extra header"));
            };
            headers.insert(name, value);
        }
        let (name, text) = match &self.provider.auth {
            Auth::Bearer => (AUTHORIZATION, format!("Bearer {}", secret.reveal())),
            Auth::Header(name) => {
                let name = HeaderName::from_bytes(name.as_bytes());
                let name = name.map_err(|_| wrong("the provider's auth"))?;
                (name, secret.reveal().to_owned())
            }
            Auth::SigV4(_) | Auth::GoogleServiceAccount | Auth::KlingToken => {
                let text = "this kind of credential cannot be tested: it is derived for each call";
                return Err(text.to_owned());
            }
        };
        let value = HeaderValue::from_str(&text);
        let mut value = value.map_err(|_| wrong("the credential"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(headers)
    }

    fn patient(&self, ms: u64) -> Duration {
        Duration::from_millis(ms).min(self.patience)
    }
}

/// An error with what caused it, on one line.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text
}

fn models_address(channel: &Channel, provider: &Provider) -> Result<Uri, ChannelTestError> {
    let base = channel.base_url.as_ref().or(provider.base_url.as_ref());
    let base = base.ok_or_else(|| ChannelSecretError::NoAddress {
        provider: provider.name.clone(),
    })?;
    let list = provider.models_path();
    let list = list.ok_or_else(|| ChannelTestError::NoList(provider.name.clone()))?;
    let address = format!("{base}{list}").parse();
    address.map_err(|_| ChannelTestError::NotAUrl(base.clone()))
}

/// The ids of a list of models in the form of OpenAI, which the others have taken over.
fn names_in(body: &[u8]) -> Option<BTreeSet<String>> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let list = value.get("data")?.as_array()?;
    let id = |model: &Value| model.get("id")?.as_str().map(str::to_owned);
    Some(list.iter().filter_map(id).collect())
}

fn missing(listed: &BTreeSet<String>, channel: &Channel) -> Vec<String> {
    let required: BTreeSet<&String> = channel.models.values().collect();
    let absent = |name: &&String| !listed.contains(*name);
    required.into_iter().filter(absent).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_a_list_of_models_are_read_and_nothing_else() {
        let names = names_in(br#"{"data":[{"id":"b"},{"id":"a"},{"x":1}]}"#).unwrap();
        assert_eq!(names, BTreeSet::from(["a".to_owned(), "b".to_owned()]));
        assert_eq!(names_in(b"<html>"), None);
        assert_eq!(names_in(b"{}"), None);
    }
}
