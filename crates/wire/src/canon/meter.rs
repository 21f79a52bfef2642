//! What a stream has used and written so far, whatever format it comes in.

use trunkline_types::{Bucket, Usage};

use super::answer::{Answer, Counted, Stop};
use super::block::What;
use super::collect::merge;
use super::event::{Event, Opening, Piece};
use crate::openai_chat::{Told, estimated_tokens, letters};

/// Letters of a model's name that are remembered.
const MAX_MODEL_CHARACTERS: usize = 128;
/// Answers whose end is remembered.
const MAX_STOPS: usize = 16;

/// Counts along a stream.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    counted: Option<Counted>,
    ascii: u64,
    wide: u64,
    stops: Vec<Stop>,
    model: String,
    id: String,
}

impl Meter {
    /// What a whole answer has written.
    #[must_use]
    pub fn of_answer(answer: &Answer) -> Self {
        let mut meter = Self::default();
        for block in answer.choices.iter().flat_map(|choice| &choice.blocks) {
            match &block.what {
                What::Text(text) => meter.count(&text.text),
                What::Refusal(text) => meter.count(text),
                What::Thinking(thinking) => thinking.texts.iter().for_each(|it| meter.count(it)),
                What::ToolCall(call) => {
                    meter.count(&call.tool.name);
                    meter.count(&call.arguments);
                }
                What::Media(_) | What::ToolResult(_) | What::Redacted(_) | What::Foreign(..) => {}
            }
        }
        meter
    }

    /// Takes one event in.
    pub fn see(&mut self, event: &Event) {
        match event {
            Event::Begin { id, model, .. } => {
                self.id.clone_from(id);
                self.model = model.chars().take(MAX_MODEL_CHARACTERS).collect();
            }
            Event::Grow(_, Piece::Text(text) | Piece::Arguments(text)) => self.count(text),
            Event::Open(_, Opening::ToolCall(call)) => {
                self.count(&call.tool.name);
                self.count(&call.arguments);
            }
            Event::Counted(counted) => merge(&mut self.counted, counted),
            Event::Stop(_, stop) if self.stops.len() < MAX_STOPS => self.stops.push(stop.clone()),
            Event::Open(..)
            | Event::Grow(..)
            | Event::Close(_)
            | Event::Stop(..)
            | Event::Failed(_)
            | Event::Ping => {}
        }
    }

    fn count(&mut self, text: &str) {
        let (ascii, wide) = letters(text);
        let more =
            |sum: u64, count: usize| sum.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        self.ascii = more(self.ascii, ascii);
        self.wide = more(self.wide, wide);
    }

    /// The model that the upstream says it is; empty if it does not.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The upstream's id of the answer; empty if it gives none.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Why each answer ended.
    #[must_use]
    pub fn stops(&self) -> &[Stop] {
        &self.stops
    }

    /// What the answer says about itself, for traces.
    #[must_use]
    pub fn about(&self) -> Told {
        Told {
            model: self.model.clone(),
            finishes: self.stops.iter().map(Stop::word).collect(),
        }
    }

    /// What the upstream told, if it told of input and output.
    #[must_use]
    pub fn told(&self) -> Option<&Counted> {
        let told = |usage: &Usage| {
            usage.told(Bucket::PlainInput).is_some() && usage.told(Bucket::PlainOutput).is_some()
        };
        self.counted.as_ref().filter(|counted| told(&counted.usage))
    }

    /// Input tokens, where the upstream told them.
    #[must_use]
    pub fn told_input(&self) -> Option<u64> {
        let counted = self.counted.as_ref()?;
        counted.usage.told(Bucket::PlainInput)?;
        Some(counted.input())
    }

    /// Output tokens counted by us.
    #[must_use]
    pub const fn written(&self) -> u64 {
        estimated_tokens(self.ascii, self.wide)
    }
}
