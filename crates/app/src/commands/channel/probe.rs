//! `trunkline channel test`: one harmless call with each credential. Of an answer only the status and
//! the names of models are told: the text of a refusal may quote the credential.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use serde_json::{Value, json};
use trunkline_db::Database;
use trunkline_keyring::Keyring;
use trunkline_store::channels::{self, Channel, ChannelState, Credential};
use trunkline_types::Secret;
use trunkline_upstream::{Addressing, Auth, Client, Deadlines, Outgoing, Provider, Proxy};

use super::{credentials, known_provider, providers, unknown};
use crate::commands::keyring;
use crate::config::Config;
use crate::output::Output;
use crate::table;

/// Longest list of models that is read.
const MAX_ANSWER_BYTES: usize = 4_000_000;
/// A person waits: longer than this is a failure too, whatever the provider is allowed.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is the same for all credentials of a channel.
struct Place<'a> {
    client: Client,
    channel: &'a Channel,
    provider: &'a Provider,
    uri: Uri,
    proxy: Option<Proxy>,
}

/// What the test of a channel came to.
struct Tested {
    good: bool,
    text: String,
    object: Value,
}

/// What came back for one credential.
struct Found {
    label: String,
    hint: String,
    status: Option<u16>,
    /// The names that were listed, if that could be read.
    models: Option<BTreeSet<String>>,
    problem: Option<String>,
}

/// Tests one channel, or every active one.
pub(super) async fn run(
    config: &Config,
    database: &Database,
    name: Option<&str>,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let mut session = database.session().await?;
    let Some(name) = name else {
        let mut channels = channels::list(&mut session).await?;
        drop(session);
        channels.retain(|channel| channel.state == ChannelState::Active);
        return run_all(config, &channels, output).await;
    };
    let channel = channels::find(&mut session, name).await?;
    drop(session);
    let channel = channel.ok_or_else(|| unknown(name))?;
    let tested = test(config, &channel).await?;
    Ok(finish(output, tested.good, &tested.text, &tested.object))
}

async fn run_all(
    config: &Config,
    channels: &[Channel],
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let mut good = true;
    let (mut texts, mut objects) = (Vec::new(), Vec::new());
    for channel in channels {
        let tested = match test(config, channel).await {
            Ok(tested) => tested,
            // One that cannot be tested does not keep the others from it.
            Err(error) => Tested {
                good: false,
                text: format!("{error:#}"),
                object: json!({ "ok": false, "channel": channel.name, "problem": format!("{error:#}") }),
            },
        };
        good &= tested.good;
        texts.push(format!("{}\n{}", channel.name, tested.text));
        objects.push(tested.object);
    }
    let object = json!({ "ok": good, "channels": objects });
    Ok(finish(output, good, &texts.join("\n\n"), &object))
}

async fn test(config: &Config, channel: &Channel) -> anyhow::Result<Tested> {
    let providers = providers(config)?;
    let provider = known_provider(&providers, &channel.provider)?;
    let keyring = keyring::open(config)?;
    let place = Place {
        client: Client::with_roots(patient(provider.connect_ms), &config.extra_roots)?,
        uri: models_address(channel, provider)?,
        proxy: credentials::open_proxy(&keyring, channel)?,
        channel,
        provider,
    };
    let mut all = Vec::new();
    for credential in &channel.credentials {
        all.push(place.try_one(&keyring, credential).await);
    }
    let is_good = |found: &Found| found.problem.is_none() && missing(found, channel).is_empty();
    let good = all.iter().all(is_good);
    Ok(Tested {
        good,
        text: result_table(&all, channel),
        object: json!({
            "ok": good,
            "channel": channel.name,
            "credentials": all.iter().map(|found| result_json(found, channel)).collect::<Vec<Value>>(),
        }),
    })
}

fn finish(output: &Output, good: bool, text: &str, object: &Value) -> ExitCode {
    if good {
        output.success(text, object);
        return ExitCode::SUCCESS;
    }
    output.finding(text, object);
    ExitCode::FAILURE
}

// === impl Place ===

