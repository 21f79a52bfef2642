//! A JSON document with marks in it: `"$items"`, `"$next"`, `"$id"`. The platforms' files hold such
//! documents with the platforms' own field names; what a mark becomes is decided here.

use std::fmt;

use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

use super::paging::given;
use super::params::Arguments;
use crate::tokens::hex;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Template {
    Plain(Value),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
    Mark(Mark),
}

/// A place that is filled for each answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mark {
    /// The list of this page.
    Items,
    /// The only thing that was asked for.
    Item,
    /// What asks for the next page; the platform's word for the end on the last one.
    Next,
    /// The same as text.
    NextText,
    /// The next page's address: this text and the offset.
    NextUrl(String),
    /// The number of the next page, or null.
    NextPage,
    /// Whether there is a next page: true, 1.
    More,
    MoreDigit,
    /// Whether there is none.
    End,
    EndDigit,
    Page,
    /// Items of all pages, of this page, up to the end of this page.
    Total,
    Count,
    Offset,
    /// An id above 2^53, as a number and as text with this prefix.
    Id,
    IdText(String),
    /// 24 hexadecimal digits.
    Hex,
    /// Eleven letters and digits, with these before them.
    Code(String),
    Text,
    Name,
    Time,
    Millis,
    Number,
    Url,
    /// A parameter as it was sent.
    Param(String),
    /// A value that a later page brings back under this name.
    Given(String),
}

/// What a template is filled with.
pub(super) struct Renderer<'a> {
    pub(super) arguments: &'a Arguments,
    /// Made of the path and of what was asked for: the same question has the same answer.
    pub(super) seed: u64,
    pub(super) page: usize,
    pub(super) total: usize,
    pub(super) count: usize,
    /// Items up to the end of this page.
    pub(super) offset: usize,
    pub(super) has_more: bool,
    pub(super) next: Value,
    pub(super) items: Value,
    pub(super) item: Value,
    /// Which item of the list is filled, from 0.
    pub(super) index: usize,
}

/// Why a document is no template.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TemplateError(String);

/// Ids are odd and above this, so that no float holds one.
const LEAST_ID: u64 = 1 << 60;
const ID_RANGE: u64 = 1 << 61;
/// The time of the first item; the others are an hour older each.
const FIRST_SECONDS: u64 = 1_767_348_672;
const ITEM_SECONDS: u64 = 3_600;
/// Likes, views and so on stay below this.
const MAX_COUNT: u64 = 100_000;
const HEX_DIGITS: usize = 24;
const CODE_CHARACTERS: usize = 11;

// === impl Template ===

impl Template {
    pub(super) fn read(text: &str) -> Result<Self, TemplateError> {
        let value = serde_json::from_str(text).map_err(|error| TemplateError(error.to_string()))?;
        Self::find(value)
    }

    fn find(value: Value) -> Result<Self, TemplateError> {
        Ok(match value {
            Value::String(text) => match text.strip_prefix('$') {
                Some(word) => Self::Mark(Mark::read(word)?),
                None => Self::Plain(Value::String(text)),
            },
            Value::Array(list) => {
                Self::List(list.into_iter().map(Self::find).collect::<Result<_, _>>()?)
            }
            Value::Object(map) => {
                let mut fields = Vec::new();
                for (name, value) in map {
                    fields.push((name, Self::find(value)?));
                }
                Self::Object(fields)
            }
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => Self::Plain(plain),
        })
    }

    pub(super) fn fill(&self, renderer: &Renderer<'_>) -> Value {
        match self {
            Self::Plain(value) => value.clone(),
            Self::List(list) => list.iter().map(|inside| inside.fill(renderer)).collect(),
            Self::Object(fields) => {
                let filled = fields
                    .iter()
                    .map(|(name, it)| (name.clone(), it.fill(renderer)));
                Value::Object(filled.collect::<Map<_, _>>())
            }
            Self::Mark(mark) => mark.fill(renderer),
        }
    }
}

// === impl Mark ===

impl Mark {
    fn read(word: &str) -> Result<Self, TemplateError> {
        let (name, rest) = word.split_once(':').unwrap_or((word, ""));
        let rest = rest.to_owned();
        Ok(match name {
            "items" => Self::Items,
            "item" => Self::Item,
            "next" => Self::Next,
            "next_text" => Self::NextText,
            "next_url" => Self::NextUrl(rest),
            "next_page" => Self::NextPage,
            "more" => Self::More,
            "more01" => Self::MoreDigit,
            "end" => Self::End,
            "end01" => Self::EndDigit,
            "page" => Self::Page,
            "total" => Self::Total,
            "count" => Self::Count,
            "offset" => Self::Offset,
            "id" => Self::Id,
            "id_text" => Self::IdText(rest),
            "hex" => Self::Hex,
            "code" => Self::Code(rest),
            "text" => Self::Text,
            "name" => Self::Name,
            "time" => Self::Time,
            "millis" => Self::Millis,
            "number" => Self::Number,
            "url" => Self::Url,
            "param" => Self::Param(rest),
            "given" => Self::Given(rest),
            _ => return Err(TemplateError(format!("there is no mark ${name}"))),
        })
    }

