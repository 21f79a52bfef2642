//! Blocks of a stream that is written, growing.

use serde_json::Value;

use super::item::{Body, PartKind};
use super::stream_out::{Kind, Writer};
use super::{MAX_ITEMS, MAX_KEPT_BYTES, citation, reasoning};
use crate::canonical::{BlockDelta, BlockIndex, Signature};

impl Writer {
    /// Writes a piece of a block that is open.
    pub(super) fn grow(&mut self, at: BlockIndex, piece: &BlockDelta, out: &mut Vec<u8>) {
        let Some(place) = self.places.get(&at).copied() else {
            return;
        };
        match (piece, place.kind) {
            (BlockDelta::Text(more), Kind::Part(kind, number)) => {
                self.words(place.item, kind, number, more, out);
            }
            (BlockDelta::Text(more), Kind::Thoughts(kind)) => {
                let last = self.last_part(place.item, kind);
                let number = last.or_else(|| self.new_part(place.item, kind, out));
                if let Some(number) = number {
                    self.words(place.item, kind, number, more, out);
                }
            }
            (BlockDelta::NextPart, Kind::Thoughts(kind)) => {
                if let Some(item) = self.items.get_mut(place.item) {
                    self.writer.close_parts(item, kind, out);
                }
                self.new_part(place.item, kind, out);
            }
            (BlockDelta::Arguments(more), Kind::Call) => self.arguments(place.item, more, out),
            (BlockDelta::Citation(from, raw), Kind::Part(PartKind::Text, number)) => {
                self.cited(
                    place.item,
                    number,
                    |text| citation::written(*from, raw, text),
                    out,
                );
            }
            (BlockDelta::Signature(signature), Kind::Thoughts(_)) => {
                self.signature_thoughts(place.item, signature)
            }
            (BlockDelta::Signature(signature), Kind::Part(..) | Kind::Call) => {
                self.signatures.insert(place.item, signature.clone());
            }
            // A piece that does not fit its block says nothing.
            (
                BlockDelta::Text(_)
                | BlockDelta::NextPart
                | BlockDelta::Arguments(_)
                | BlockDelta::Citation(..),
                Kind::Part(..) | Kind::Thoughts(_) | Kind::Call,
            ) => {}
        }
    }

    fn last_part(&mut self, item: usize, kind: PartKind) -> Option<u64> {
        let parts = self.items.get_mut(item)?.parts(kind)?;
        let last = parts.last_key_value().filter(|(_, part)| part.open);
        last.map(|(number, _)| *number)
    }

    fn words(&mut self, item: usize, kind: PartKind, number: u64, more: &str, out: &mut Vec<u8>) {
        let Some(item) = self.items.get_mut(item) else {
            return;
        };
        let part = item.parts(kind).and_then(|parts| parts.get_mut(&number));
        if let Some(part) = part {
            keep(&mut self.kept, &mut part.text, more);
        }
        self.writer.part_grown(item, number, kind, more, out);
    }

    /// Writes a piece of the arguments of a call.
    pub(super) fn arguments(&mut self, item: usize, more: &str, out: &mut Vec<u8>) {
        let Some(item) = self.items.get_mut(item).filter(|_| !more.is_empty()) else {
            return;
        };
        let Body::Call(call) = &mut item.body else {
            return;
        };
        keep(&mut self.kept, &mut call.arguments, more);
        let custom = call.custom;
        self.writer.arguments_grown(item, custom, more, out);
    }

    fn cited(
        &mut self,
        item: usize,
        number: u64,
        written: impl Fn(&str) -> Option<Value>,
        out: &mut Vec<u8>,
    ) {
        let Some(item) = self.items.get_mut(item) else {
            return;
        };
        let parts = item.parts(PartKind::Text);
        let Some(part) = parts.and_then(|parts| parts.get_mut(&number)) else {
            return;
        };
        let place = part.annotations.len();
        let Some(annotation) = written(&part.text).filter(|_| place < MAX_ITEMS) else {
            return;
        };
        part.annotations.push(annotation.clone());
        self.writer.cited(item, number, place, &annotation, out);
    }

    fn signature_thoughts(&mut self, item: usize, signature: &Signature) {
        let channel = self.meta.channel.as_deref();
        let body = self.items.get_mut(item).map(|item| &mut item.body);
        if let Some(Body::Reasoning(summary, content, signed)) = body {
            let has_words = !summary.is_empty() || !content.is_empty();
            *signed = Some(reasoning::signature_text(signature, channel, has_words));
        }
    }
}

/// Keeps text to be repeated, up to a bound.
pub(super) fn keep(kept: &mut usize, text: &mut String, more: &str) {
    let total = kept.saturating_add(more.len());
    if total <= MAX_KEPT_BYTES {
        *kept = total;
        text.push_str(more);
    }
}
