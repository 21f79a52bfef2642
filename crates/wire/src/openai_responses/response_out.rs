//! A whole response, written: its blocks as items, and the response around them.

use serde_json::Value;

use super::item::{Body, DONE, Item, Part, PartKind, Parts};
use super::response_object::{begun, cut_of, end, item_id};
use super::{FORMAT, citation, reasoning};
use crate::canonical::{
    Block, BlockKind, Choice, Media, MediaKind, Response, Signature, Source, Stop, Thinking,
};
use crate::{ResponseMeta, json_bytes};

pub(crate) fn response_from_canonical(answer: &Response, meta: &ResponseMeta) -> Vec<u8> {
    let nothing = Choice {
        blocks: Vec::new(),
        stop: Stop::End,
    };
    let choice = answer.choices.first().unwrap_or(&nothing);
    let mut output = Output {
        meta,
        items: Vec::new(),
        signature: None,
    };
    choice.blocks.iter().for_each(|block| output.block(block));
    output.message_ends();
    let items: Vec<Value> = output.items.iter().map(Item::ended).collect();
    let mut response = begun(meta);
    let cut = cut_of(&choice.stop, &items);
    end(&mut response, items, answer.reported.as_ref(), cut);
    json_bytes(&Value::Object(response))
}

/// Items of a whole response under way.
struct Output<'a> {
    meta: &'a ResponseMeta,
    items: Vec<Item>,
    /// The signature of a text in the message that is under way.
    signature: Option<Signature>,
}

impl Output<'_> {
    fn push(&mut self, prefix: &str, body: Body) {
        let number = self.items.len();
        self.items.push(Item {
            index: u64::try_from(number).unwrap_or(u64::MAX),
            id: item_id(self.meta, prefix, number),
            body,
            ended: Some(DONE),
        });
    }

    fn block(&mut self, block: &Block) {
        let inside = matches!(&block.kind, BlockKind::Text(_) | BlockKind::Refusal(_));
        if !inside {
            self.message_ends();
        }
        match &block.kind {
            BlockKind::Text(text) => {
                let mut part = Part::new(PartKind::Text);
                part.text.clone_from(&text.text);
                let cited = text.citations.iter();
                let cited =
                    cited.filter_map(|(from, raw)| citation::written(*from, raw, &text.text));
                part.annotations = cited.collect();
                self.part(part);
                self.signature = block.signature.clone().or(self.signature.take());
            }
            BlockKind::Refusal(text) => {
                let mut part = Part::new(PartKind::Refusal);
                part.text.clone_from(text);
                self.part(part);
            }
            BlockKind::ToolCall(call) => {
                let prefix = if call.custom { "ctc" } else { "fc" };
                self.push(prefix, Body::Call(call.clone()));
                if let Some(signature) = &block.signature {
                    self.signed(signature);
                }
            }
            BlockKind::Thinking(thinking) => self.thinking(thinking, block.signature.as_ref()),
            BlockKind::Redacted(_) => {
                if let Some(signature) = &block.signature {
                    self.signed(signature);
                }
            }
            BlockKind::Media(media) => {
                if let Some(picture) = picture(media) {
                    self.push("ig", Body::Whole(picture));
                }
            }
            BlockKind::Foreign(FORMAT, raw) => self.push("it", Body::Whole(raw.clone())),
            // Responses hold no results of the caller's tools, and no words of other formats.
            BlockKind::ToolResult(_) | BlockKind::Foreign(..) => {}
        }
    }

    fn part(&mut self, part: Part) {
        if !matches!(
            self.items.last(),
            Some(Item {
                body: Body::Message(_),
                ..
            })
        ) {
            self.push("msg", Body::Message(Parts::new()));
        }
        if let Some(Item {
            body: Body::Message(parts),
            ..
        }) = self.items.last_mut()
        {
            let number = u64::try_from(parts.len()).unwrap_or(u64::MAX);
            parts.insert(number, part);
        }
    }

    /// A signature of a text follows its message, since a message has no place for it.
    fn message_ends(&mut self) {
        if let Some(signature) = self.signature.take() {
            self.signed(&signature);
        }
    }

    fn signed(&mut self, signature: &Signature) {
        let text = reasoning::signature_text(signature, self.meta.channel.as_deref(), false);
        self.push(
            "rs",
            Body::Reasoning(Parts::new(), Parts::new(), Some(text)),
        );
    }

    fn thinking(&mut self, thinking: &Thinking, signature: Option<&Signature>) {
        let kind = if thinking.summary {
            PartKind::Summary
        } else {
            PartKind::Thought
        };
        let parts = thinking.texts.iter().enumerate().map(|(number, text)| {
            let mut part = Part::new(kind);
            part.text.clone_from(text);
            (u64::try_from(number).unwrap_or(u64::MAX), part)
        });
        let parts: Parts = parts.collect();
        let channel = self.meta.channel.as_deref();
        let signature = signature
            .map(|signature| reasoning::signature_text(signature, channel, !parts.is_empty()));
        let body = if thinking.summary {
            Body::Reasoning(parts, Parts::new(), signature)
        } else {
            Body::Reasoning(Parts::new(), parts, signature)
        };
        self.push("rs", body);
    }
}

/// An image as the format's own tool for images would give it; none for what it has no item for.
pub(super) fn picture(media: &Media) -> Option<Value> {
    let Source::Inline { mime, data } = &media.source else {
        return None;
    };
    (media.kind == MediaKind::Image).then(|| {
        serde_json::json!({
            "type": "image_generation_call",
            "status": "completed",
            "output_format": mime.strip_prefix("image/").unwrap_or(mime),
            "result": data,
        })
    })
}