impl Place<'_> {
    async fn try_one(&self, keyring: &Keyring, credential: &Credential) -> Found {
        let mut found = Found {
            label: credential.label.clone(),
            hint: credential.hint.clone(),
            status: None,
            models: None,
            problem: None,
        };
        if let Err(error) = self.ask(keyring, credential, &mut found).await {
            found.problem = Some(format!("{error:#}"));
        }
        found
    }

    async fn ask(
        &self,
        keyring: &Keyring,
        credential: &Credential,
        found: &mut Found,
    ) -> anyhow::Result<()> {
        let secret = credentials::open(keyring, self.channel, credential)?;
        let call = Outgoing {
            method: Method::GET,
            uri: self.uri.clone(),
            headers: self.headers(&secret)?,
            body: Bytes::new().into(),
            deadlines: Deadlines {
                first_byte: patient(self.provider.first_byte_ms),
                idle: patient(self.provider.idle_ms),
                total: PATIENCE,
            },
            proxy: self.proxy.as_ref(),
            protocol: self.provider.protocol(false),
        };
        let mut answer = self.client.send(call).await?;
        found.status = Some(answer.status.as_u16());
        if !answer.status.is_success() {
            anyhow::bail!("the upstream returned {}", answer.status.as_u16());
        }
        let body = answer.whole(MAX_ANSWER_BYTES).await?;
        // Azure lists what could be deployed, and a channel's models are deployments.
        if self.provider.addressing == Addressing::Plain {
            found.models = names_in(&body);
        }
        Ok(())
    }

    fn headers(&self, secret: &Secret) -> anyhow::Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.channel.extra_headers {
            let name = HeaderName::from_bytes(name.as_bytes()).context("an extra header's name")?;
            let value = HeaderValue::from_str(value).context("an extra header's value")?;
            headers.insert(name, value);
        }
        let (name, text) = match &self.provider.auth {
            Auth::Bearer => (AUTHORIZATION, format!("Bearer {}", secret.reveal())),
            Auth::Header(name) => {
                let name = HeaderName::from_bytes(name.as_bytes()).context("the auth header")?;
                (name, secret.reveal().to_owned())
            }
            Auth::SigV4(_) | Auth::GoogleServiceAccount | Auth::KlingToken => {
                bail!("this kind of credential cannot be tested: it is derived for each call")
            }
        };
        let mut value = HeaderValue::from_str(&text).context("the credential as a header")?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(headers)
    }
}

fn patient(ms: u64) -> Duration {
    Duration::from_millis(ms).min(PATIENCE)
}

fn models_address(channel: &Channel, provider: &Provider) -> anyhow::Result<Uri> {
    let base = channel.base_url.as_ref().or(provider.base_url.as_ref());
    let base = base.with_context(|| {
        format!(
            "neither the channel nor provider {} has a base URL",
            provider.name
        )
    })?;
    let list = provider.models_path();
    let list =
        list.with_context(|| format!("{} has no endpoint that lists models", provider.name))?;
    let address = format!("{base}{list}").parse();
    address.with_context(|| format!("{base} is not a URL"))
}

/// The ids of a list of models in the form of OpenAI, which the others have taken over.
fn names_in(body: &[u8]) -> Option<BTreeSet<String>> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let list = value.get("data")?.as_array()?;
    let id = |model: &Value| model.get("id")?.as_str().map(str::to_owned);
    Some(list.iter().filter_map(id).collect())
}

/// The upstream names of the channel's models that were not listed.
fn missing<'a>(found: &Found, channel: &'a Channel) -> Vec<&'a str> {
    let Some(listed) = &found.models else {
        return Vec::new();
    };
    let required: BTreeSet<&str> = channel.models.values().map(String::as_str).collect();
    let absent = |name: &&str| !listed.contains(*name);
    required.into_iter().filter(absent).collect()
}

fn result_json(found: &Found, channel: &Channel) -> Value {
    json!({
        "label": found.label,
        "hint": found.hint,
        "ok": found.problem.is_none() && missing(found, channel).is_empty(),
        "status": found.status,
        "problem": found.problem,
        "models_listed": found.models.as_ref().map(BTreeSet::len),
        "models_missing": missing(found, channel),
    })
}

fn result_table(all: &[Found], channel: &Channel) -> String {
    let cells: Vec<Vec<String>> = all
        .iter()
        .map(|found| {
            let result = match (&found.problem, &found.models) {
                (Some(problem), _) => problem.clone(),
                (None, None) => "responds, without a list of models".to_owned(),
                (None, Some(listed)) => match missing(found, channel).as_slice() {
                    [] => format!("answers, {} models", listed.len()),
                    names => format!("responds, but does not list {}", names.join(", ")),
                },
            };
            vec![found.label.clone(), found.hint.clone(), result]
        })
        .collect();
    table::aligned(&["credential", "hint", "result"], &[], &cells)
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