    fn fill(&self, renderer: &Renderer<'_>) -> Value {
        let digit = |yes: bool| Value::from(u8::from(yes));
        match self {
            Self::Items => renderer.items.clone(),
            Self::Item => renderer.item.clone(),
            Self::Next => renderer.next.clone(),
            Self::NextText => Value::from(renderer.next_text()),
            Self::NextUrl(before) => Value::from(format!("{before}{}", renderer.next_text())),
            Self::NextPage if renderer.has_more => Value::from(renderer.page.saturating_add(1)),
            Self::NextPage => Value::Null,
            Self::More => Value::from(renderer.has_more),
            Self::MoreDigit => digit(renderer.has_more),
            Self::End => Value::from(!renderer.has_more),
            Self::EndDigit => digit(!renderer.has_more),
            Self::Page => Value::from(renderer.page),
            Self::Total => Value::from(renderer.total),
            Self::Count => Value::from(renderer.count),
            Self::Offset => Value::from(renderer.offset),
            Self::Id => Value::Number(Number::from(renderer.id())),
            Self::IdText(before) => Value::from(format!("{before}{}", renderer.id())),
            Self::Hex => Value::from(renderer.code(HEX_DIGITS)),
            Self::Code(before) => {
                Value::from(format!("{before}{}", renderer.code(CODE_CHARACTERS)))
            }
            Self::Text => Value::from(format!("Item {} of what was asked for", renderer.index)),
            Self::Name => Value::from(format!("person-{}", renderer.code(6))),
            Self::Time => Value::from(renderer.seconds()),
            Self::Millis => Value::from(renderer.seconds().saturating_mul(1_000)),
            Self::Number => Value::from(renderer.drawn("number").rem_euclid(MAX_COUNT)),
            Self::Url => Value::from(format!("https://media.example/{}", renderer.id())),
            Self::Param(name) => Value::from(renderer.arguments.text(name)),
            Self::Given(name) => Value::from(given(renderer.seed, name)),
        }
    }
}

// === impl Renderer ===

impl Renderer<'_> {
    fn next_text(&self) -> String {
        match &self.next {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                other.to_string()
            }
        }
    }

    fn id(&self) -> u64 {
        let above = self.drawn("id").rem_euclid(ID_RANGE);
        LEAST_ID.saturating_add(above) | 1
    }

    fn seconds(&self) -> u64 {
        let index = u64::try_from(self.index).unwrap_or(u64::MAX);
        FIRST_SECONDS.saturating_sub(index.saturating_mul(ITEM_SECONDS))
    }

    fn drawn(&self, purpose: &str) -> u64 {
        first_eight(&self.hashed(purpose))
    }

    fn code(&self, count: usize) -> String {
        let digits = hex(&self.hashed("code"));
        digits.get(..count).unwrap_or_default().to_owned()
    }

    fn hashed(&self, purpose: &str) -> [u8; 32] {
        Sha256::digest(format!("{purpose} {} {}", self.seed, self.index)).into()
    }
}

// === impl TemplateError ===

impl fmt::Display for TemplateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The first eight bytes of a hash as a number.
pub(super) fn first_eight(hash: &[u8; 32]) -> u64 {
    let first = hash.first_chunk::<8>();
    first.map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn renderer(arguments: &Arguments, index: usize) -> Renderer<'_> {
        Renderer {
            arguments,
            seed: 7,
            page: 1,
            total: 15,
            count: 5,
            offset: 5,
            has_more: true,
            next: json!("abc"),
            items: json!([1]),
            item: json!({}),
            index,
        }
    }

    #[test]
    fn marks_are_filled_and_other_text_is_left_alone() {
        let template = r#"{"a": ["$items", "plain"], "b": "$more01", "c": "$next_page", "d": 3}"#;
        let arguments = Arguments::default();
        let filled = Template::read(template)
            .unwrap()
            .fill(&renderer(&arguments, 0));
        assert_eq!(filled, json!({"a": [[1], "plain"], "b": 1, "c": 2, "d": 3}));
    }

    #[test]
    fn an_unknown_mark_is_an_error() {
        assert!(Template::read(r#"{"a": "$nonsense"}"#).is_err());
        assert!(Template::read("{").is_err());
    }

    #[test]
    fn ids_are_whole_numbers_that_no_float_holds_and_differ_from_item_to_item() {
        let arguments = Arguments::default();
        let id = |index| Template::Mark(Mark::Id).fill(&renderer(&arguments, index));
        let first = id(0).as_u64().unwrap();
        assert!(first > 1 << 53 && first % 2 == 1);
        assert_ne!(id(0), id(1));
        assert_eq!(id(0), id(0));
        let text = Template::Mark(Mark::IdText("x".to_owned())).fill(&renderer(&arguments, 0));
        assert_eq!(text, json!(format!("x{first}")));
    }
}
