//! Six channels with three credentials each, and the twenty models that all of them serve.

use std::collections::BTreeMap;

use trunkline_keyring::{Binding, Purpose};
use trunkline_simulator::{Fault, Rule, Settings, Simulator};
use trunkline_store::channels::{self, NewChannel, NewCredential, credential_context};

use crate::faults::process_harness::{INPUT, OUTPUT, ProcessHarness, publish_text};

pub(super) const CHANNELS: usize = 6;
pub(super) const CREDENTIALS: usize = 3;
pub(super) const MODELS: usize = 20;
const PROVIDER: &str = "hasty";
/// Waits less than others for a first byte, so that a silent upstream is left soon.
const HASTY: &str = "name = \"hasty\"\nbase_url = \"\"\nauth = \"bearer\"\nformats = [\"openai_chat\"]\nquirks = []\n\
                     connect_ms = 1000\nfirst_byte_ms = 1500\nidle_ms = 10000\ntotal_ms = 60000\n";

pub(super) struct Upstreams {
    pub(super) simulators: Vec<Simulator>,
}

/// What is wrong with one upstream.
#[derive(Debug, Clone, Default)]
pub(super) struct Ailments {
    pub(super) broken: Option<Fault>,
    pub(super) slow: bool,
    pub(super) limited: [bool; CREDENTIALS],
}

pub(super) fn channel_name(channel: usize) -> String {
    format!("channel-{channel}")
}

pub(super) fn label(credential: usize) -> String {
    format!("key-{credential}")
}

pub(super) fn model(number: usize) -> String {
    format!("model-{number:02}")
}

/// The name of a model at its upstreams.
pub(super) fn theirs(number: usize) -> String {
    format!("sim-{number:02}")
}

/// Its last four characters tell it apart in the upstream's records.
pub(super) fn secret(channel: usize, credential: usize) -> String {
    format!("incident-credential-0123456789-c{channel}k{credential}")
}

/// The last four characters of a credential.
pub(super) fn mark(channel: usize, credential: usize) -> String {
    format!("c{channel}k{credential}")
}

impl Upstreams {
    pub(super) async fn start(harness: &ProcessHarness) -> Self {
        let folder = harness.folder.path().join("providers");
        std::fs::write(folder.join("hasty.toml"), HASTY).unwrap();
        let record = |number: usize| {
            let name = model(number);
            format!(
                "[models.{name}]\ngroups = [\"default\"]\n[models.{name}.prices]\n\
                 billing_unit = \"tokens\"\nstandard = {{ input = {INPUT}000, output = {OUTPUT}000 }}\n"
            )
        };
        let records: String = (0..MODELS).map(record).collect();
        publish_text(&harness.console, &records).await;
        let mut simulators = Vec::new();
        for channel in 0..CHANNELS {
            let settings = Settings {
                models: (0..MODELS).map(theirs).collect(),
                ..Settings::default()
            };
            let simulator = Simulator::start(settings).await.unwrap();
            add_channel(harness, channel, &simulator.base_url()).await;
            simulators.push(simulator);
        }
        Self { simulators }
    }

    /// Puts an upstream into a state. The first rule that fits a request counts.
    pub(super) fn set(&self, channel: usize, ailments: &Ailments) {
        let simulator = &self.simulators[channel];
        simulator.clear_plans();
        if let Some(fault) = ailments.broken {
            simulator.plan(rule(fault, None));
        }
        for (credential, is_limited) in ailments.limited.iter().enumerate() {
            if *is_limited {
                let limited = Fault::RateLimited {
                    retry_after_secs: 2,
                };
                simulator.plan(rule(limited, Some(secret(channel, credential))));
            }
        }
        if ailments.slow {
            simulator.plan(rule(Fault::SlowFirstByte { millis: 700 }, None));
        }
    }
}

fn rule(fault: Fault, key: Option<String>) -> Rule {
    Rule {
        fault,
        times: None,
        model: None,
        key,
        one_in: 1,
    }
}

async fn add_channel(harness: &ProcessHarness, channel: usize, base_url: &str) {
    let name = channel_name(channel);
    let labels: Vec<String> = (0..CREDENTIALS).map(label).collect();
    let sealed: Vec<Vec<u8>> = (0..CREDENTIALS)
        .map(|credential| {
            let context = credential_context(&name, &labels[credential]);
            let binding = Binding::of_operator(&context);
            let text = secret(channel, credential);
            let sealed = harness
                .keyring
                .seal(Purpose::Credentials, &binding, text.as_bytes());
            sealed.unwrap()
        })
        .collect();
    let credentials: Vec<NewCredential<'_>> = labels
        .iter()
        .zip(&sealed)
        .map(|(label, sealed)| NewCredential {
            label,
            sealed,
            hint: "…",
        })
        .collect();
    let models: BTreeMap<String, String> = (0..MODELS)
        .map(|number| (model(number), theirs(number)))
        .collect();
    let new = NewChannel {
        name: &name,
        provider: PROVIDER,
        base_url: Some(base_url),
        priority: 0,
        weight: 1,
        region: None,
        residency: None,
        zero_retention: false,
        models: &models,
        groups: &[],
        extra_headers: &BTreeMap::new(),
        proxy: None,
        requests_per_minute: None,
        concurrent_calls: None,
        cost: None,
        credentials: &credentials,
    };
    let mut tx = harness.console.begin().await.unwrap();
    let added = channels::add(&mut tx, &new).await;
    tx.finish(added).await.unwrap();
}
