//! Usage and output of a stream so far, in any format.

use trunkline_types::{Bucket, Usage};

use super::accumulate::merge;
use super::block::BlockKind;
use super::event::{BlockDelta, BlockStart, Event};
use super::response::{ReportedUsage, Response, Stop};
use crate::ResponseFacts;
use crate::token_estimate::TextCounter;

/// Characters of a model's name that are remembered.
const MAX_MODEL_CHARACTERS: usize = 128;
/// Choices whose end is remembered.
const MAX_STOPS: usize = 16;

#[derive(Debug, Clone, Default)]
pub struct Meter {
    reported: Option<ReportedUsage>,
    text: TextCounter,
    stops: Vec<Stop>,
    model: String,
    id: String,
}

impl Meter {
    /// What a whole response has written.
    #[must_use]
    pub fn of_response(answer: &Response) -> Self {
        let mut meter = Self::default();
        for block in answer.choices.iter().flat_map(|choice| &choice.blocks) {
            match &block.kind {
                BlockKind::Text(text) => meter.text.add(&text.text),
                BlockKind::Refusal(text) => meter.text.add(text),
                BlockKind::Thinking(thinking) => {
                    thinking.texts.iter().for_each(|it| meter.text.add(it))
                }
                BlockKind::ToolCall(call) => {
                    meter.text.add(&call.tool.name);
                    meter.text.add(&call.arguments);
                }
                BlockKind::Media(_)
                | BlockKind::ToolResult(_)
                | BlockKind::Redacted(_)
                | BlockKind::Foreign(..) => {}
            }
        }
        meter
    }

    pub fn observe(&mut self, event: &Event) {
        match event {
            Event::Start { id, model, .. } => {
                self.id.clone_from(id);
                self.model = model.chars().take(MAX_MODEL_CHARACTERS).collect();
            }
            Event::BlockDelta(_, BlockDelta::Text(text) | BlockDelta::Arguments(text)) => {
                self.text.add(text)
            }
            Event::BlockStart(_, BlockStart::ToolCall(call)) => {
                self.text.add(&call.tool.name);
                self.text.add(&call.arguments);
            }
            Event::Usage(reported) => merge(&mut self.reported, reported),
            Event::Stop(_, stop) if self.stops.len() < MAX_STOPS => self.stops.push(stop.clone()),
            Event::BlockStart(..)
            | Event::BlockDelta(..)
            | Event::BlockEnd(_)
            | Event::Stop(..)
            | Event::Error(_)
            | Event::Ping => {}
        }
    }

    /// The model that the upstream says it is; empty if it does not.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The upstream's id of the response; empty if it gives none.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    #[must_use]
    pub fn stops(&self) -> &[Stop] {
        &self.stops
    }

    /// What the response says about itself, for traces.
    #[must_use]
    pub fn facts(&self) -> ResponseFacts {
        ResponseFacts {
            model: self.model.clone(),
            finishes: self.stops.iter().map(Stop::as_str).collect(),
        }
    }

    /// What the upstream reported, if it reported input and output.
    #[must_use]
    pub fn reported(&self) -> Option<&ReportedUsage> {
        let has_both = |usage: &Usage| {
            usage.reported(Bucket::PlainInput).is_some()
                && usage.reported(Bucket::PlainOutput).is_some()
        };
        self.reported
            .as_ref()
            .filter(|reported| has_both(&reported.usage))
    }

    /// The input in its buckets, where the upstream reported it.
    #[must_use]
    pub fn reported_input(&self) -> Option<Usage> {
        let reported = self.reported.as_ref()?;
        reported.usage.reported(Bucket::PlainInput)?;
        Some(reported.input_usage())
    }

    /// Whether the upstream has said why it stopped.
    #[must_use]
    pub fn finished(&self) -> bool {
        !self.stops.is_empty()
    }

    /// Output tokens counted by us.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.text.tokens()
    }

    /// The same, in the caller's favour.
    #[must_use]
    pub const fn least_written(&self) -> u64 {
        self.text.least_tokens()
    }
}
