//! Events, written as a stream of this format: one block after the other, each with its number. What
//! belongs to the end waits until the charge is durable.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use super::OWN;
use super::blocks_out::BETWEEN_PARTS;
use super::response_out::{call_out, signature_block};
use super::stream_end::{STOP_FRAME, end_frame, frame, start_frame, stop_block};
use crate::canonical::{
    BlockDelta, BlockIndex, BlockStart, Event, ReportedUsage, Signature, Stop, ToolCall,
    object_of_arguments,
};
use crate::{ResponseMeta, StreamEnd, cost_comment, put_number, put_text};

/// Bytes of blocks that wait for the one before them to close.
const MAX_WAITING_BYTES: usize = 8_000_000;
const MAX_WAITING: usize = 1_024;
/// A piece of a block, up to the block's number.
const DELTA_HEAD: &[u8] =
    b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":";

#[derive(Debug)]
pub struct Writer {
    meta: ResponseMeta,
    begun: bool,
    finished: bool,
    /// The number of the next block.
    next: u32,
    current: Option<Current>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    reported: ReportedUsage,
    stop: Option<Stop>,
}

/// The block that is written now.
#[derive(Debug)]
struct Current {
    at: BlockIndex,
    kind: Kind,
    /// Its number, once there is something in it.
    index: Option<u32>,
    /// A signature that this kind of block has no place for.
    signature: Option<Signature>,
}

#[derive(Debug)]
enum Kind {
    /// Words, of a response or a refusal.
    Text,
    Thinking,
    Call(ToolCall),
    /// A tool that takes plain text, which is held until they can be written as JSON.
    CustomCall(ToolCall),
    /// Whole already, or nothing this format has a word for.
    Whole(Option<Value>),
}

/// A block that began before the one before it ended.
#[derive(Debug)]
struct Waiting {
    at: BlockIndex,
    opening: BlockStart,
    pieces: Vec<BlockDelta>,
    closed: bool,
}

impl Writer {
    pub(crate) fn new(meta: ResponseMeta) -> Self {
        Self {
            meta,
            begun: false,
            finished: false,
            next: 0,
            current: None,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            reported: ReportedUsage::default(),
            stop: None,
        }
    }

