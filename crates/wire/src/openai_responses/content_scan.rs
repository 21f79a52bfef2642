//! What stands in the input besides text: images, audio and files, and references to things stored
//! elsewhere, which are refused. Nothing of it is kept or copied.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::borrowed_str::borrowed_str;
use crate::media::Source;
use crate::serde_helpers::{Content, text_length};
use crate::{Media, RequestError};

const MAX_INPUT_ITEMS: usize = 100_000;

const WHOLE_ITEM: &str =
    "send the item itself, or continue a response of ours by `previous_response_id`";

/// One item, as far as it costs. Members of items that we do not know may have any shape.
#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, rename = "type", default, deserialize_with = "borrowed_str")]
    kind: Option<Cow<'a, str>>,
    #[serde(default)]
    role: Option<IgnoredAny>,
    #[serde(default)]
    id: Option<IgnoredAny>,
    #[serde(borrow, default)]
    content: Option<ItemContent<'a>>,
    #[serde(borrow, default)]
    output: Option<ItemContent<'a>>,
    #[serde(borrow, default)]
    arguments: Option<ItemContent<'a>>,
    #[serde(borrow, default)]
    input: Option<ItemContent<'a>>,
    /// An image that the vendor's own tool made.
    #[serde(borrow, default)]
    result: Option<ItemContent<'a>>,
}

/// What is said, in any shape: a text, of which only the length is kept, a list of parts, or one.
enum ItemContent<'a> {
    Text(u64),
    Parts(Vec<Part<'a>>),
    One(Box<Part<'a>>),
    Other,
}

/// Takes it as it comes. To try one kind after the other would copy it, for every item.
struct ItemContentVisitor;

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<ItemContent<'a>>,
    #[serde(borrow, default)]
    refusal: Option<ItemContent<'a>>,
    #[serde(borrow, default)]
    image_url: Option<Address<'a>>,
    #[serde(borrow, default)]
    input_audio: Option<Sound<'a>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    file_data: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "borrowed_str")]
    file_url: Option<Cow<'a, str>>,
    #[serde(default)]
    file_id: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Address<'a> {
    Bare(#[serde(borrow)] Cow<'a, str>),
    Inside {
        #[serde(borrow)]
        url: Cow<'a, str>,
    },
}

#[derive(Deserialize)]
struct Sound<'a> {
    #[serde(borrow, default)]
    data: Cow<'a, str>,
}

/// Looks through the input. An empty one is an input only when there is something to continue.
pub(super) fn read_input(bytes: &[u8], continues: bool) -> Result<Media, RequestError> {
    let what = "`input` must be a text or a list of items";
    let input: Content<Item<'_>> = serde_json::from_slice(bytes)
        .map_err(|error| RequestError::invalid("input", format!("{what}: {error}")))?;
    let mut media = Media::default();
    let items = match input {
        Content::Text(bytes) => {
            media.add_text(bytes);
            return Ok(media);
        }
        Content::Parts(items) => items,
        Content::Other => return Err(RequestError::invalid("input", what)),
    };
    if items.is_empty() && !continues {
        let text = "`input` must have at least one item";
        return Err(RequestError::invalid("input", text));
    }
    if items.len() > MAX_INPUT_ITEMS {
        let text = format!("`input` may have at most {MAX_INPUT_ITEMS} items");
        return Err(RequestError::invalid("input", text));
    }
    for (place, item) in items.iter().enumerate() {
        media.add_item(item, &format!("input[{place}]"))?;
    }
    Ok(media)
}

impl Item<'_> {
    /// Names an item instead of saying it. The kind may be left out.
    fn is_reference(&self) -> bool {
        match self.kind.as_deref() {
            Some(kind) => kind == "item_reference",
            None => self.role.is_none() && self.content.is_none() && self.id.is_some(),
        }
    }
}

impl Media {
    fn add_item(&mut self, item: &Item<'_>, place: &str) -> Result<(), RequestError> {
        if item.is_reference() {
            return Err(RequestError::reference(&format!("{place}.id"), WHOLE_ITEM));
        }
        let is_message = matches!(item.kind.as_deref(), None | Some("message"));
        if is_message && item.role.is_none() {
            let param = format!("{place}.role");
            return Err(RequestError::invalid(
                &param,
                "every message needs a `role`",
            ));
        }
        if is_message && item.content.is_none() {
            let param = format!("{place}.content");
            return Err(RequestError::invalid(
                &param,
                "every message needs `content`",
            ));
        }
        for (name, content) in [
            ("content", &item.content),
            ("output", &item.output),
            ("arguments", &item.arguments),
            ("input", &item.input),
        ] {
            if let Some(content) = content {
                self.add_content(content, &format!("{place}.{name}"))?;
            }
        }
        if item.kind.as_deref() == Some("image_generation_call")
            && let Some(ItemContent::Text(bytes)) = item.result
        {
            self.add_image(Source::Link(bytes));
        }
        Ok(())
    }

    fn add_content(&mut self, content: &ItemContent<'_>, place: &str) -> Result<(), RequestError> {
        match content {
            ItemContent::Text(bytes) => self.add_text(*bytes),
            ItemContent::Parts(parts) => {
                for (number, part) in parts.iter().enumerate() {
                    self.add_part(part, &format!("{place}[{number}]"))?;
                }
            }
            ItemContent::One(part) => self.add_part(part, place)?,
            ItemContent::Other => {}
        }
        Ok(())
    }

    fn add_part(&mut self, part: &Part<'_>, place: &str) -> Result<(), RequestError> {
        if part.file_id.is_some() {
            let param = format!("{place}.file_id");
            let way_out = if part.image_url.is_some() {
                "send the picture as `image_url` alone"
            } else {
                "send the bytes as `file_data`, or a picture as `image_url`"
            };
            return Err(RequestError::reference(&param, way_out));
        }
        for content in [&part.text, &part.refusal].into_iter().flatten() {
            if let ItemContent::Text(bytes) = content {
                self.add_text(*bytes);
            }
        }
        if let Some(Address::Bare(url) | Address::Inside { url }) = &part.image_url {
            self.add_image(Source::of_url(url));
        }
        if let Some(sound) = &part.input_audio {
            self.add_audio(Source::Inline(&sound.data));
        }
        if let Some(data) = &part.file_data {
            self.add_data(data);
        }
        if let Some(url) = &part.file_url {
            self.add_document(Source::Link(text_length(url)));
        }
        Ok(())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ItemContent<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemContentVisitor)
    }
}

impl<'de> Visitor<'de> for ItemContentVisitor {
    type Value = ItemContent<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text or a list of parts")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(ItemContent::Text(text_length(text)))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(ItemContent::Other)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(ItemContent::Other)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(ItemContent::Other)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(ItemContent::Other)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(ItemContent::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, parts: A) -> Result<Self::Value, A::Error> {
        let parts = Vec::deserialize(SeqAccessDeserializer::new(parts))?;
        Ok(ItemContent::Parts(parts))
    }

    fn visit_map<A: MapAccess<'de>>(self, part: A) -> Result<Self::Value, A::Error> {
        let part = Part::deserialize(MapAccessDeserializer::new(part))?;
        Ok(ItemContent::One(Box::new(part)))
    }
}
