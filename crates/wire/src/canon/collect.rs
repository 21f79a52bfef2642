//! From a stream to the whole answer it tells.

use std::collections::BTreeMap;

use super::answer::{Answer, Choice, Counted, Stop};
use super::block::{Block, Redacted, Text, Thinking, What};
use super::event::{At, Event, Opening, Piece};

/// Choices and blocks of one answer at most; what is beyond is not kept.
const MAX_BLOCKS: usize = 10_000;

/// An answer under way.
#[derive(Debug, Clone, Default)]
pub struct Collected {
    answer: Answer,
    blocks: BTreeMap<At, Block>,
    stops: BTreeMap<u32, Stop>,
}

impl Collected {
    /// Takes one event in.
    pub fn see(&mut self, event: &Event) {
        match event {
            Event::Begin { id, model, created } => {
                self.answer.id.clone_from(id);
                self.answer.model.clone_from(model);
                self.answer.created = *created;
            }
            Event::Open(at, opening) if self.blocks.len() < MAX_BLOCKS => {
                self.blocks.insert(*at, opened(opening));
            }
            Event::Grow(at, piece) => {
                if let Some(block) = self.blocks.get_mut(at) {
                    grow(block, piece);
                }
            }
            Event::Counted(counted) => merge(&mut self.answer.counted, counted),
            Event::Stop(choice, stop) => {
                self.stops.insert(*choice, stop.clone());
            }
            Event::Open(..) | Event::Close(_) | Event::Failed(_) | Event::Ping => {}
        }
    }

    /// The answer as far as it was told.
    #[must_use]
    pub fn answer(mut self) -> Answer {
        let mut choices: BTreeMap<u32, Choice> = BTreeMap::new();
        let empty = || Choice {
            blocks: Vec::new(),
            stop: Stop::End,
        };
        for (at, block) in self.blocks {
            let choice = choices.entry(at.choice).or_insert_with(empty);
            choice.blocks.push(block);
        }
        for (number, stop) in self.stops {
            choices.entry(number).or_insert_with(empty).stop = stop;
        }
        self.answer.choices = choices.into_values().collect();
        self.answer
    }
}

/// Takes over what a later count tells.
pub(super) fn merge(known: &mut Option<Counted>, later: &Counted) {
    let merged = known.get_or_insert_with(Counted::default);
    merged.usage.tell(&later.usage);
    merged.reasoning = later.reasoning.or(merged.reasoning);
}

fn opened(opening: &Opening) -> Block {
    match opening {
        Opening::Text => Block::text(""),
        Opening::Thinking(item, summary) => Block::of(What::Thinking(Thinking {
            item: item.clone(),
            texts: Vec::new(),
            summary: *summary,
        })),
        Opening::Redacted(item, seal) => Block {
            signature: Some(seal.clone()),
            ..Block::of(What::Redacted(Redacted { item: item.clone() }))
        },
        Opening::ToolCall(call) => Block::of(What::ToolCall(call.clone())),
        Opening::Refusal => Block::of(What::Refusal(String::new())),
        Opening::Media(media) => Block::of(What::Media(media.clone())),
        Opening::Foreign(format, raw) => Block::of(What::Foreign(*format, raw.clone())),
    }
}

fn grow(block: &mut Block, piece: &Piece) {
    match (piece, &mut block.what) {
        (Piece::Signature(seal), _) => block.signature = Some(seal.clone()),
        (Piece::Text(more), What::Text(Text { text, .. }) | What::Refusal(text)) => {
            text.push_str(more);
        }
        (Piece::Text(more), What::Thinking(thinking)) => match thinking.texts.last_mut() {
            Some(last) => last.push_str(more),
            None => thinking.texts.push(more.clone()),
        },
        (Piece::NextPart, What::Thinking(thinking)) => thinking.texts.push(String::new()),
        (Piece::Arguments(more), What::ToolCall(call)) => call.arguments.push_str(more),
        (Piece::Citation(format, raw), What::Text(text)) => {
            text.citations.push((*format, raw.clone()));
        }
        // A piece that does not fit its block says nothing.
        (
            Piece::Text(_) | Piece::NextPart | Piece::Arguments(_) | Piece::Citation(..),
            What::Text(_)
            | What::Media(_)
            | What::ToolCall(_)
            | What::ToolResult(_)
            | What::Thinking(_)
            | What::Redacted(_)
            | What::Refusal(_)
            | What::Foreign(..),
        ) => {}
    }
}
