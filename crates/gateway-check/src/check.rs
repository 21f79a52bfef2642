//! The checks: a table of scenarios, and the single checks that they stand for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::format::Format;

/// Name and text of each file.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/checks.rs"));

/// One request, of one format, for one upstream, and what is expected of its answer.
#[derive(Debug, Clone)]
pub struct Check {
    /// Such as `tools/two-at-once/chat-messages/stream`.
    pub id: String,
    pub(crate) kind: Kind,
    pub(crate) about: String,
    /// What the client speaks.
    pub(crate) client: Format,
    /// What the upstream of the model speaks.
    pub(crate) upstream: Format,
    pub(crate) streamed: bool,
    pub(crate) scenario: Scenario,
}

/// What a check is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Charge,
    Stream,
    Tool,
    Thinking,
    Error,
    Failure,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    kind: Kind,
    /// Files with a higher number run later: what they do to an upstream lasts.
    #[serde(default)]
    phase: u8,
    check: Vec<Scenario>,
}

/// One entry of a file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    name: String,
    about: String,
    #[serde(default = "all_formats")]
    formats: Vec<Format>,
    #[serde(default)]
    upstreams: Upstreams,
    #[serde(default = "both_ways")]
    ways: Vec<Way>,
    /// The last thing that the user says; directives of the simulator stand in it.
    pub(crate) prompt: String,
    /// What was said before.
    #[serde(default)]
    pub(crate) history: Vec<Turn>,
    pub(crate) system: Option<String>,
    /// Names of the tools that the request offers.
    #[serde(default)]
    pub(crate) tools: Vec<String>,
    #[serde(default)]
    pub(crate) thinking: bool,
    pub(crate) max_tokens: Option<u32>,
    /// Further fields of the body, by format.
    #[serde(default)]
    pub(crate) fields: BTreeMap<Format, Map<String, Value>>,
    /// The caller's key is not one of the gateway's.
    #[serde(default)]
    pub(crate) wrong_key: bool,
    /// The model is not one of the gateway's.
    #[serde(default)]
    pub(crate) wrong_model: bool,
    /// The body is cut, so that it is no JSON.
    #[serde(default)]
    pub(crate) broken_body: bool,
    /// The statuses that are right; 200 if left out.
    #[serde(default = "success")]
    pub(crate) status: Vec<u16>,
    pub(crate) expect: Vec<Expectation>,
    /// What is expected of streams besides.
    #[serde(default)]
    pub(crate) expect_streamed: Vec<Expectation>,
    /// Whether a good call follows until one is served, so that the next check meets a gateway that trusts its
    /// upstream. Without effect where there is no fault.
    #[serde(default = "always")]
    pub(crate) recovers: bool,
}

/// What was said before the prompt.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Turn {
    User(String),
    Assistant(String),
    /// The model called `get_weather` for this city.
    Call(String),
    /// What the tool answered.
    Result(String),
}

/// Which upstreams a client's format is checked with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Upstreams {
    /// That of the same format.
    #[default]
    Same,
    All,
    /// Those of the other formats.
    Crossed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Way {
    Whole,
    Stream,
}

/// What an answer is held to. `docs/dev/gateway-check.md` has the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Expectation {
    /// The words of the reference.
    Text,
    /// Its thoughts, which there are.
    Thinking,
    /// Its calls of tools.
    Calls,
    /// Why it ended, in the format's word.
    Finish,
    /// The tokens that the upstream told.
    Usage,
    /// How many of them were read from a cache.
    Cached,
    /// How many of them were thoughts.
    Reasoning,
    /// Frames that can be read, one after another, to a proper end.
    Stream,
    /// No field of the reference is missing.
    Fields,
    /// No field of the request is missing at the upstream.
    Request,
    /// The price of the tokens that the upstream told.
    Charge,
    /// No more than the price of what the upstream has produced.
    ChargeAtMost,
    Free,
    /// An error as the format writes it.
    ErrorBody,
    /// A client can tell that the answer is not complete.
    Noticed,
    RetryAfter,
}

/// A file of checks that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("checks/{file}.toml: {error}")]
pub struct CheckError {
    file: &'static str,
    error: toml::de::Error,
}