    pub(crate) fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        if self.finished {
            return;
        }
        match event {
            Event::BlockStart(at, opening) if at.choice == 0 => self.open(*at, opening, out),
            Event::BlockDelta(at, piece) => self.grow(*at, piece, out),
            Event::BlockEnd(at) => self.close(*at, out),
            Event::Usage(reported) => {
                self.reported.usage.tell(&reported.usage);
                self.reported.reasoning = reported.reasoning.or(self.reported.reasoning);
            }
            Event::Stop(0, stop) => self.stop = Some(stop.clone()),
            Event::Ping => out.extend_from_slice(super::HEARTBEAT),
            // The beginning waits for the first block, so that it can tell what the input was. Only
            // one choice can be written. The relay writes its failure.
            Event::Start { .. } | Event::BlockStart(..) | Event::Stop(..) | Event::Error(_) => {}
        }
    }

    /// Writes the end, now that the charge is durable.
    pub(crate) fn finish(&mut self, stream_end: &StreamEnd, out: &mut Vec<u8>) {
        if self.finished {
            return;
        }
        self.begin(out);
        self.close_current(out);
        self.write_waiting(true, out);
        self.finished = true;
        let stop = if stream_end.exhausted {
            Stop::Length
        } else {
            self.stop.take().unwrap_or_default()
        };
        end_frame(&stop, stream_end, out);
        out.extend_from_slice(cost_comment(&stream_end.cost).as_bytes());
        out.extend_from_slice(STOP_FRAME);
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if !self.begun {
            self.begun = true;
            start_frame(&self.meta.id, &self.meta.model, &self.reported, out);
        }
    }

    fn open(&mut self, at: BlockIndex, opening: &BlockStart, out: &mut Vec<u8>) {
        self.begin(out);
        if self.current.is_none() {
            self.begin_block(at, opening, out);
            return;
        }
        if self.waiting.len() >= MAX_WAITING || self.waiting_bytes >= MAX_WAITING_BYTES {
            // No vendor opens so many at once; what is open ends here.
            self.close_current(out);
            self.write_waiting(true, out);
            self.begin_block(at, opening, out);
            return;
        }
        self.waiting.push_back(Waiting {
            at,
            opening: opening.clone(),
            pieces: Vec::new(),
            closed: false,
        });
    }

    fn grow(&mut self, at: BlockIndex, piece: &BlockDelta, out: &mut Vec<u8>) {
        if self
            .current
            .as_ref()
            .is_some_and(|current| current.at == at)
        {
            self.grow_current(piece, out);
            return;
        }
        let Some(waiting) = self.waiting.iter_mut().find(|one| one.at == at) else {
            return;
        };
        self.waiting_bytes = self.waiting_bytes.saturating_add(size_of(piece));
        waiting.pieces.push(piece.clone());
        if self.waiting_bytes > MAX_WAITING_BYTES {
            self.close_current(out);
            self.write_waiting(false, out);
        }
    }

    fn close(&mut self, at: BlockIndex, out: &mut Vec<u8>) {
        if self
            .current
            .as_ref()
            .is_some_and(|current| current.at == at)
        {
            self.close_current(out);
            self.write_waiting(false, out);
        } else if let Some(waiting) = self.waiting.iter_mut().find(|one| one.at == at) {
            waiting.closed = true;
        }
    }

    /// Writes blocks that waited: up to the first one that is still open, or all.
    fn write_waiting(&mut self, all: bool, out: &mut Vec<u8>) {
        while let Some(waiting) = self.waiting.pop_front() {
            self.begin_block(waiting.at, &waiting.opening, out);
            for piece in &waiting.pieces {
                self.waiting_bytes = self.waiting_bytes.saturating_sub(size_of(piece));
                self.grow_current(piece, out);
            }
            if !waiting.closed && !all {
                return;
            }
            self.close_current(out);
        }
    }

    fn begin_block(&mut self, at: BlockIndex, opening: &BlockStart, out: &mut Vec<u8>) {
        let channel = self.meta.channel.as_deref();
        let kind = match opening {
            BlockStart::Text | BlockStart::Refusal => Kind::Text,
            BlockStart::Thinking(..) => Kind::Thinking,
            BlockStart::Redacted(_, signature) => {
                Kind::Whole(Some(signature_block(signature, channel)))
            }
            BlockStart::ToolCall(call) if call.custom => Kind::CustomCall(call.clone()),
            BlockStart::ToolCall(call) => Kind::Call(call.clone()),
            BlockStart::Foreign(OWN, raw) => Kind::Whole(Some(raw.clone())),
            BlockStart::Foreign(..) | BlockStart::Media(_) => Kind::Whole(None),
        };
        let arguments = match &kind {
            Kind::Call(call) => call.arguments.clone(),
            Kind::Text | Kind::Thinking | Kind::CustomCall(_) | Kind::Whole(_) => String::new(),
        };
        let is_call = matches!(kind, Kind::Call(_));
        self.current = Some(Current {
            at,
            kind,
            index: None,
            signature: None,
        });
        if is_call {
            // A call is reported at once; words only when there are any.
            self.start_current(out);
            self.delta("input_json_delta", "partial_json", &arguments, out);
        }
    }

    /// Gives the current block its number and its first frame.
    fn start_current(&mut self, out: &mut Vec<u8>) {
        let Some(current) = &mut self.current else {
            return;
        };
        if current.index.is_some() {
            return;
        }
        let block = match &current.kind {
            Kind::Text => json!({ "type": "text", "text": "" }),
            Kind::Thinking => json!({ "type": "thinking", "thinking": "", "signature": "" }),
            Kind::Call(call) | Kind::CustomCall(call) => {
                call_out(&call.id, &call.tool.name, Map::new())
            }
            Kind::Whole(Some(raw)) => raw.clone(),
            Kind::Whole(None) => return,
        };
        current.index = Some(self.next);
        start_block(self.next, &block, out);
        self.next = self.next.saturating_add(1);
    }

    fn grow_current(&mut self, piece: &BlockDelta, out: &mut Vec<u8>) {
        let Some(current) = &mut self.current else {
            return;
        };
        match (&mut current.kind, piece) {
            (Kind::Text, BlockDelta::Text(text)) => self.delta("text_delta", "text", text, out),
            (Kind::Thinking, BlockDelta::Text(text)) => {
                self.delta("thinking_delta", "thinking", text, out);
            }
            (Kind::Thinking, BlockDelta::NextPart) if current.index.is_some() => {
                self.delta("thinking_delta", "thinking", BETWEEN_PARTS, out);
            }
            (Kind::Thinking, BlockDelta::Signature(signature)) => {
                let signature = signature.for_caller(OWN, self.meta.channel.as_deref());
                self.delta("signature_delta", "signature", &signature, out);
            }
            (Kind::Text, BlockDelta::Citation(OWN, raw)) => {
                let raw = raw.clone();
                self.start_current(out);
                self.raw_delta(&json!({ "type": "citations_delta", "citation": raw }), out);
            }
            (Kind::Call(_), BlockDelta::Arguments(more)) => {
                self.delta("input_json_delta", "partial_json", more, out);
            }
            (Kind::CustomCall(call), BlockDelta::Arguments(more)) => {
                if call.arguments.len().saturating_add(more.len()) <= MAX_WAITING_BYTES {
                    call.arguments.push_str(more);
                }
            }
            // No upstream wants signatures of text back, and agents take the last block for the result.
            (Kind::Text, BlockDelta::Signature(_)) => {}
            (
                Kind::Call(_) | Kind::CustomCall(_) | Kind::Whole(_),
                BlockDelta::Signature(signature),
            ) => {
                current.signature = Some(signature.clone());
            }
            // A piece that does not fit its block, or that this format has no field for.
            (
                Kind::Text | Kind::Thinking | Kind::Call(_) | Kind::CustomCall(_) | Kind::Whole(_),
                BlockDelta::Text(_)
                | BlockDelta::NextPart
                | BlockDelta::Arguments(_)
                | BlockDelta::Citation(..),
            ) => {}
        }
    }

    fn close_current(&mut self, out: &mut Vec<u8>) {
        let whole = match self.current.as_ref().map(|current| &current.kind) {
            Some(Kind::CustomCall(call)) => {
                let (input, _) = object_of_arguments(call);
                Some(Value::Object(input).to_string())
            }
            Some(Kind::Whole(Some(raw))) => own_input(raw),
            Some(Kind::Text | Kind::Thinking | Kind::Call(_) | Kind::Whole(None)) | None => None,
        };
        match self.current.as_mut().map(|current| &mut current.kind) {
            Some(Kind::Whole(Some(raw))) => {
                if whole.is_some()
                    && let Some(raw) = raw.as_object_mut()
                {
                    raw.insert("input".to_owned(), json!({}));
                }
                self.start_current(out);
            }
            Some(Kind::CustomCall(_)) => self.start_current(out),
            Some(Kind::Text | Kind::Thinking | Kind::Call(_) | Kind::Whole(None)) | None => {}
        }
        if let Some(whole) = whole {
            self.delta("input_json_delta", "partial_json", &whole, out);
        }
        let Some(current) = self.current.take() else {
            return;
        };
        if let Some(index) = current.index {
            stop_block(index, out);
        }
        if let Some(signature) = current.signature {
            let block = signature_block(&signature, self.meta.channel.as_deref());
            start_block(self.next, &block, out);
            stop_block(self.next, out);
            self.next = self.next.saturating_add(1);
        }
    }

    /// A piece of the current block.
    fn delta(&mut self, kind: &str, key: &str, text: &str, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        self.start_current(out);
        let index = self.current.as_ref().and_then(|current| current.index);
        let Some(index) = index else {
            return;
        };
        out.extend_from_slice(DELTA_HEAD);
        put_number(index.into(), out);
        out.extend_from_slice(b",\"delta\":{\"type\":\"");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\",\"");
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(b"\":");
        put_text(text, out);
        out.extend_from_slice(b"}}\n\n");
    }

    fn raw_delta(&self, delta: &Value, out: &mut Vec<u8>) {
        let index = self.current.as_ref().and_then(|current| current.index);
        if let Some(index) = index {
            let event = json!({ "type": "content_block_delta", "index": index, "delta": delta });
            frame("content_block_delta", &event, out);
        }
    }
}

fn start_block(index: u32, block: &Value, out: &mut Vec<u8>) {
    let event = json!({ "type": "content_block_start", "index": index, "content_block": block });
    frame("content_block_start", &event, out);
}

/// The input of a tool of the vendor's own, which comes in deltas as any other.
fn own_input(raw: &Value) -> Option<String> {
    let is_call = raw
        .get("type")
        .and_then(Value::as_str)?
        .ends_with("tool_use");
    let input = raw
        .get("input")
        .filter(|input| is_call && input.is_object())?;
    Some(input.to_string())
}

const fn size_of(piece: &BlockDelta) -> usize {
    match piece {
        BlockDelta::Text(text) | BlockDelta::Arguments(text) => text.len(),
        BlockDelta::Signature(signature) => signature.data.len(),
        // As large as a fair one is.
        BlockDelta::NextPart | BlockDelta::Citation(..) => 512,
    }
}
