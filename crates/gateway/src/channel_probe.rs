//! Probes of our own: a credential that a call was refused with, that is paused, lacks a model or was not used for
//! long lists the upstream's models. That costs nothing and no customer's request is in it, so its answer counts for
//! all. Where the list does not tell that a paused or unused credential works, the smallest call does, a bounded
//! number of times a day.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use http::{Method, Uri};
use serde_json::{Value, json};
use tokio::sync::watch;
use trunkline_store::channels::{self, CredentialId};
use trunkline_upstream::{
    Addressing, AnswerClass, Ask, Deadlines, Outgoing, Protocol, Refusal, Task, UpstreamResponse,
};
use trunkline_wire::{Format, read_error};

use crate::channels::{AfterProbe, Channel, ChannelCredential, Probed, SOCIAL_FORMAT};
use crate::format_selection::provider_format;
use crate::sending::{headers, send_as};
use crate::services::Services;

/// How often it is looked whether a probe is due, at least.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Probes at once.
const AT_ONCE: usize = 8;
/// Longest wait for the answer to a probe.
const WAIT: Duration = Duration::from_secs(10);
const DEADLINES: Deadlines = Deadlines {
    first_byte: WAIT,
    idle: WAIT,
    total: WAIT,
};
/// Longest list of models that is read.
const MAX_LIST_BYTES: usize = 4_000_000;
/// Longest refusal that is read.
const MAX_ERROR_BYTES: usize = 65_536;

impl Services {
    /// Probes credentials that are due until it is told to stop.
    pub async fn run_channel_probes(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let mut pause = tokio::time::interval(LOOK_EVERY.min(self.settings.probes.every));
        pause.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = stop.changed() => return,
                _ = pause.tick() => self.probe_channels().await,
            }
        }
    }

    /// Probes the credentials that are due now.
    pub async fn probe_channels(&self) {
        let registry = self.channels.load_full();
        let (now, settings) = (self.now(), &self.settings.probes);
        let mut due = Vec::new();
        for channel in registry.channels() {
            let credentials = channel.credentials.iter();
            let waiting = credentials.filter(|credential| credential.is_probe_due(now, settings));
            due.extend(waiting.map(|credential| (Arc::clone(channel), credential.id)));
        }
        let probes = due
            .into_iter()
            .map(|(channel, id)| probe(self, channel, id));
        stream::iter(probes)
            .buffer_unordered(AT_ONCE)
            .for_each(|()| async {})
            .await;
    }
}

/// Probes one credential, and does what follows.
async fn probe(services: &Services, channel: Arc<Channel>, id: CredentialId) {
    let mut credentials = channel.credentials.iter();
    let Some(credential) = credentials.find(|credential| credential.id == id) else {
        return;
    };
    let mut found = list_models(services, &channel, credential).await;
    let settings = &services.settings.probes;
    if !matches!(found, Probed::Works(_)) && credential.takes_probe_call(services.now(), settings) {
        found = smallest_call(services, &channel, credential, found).await;
    }
    let now = services.now();
    let before = channel.absent_models(now);
    let after = credential.probed(&found, now, |model| {
        channel.upstream_model(model).to_owned()
    });
    let absent = channel.absent_models(now);
    for model in absent.iter().filter(|model| !before.contains(model)) {
        tracing::warn!(
            channel.name = channel.row.name,
            model,
            "model absent at an upstream: its list of models does not have it"
        );
    }
    match after {
        AfterProbe::Nothing => {}
        AfterProbe::Pause(status) => {
            let evidence = "a probe was refused";
            store_pause(services, &channel, credential, status, evidence);
        }
        AfterProbe::Resume => {
            tracing::info!(
                channel.name = channel.row.name,
                credential.label = credential.label,
                "credential resumed: a probe found it usable"
            );
            store_resume(services, credential);
        }
    }
}

/// Asks for the list of models. What a refusal of it is about is said by the rows of the provider: a key that
/// may not list models is no refused one.
async fn list_models(
    services: &Services,
    channel: &Channel,
    credential: &ChannelCredential,
) -> Probed {
    let path = channel.provider.models_path();
    let path = path.filter(|_| !channel.speaks(SOCIAL_FORMAT));
    let uri = path.and_then(|path| format!("{}{path}", channel.base).parse::<Uri>().ok());
    let Some(uri) = uri else {
        return Probed::Unclear;
    };
    let call = Outgoing {
        method: Method::GET,
        uri,
        headers: headers(channel, Format::OpenaiChat, false),
        body: Bytes::new().into(),
        deadlines: DEADLINES,
        proxy: channel.proxy.as_ref(),
        protocol: Protocol::Http1,
    };
    let Ok(mut answer) = send_as(services, call, credential).await else {
        return Probed::Unclear;
    };
    match answer.status.as_u16() {
        200..=299 => {
            let body = answer.whole(MAX_LIST_BYTES).await.unwrap_or_default();
            // Azure lists what could be deployed, and a channel's models are deployments.
            let is_plain = channel.provider.addressing == Addressing::Plain;
            Probed::Works(listed(&body).filter(|_| is_plain))
        }
        status @ 400..=499 => match refusal_class(channel, &mut answer).await {
            AnswerClass::Credential => Probed::Refused(status),
            AnswerClass::Request
            | AnswerClass::Quota
            | AnswerClass::ModelAbsent
            | AnswerClass::RateLimited
            | AnswerClass::Overloaded
            | AnswerClass::Failed => Probed::Unclear,
        },
        _ => Probed::Unclear,
    }
}