/// Every check, in the order in which they run.
pub fn checks() -> Result<Vec<Check>, CheckError> {
    let mut files = Vec::new();
    for (name, text) in FILES {
        let read: Result<File, _> = toml::from_str(text);
        let read = read.map_err(|error| CheckError { file: name, error })?;
        files.push((*name, read));
    }
    files.sort_by_key(|(_, file)| file.phase);
    let mut checks = Vec::new();
    for (name, file) in files {
        for scenario in file.check {
            expand(name, file.kind, &scenario, &mut checks);
        }
    }
    Ok(checks)
}

fn expand(file: &str, kind: Kind, scenario: &Scenario, checks: &mut Vec<Check>) {
    for &client in &scenario.formats {
        for upstream in Format::ALL {
            let fits = match scenario.upstreams {
                Upstreams::Same => client == upstream,
                Upstreams::All => true,
                Upstreams::Crossed => client != upstream,
            };
            if !fits {
                continue;
            }
            for way in &scenario.ways {
                let (from, to) = (client.as_str(), upstream.as_str());
                checks.push(Check {
                    id: format!("{file}/{}/{from}-{to}/{}", scenario.name, way.as_str()),
                    kind,
                    about: scenario.about.clone(),
                    client,
                    upstream,
                    streamed: *way == Way::Stream,
                    scenario: scenario.clone(),
                });
            }
        }
    }
}

// === impl Check ===

impl Check {
    /// What is expected of this one: fields are compared where the gateway need not translate.
    pub(crate) fn expectations(&self) -> impl Iterator<Item = Expectation> {
        let own = self.scenario.expect.iter();
        let more = self
            .scenario
            .expect_streamed
            .iter()
            .filter(|_| self.streamed);
        let is_same = self.client == self.upstream;
        let all = own.chain(more).copied();
        all.filter(move |one| is_same || !matches!(one, Expectation::Fields | Expectation::Request))
    }

    /// Whether the upstream was made to fail.
    pub(crate) fn has_fault(&self) -> bool {
        self.scenario.prompt.contains("[[fault:")
    }
}

// === impl Scenario ===

impl Scenario {
    /// The same without anything that is asked of the simulator.
    pub(crate) fn plain(self) -> Self {
        Self {
            prompt: "Hello".to_owned(),
            history: Vec::new(),
            tools: Vec::new(),
            thinking: false,
            max_tokens: None,
            fields: BTreeMap::new(),
            broken_body: false,
            ..self
        }
    }
}

// === impl Expectation ===

impl Expectation {
    pub(crate) const fn is_about_money(self) -> bool {
        matches!(self, Self::Charge | Self::ChargeAtMost | Self::Free)
    }
}

// === impl Kind ===

impl Kind {
    pub(crate) const ALL: [Self; 6] = [
        Self::Charge,
        Self::Stream,
        Self::Tool,
        Self::Thinking,
        Self::Error,
        Self::Failure,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::Stream => "stream",
            Self::Tool => "tool",
            Self::Thinking => "thinking",
            Self::Error => "error",
            Self::Failure => "failure",
        }
    }
}

// === impl Way ===

impl Way {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Stream => "stream",
        }
    }
}

fn all_formats() -> Vec<Format> {
    Format::ALL.to_vec()
}

fn both_ways() -> Vec<Way> {
    vec![Way::Whole, Way::Stream]
}

fn success() -> Vec<u16> {
    vec![200]
}

const fn always() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn there_are_more_than_two_hundred_checks_of_every_kind_and_each_has_its_own_name() {
        let checks = checks().unwrap();
        let names: BTreeSet<&str> = checks.iter().map(|check| check.id.as_str()).collect();
        assert_eq!(names.len(), checks.len());
        assert!(checks.len() >= 200, "{}", checks.len());
        let kinds: BTreeSet<Kind> = checks.iter().map(|check| check.kind).collect();
        assert_eq!(kinds.len(), 6);
        for check in &checks {
            assert!(check.expectations().count() > 0, "{}", check.id);
        }
        let with_faults = checks.iter().filter(|check| check.has_fault()).count();
        assert!(
            (60..checks.len() - 60).contains(&with_faults),
            "{with_faults}"
        );
    }
}
