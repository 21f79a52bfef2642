//! Accumulates the events of a stream to a whole response.

use std::collections::BTreeMap;

use super::block::{Block, BlockKind, Redacted, Text, Thinking};
use super::event::{BlockDelta, BlockIndex, BlockStart, Event};
use super::response::{Choice, ReportedUsage, Response, Stop};

/// Choices and blocks of one response at most; what is beyond is not kept.
const MAX_BLOCKS: usize = 10_000;

#[derive(Debug, Clone, Default)]
pub struct Accumulator {
    answer: Response,
    blocks: BTreeMap<BlockIndex, Block>,
    stops: BTreeMap<u32, Stop>,
}

impl Accumulator {
    pub fn observe(&mut self, event: &Event) {
        match event {
            Event::Start { id, model, created } => {
                self.answer.id.clone_from(id);
                self.answer.model.clone_from(model);
                self.answer.created = *created;
            }
            Event::BlockStart(at, opening) if self.blocks.len() < MAX_BLOCKS => {
                self.blocks.insert(*at, opened(opening));
            }
            Event::BlockDelta(at, piece) => {
                if let Some(block) = self.blocks.get_mut(at) {
                    grow(block, piece);
                }
            }
            Event::Usage(reported) => merge(&mut self.answer.reported, reported),
            Event::Stop(choice, stop) => {
                self.stops.insert(*choice, stop.clone());
            }
            Event::BlockStart(..) | Event::BlockEnd(_) | Event::Error(_) | Event::Ping => {}
        }
    }

    /// The response as far as it was reported.
    #[must_use]
    pub fn answer(mut self) -> Response {
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

/// Takes over what a later count reports.
pub(super) fn merge(known: &mut Option<ReportedUsage>, later: &ReportedUsage) {
    let merged = known.get_or_insert_with(ReportedUsage::default);
    merged.usage.tell(&later.usage);
    merged.reasoning = later.reasoning.or(merged.reasoning);
}

fn opened(opening: &BlockStart) -> Block {
    match opening {
        BlockStart::Text => Block::text(""),
        BlockStart::Thinking(item, summary) => Block::of(BlockKind::Thinking(Thinking {
            item: item.clone(),
            texts: Vec::new(),
            summary: *summary,
        })),
        BlockStart::Redacted(item, signature) => Block {
            signature: Some(signature.clone()),
            ..Block::of(BlockKind::Redacted(Redacted { item: item.clone() }))
        },
        BlockStart::ToolCall(call) => Block::of(BlockKind::ToolCall(call.clone())),
        BlockStart::Refusal => Block::of(BlockKind::Refusal(String::new())),
        BlockStart::Media(media) => Block::of(BlockKind::Media(media.clone())),
        BlockStart::Foreign(format, raw) => Block::of(BlockKind::Foreign(*format, raw.clone())),
    }
}

fn grow(block: &mut Block, piece: &BlockDelta) {
    match (piece, &mut block.kind) {
        (BlockDelta::Signature(signature), _) => block.signature = Some(signature.clone()),
        (BlockDelta::Text(more), BlockKind::Text(Text { text, .. }) | BlockKind::Refusal(text)) => {
            text.push_str(more);
        }
        (BlockDelta::Text(more), BlockKind::Thinking(thinking)) => {
            match thinking.texts.last_mut() {
                Some(last) => last.push_str(more),
                None => thinking.texts.push(more.clone()),
            }
        }
        (BlockDelta::NextPart, BlockKind::Thinking(thinking)) => thinking.texts.push(String::new()),
        (BlockDelta::Arguments(more), BlockKind::ToolCall(call)) => call.arguments.push_str(more),
        (BlockDelta::Citation(format, raw), BlockKind::Text(text)) => {
            text.citations.push((*format, raw.clone()));
        }
        // A piece that does not fit its block says nothing.
        (
            BlockDelta::Text(_)
            | BlockDelta::NextPart
            | BlockDelta::Arguments(_)
            | BlockDelta::Citation(..),
            BlockKind::Text(_)
            | BlockKind::Media(_)
            | BlockKind::ToolCall(_)
            | BlockKind::ToolResult(_)
            | BlockKind::Thinking(_)
            | BlockKind::Redacted(_)
            | BlockKind::Refusal(_)
            | BlockKind::Foreign(..),
        ) => {}
    }
}