/// What a refusal is about, by the rows of the provider.
async fn refusal_class(channel: &Channel, answer: &mut UpstreamResponse) -> AnswerClass {
    let body = answer.whole(MAX_ERROR_BYTES).await.unwrap_or_default();
    let error = read_error(&body);
    channel.provider.answer_class(Refusal {
        status: answer.status.as_u16(),
        codes: [error.code.as_deref(), error.kind.as_deref()],
        headers: &answer.headers,
    })
}

/// Asks for one token of an answer. A key that is told what is wrong with the request is a good key. `listed` is
/// what the list told, where no such call can be made.
async fn smallest_call(
    services: &Services,
    channel: &Channel,
    credential: &ChannelCredential,
    listed: Probed,
) -> Probed {
    let formats = [Format::OpenaiChat, Format::ClaudeMessages];
    let mut formats = formats.into_iter();
    let spoken = formats.find(|format| channel.provider.speaks(provider_format(*format)));
    let model = channel.row.models.values().next();
    let (Some(format), Some(model)) = (spoken, model) else {
        return listed;
    };
    let ask = Ask {
        format: provider_format(format),
        task: Task::Generate,
        model,
        stream: false,
        id: None,
    };
    let Ok(uri) = channel.provider.address(&channel.base, &ask) else {
        return listed;
    };
    let message = json!({ "role": "user", "content": "1" });
    let body = json!({ "model": model, "messages": [message], "max_tokens": 1 });
    let call = Outgoing {
        method: Method::POST,
        uri,
        headers: headers(channel, format, false),
        body: Bytes::from(body.to_string()).into(),
        deadlines: DEADLINES,
        proxy: channel.proxy.as_ref(),
        protocol: Protocol::Http1,
    };
    let Ok(mut answer) = send_as(services, call, credential).await else {
        return Probed::Unclear;
    };
    match answer.status.as_u16() {
        200..=299 => Probed::Works(None),
        status @ 400..=499 => match refusal_class(channel, &mut answer).await {
            AnswerClass::Credential => Probed::CallRefused(status),
            AnswerClass::Request | AnswerClass::ModelAbsent => Probed::Works(None),
            AnswerClass::Quota
            | AnswerClass::RateLimited
            | AnswerClass::Overloaded
            | AnswerClass::Failed => Probed::Unclear,
        },
        _ => Probed::Unclear,
    }
}

/// The ids of a whole list of models in OpenAI's form; none for another form, or a part of a list.
fn listed(body: &[u8]) -> Option<BTreeSet<String>> {
    let value: Value = serde_json::from_slice(body).ok()?;
    if value.get("has_more").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    let list = value.get("data")?.as_array()?;
    let id = |model: &Value| model.get("id")?.as_str().map(str::to_owned);
    let names: BTreeSet<String> = list.iter().filter_map(id).collect();
    (!names.is_empty()).then_some(names)
}

/// Uses a credential no more, here and on other nodes, until a probe or an operator resumes it.
pub(crate) fn store_pause(
    services: &Services,
    channel: &Channel,
    credential: &ChannelCredential,
    status: u16,
    evidence: &'static str,
) {
    if !credential.pause(services.now()) {
        return;
    }
    tracing::error!(
        channel.name = channel.row.name,
        credential.label = credential.label,
        status,
        evidence,
        "credential paused: the upstream rejected it"
    );
    let (data, id) = (services.data.clone(), credential.id);
    services.tasks.spawn(async move {
        let written = async {
            let mut tx = data.begin().await?;
            let reason = format!("the upstream answered {status}: {evidence}");
            let done = channels::pause(&mut tx, id, &reason).await;
            tx.finish(done).await
        };
        if let Err(error) = written.await {
            tracing::warn!(%error, "credential pause could not be stored");
        }
    });
}

/// Other nodes may use it too.
fn store_resume(services: &Services, credential: &ChannelCredential) {
    let (data, id) = (services.data.clone(), credential.id);
    services.tasks.spawn(async move {
        let written = async {
            let mut tx = data.begin().await?;
            let done = channels::resume_credential(&mut tx, id).await;
            tx.finish(done).await
        };
        if let Err(error) = written.await {
            tracing::warn!(%error, "credential resumption could not be stored");
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_list_of_models_is_read_and_a_part_of_one_is_not() {
        let names = listed(br#"{"data":[{"id":"b"},{"id":"a"},{"x":1}]}"#).unwrap();
        assert_eq!(names, BTreeSet::from(["a".to_owned(), "b".to_owned()]));
        for body in [
            r#"{"data":[{"id":"b"}],"has_more":true}"#,
            r#"{"data":[]}"#,
            "<html>",
            "{}",
        ] {
            assert_eq!(listed(body.as_bytes()), None, "{body}");
        }
    }
}
