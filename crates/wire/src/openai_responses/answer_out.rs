//! A whole answer, written: its blocks as items, and the response around them.

use serde_json::Value;

use super::echo::{begun, cut_of, end, item_id};
use super::item::{Body, DONE, Item, Part, PartKind, Parts};
use super::{FORMAT, citation, seal};
use crate::canon::{
    Answer, Block, Choice, Media, MediaKind, Signature, Source, Stop, Thinking, What,
};
use crate::{Shown, json_bytes};

/// Writes a whole answer.
pub(crate) fn answer_from_canon(answer: &Answer, shown: &Shown) -> Vec<u8> {
    let nothing = Choice {
        blocks: Vec::new(),
        stop: Stop::End,
    };
    let choice = answer.choices.first().unwrap_or(&nothing);
    let mut output = Output {
        shown,
        items: Vec::new(),
        seal: None,
    };
    choice.blocks.iter().for_each(|block| output.block(block));
    output.message_ends();
    let items: Vec<Value> = output.items.iter().map(Item::ended).collect();
    let mut response = begun(shown);
    let cut = cut_of(&choice.stop, &items);
    end(&mut response, items, answer.counted.as_ref(), cut);
    json_bytes(&Value::Object(response))
}

/// Items of a whole answer under way.
struct Output<'a> {
    shown: &'a Shown,
    items: Vec<Item>,
    /// The seal of a text in the message that is under way.
    seal: Option<Signature>,
}

impl Output<'_> {
    fn push(&mut self, prefix: &str, body: Body) {
        let number = self.items.len();
        self.items.push(Item {
            index: u64::try_from(number).unwrap_or(u64::MAX),
            id: item_id(self.shown, prefix, number),
            body,
            ended: Some(DONE),
        });
    }

    fn block(&mut self, block: &Block) {
        let inside = matches!(&block.what, What::Text(_) | What::Refusal(_));
        if !inside {
            self.message_ends();
        }
        match &block.what {
            What::Text(text) => {
                let mut part = Part::new(PartKind::Text);
                part.text.clone_from(&text.text);
                let cited = text.citations.iter();
                let cited =
                    cited.filter_map(|(from, raw)| citation::written(*from, raw, &text.text));
                part.annotations = cited.collect();
                self.part(part);
                self.seal = block.signature.clone().or(self.seal.take());
            }
            What::Refusal(text) => {
                let mut part = Part::new(PartKind::Refusal);
                part.text.clone_from(text);
                self.part(part);
            }
            What::ToolCall(call) => {
                let prefix = if call.custom { "ctc" } else { "fc" };
                self.push(prefix, Body::Call(call.clone()));
                if let Some(seal) = &block.signature {
                    self.sealed(seal);
                }
            }
            What::Thinking(thinking) => self.thinking(thinking, block.signature.as_ref()),
            What::Redacted(_) => {
                if let Some(seal) = &block.signature {
                    self.sealed(seal);
                }
            }
            What::Media(media) => {
                if let Some(picture) = picture(media) {
                    self.push("ig", Body::Whole(picture));
                }
            }
            What::Foreign(FORMAT, raw) => self.push("it", Body::Whole(raw.clone())),
            // Answers hold no results of the caller's tools, and no words of other formats.
            What::ToolResult(_) | What::Foreign(..) => {}
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

    /// A seal of a text follows its message, since a message has no place for it.
    fn message_ends(&mut self) {
        if let Some(seal) = self.seal.take() {
            self.sealed(&seal);
        }
    }

    fn sealed(&mut self, seal: &Signature) {
        let text = seal::shown(seal, self.shown.channel.as_deref(), false);
        self.push(
            "rs",
            Body::Reasoning(Parts::new(), Parts::new(), Some(text)),
        );
    }

    fn thinking(&mut self, thinking: &Thinking, seal: Option<&Signature>) {
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
        let channel = self.shown.channel.as_deref();
        let seal = seal.map(|seal| seal::shown(seal, channel, !parts.is_empty()));
        let body = if thinking.summary {
            Body::Reasoning(parts, Parts::new(), seal)
        } else {
            Body::Reasoning(Parts::new(), parts, seal)
        };
        self.push("rs", body);
    }
}

/// A picture as the format's own tool for pictures would give it; none for what it has no item for.
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
