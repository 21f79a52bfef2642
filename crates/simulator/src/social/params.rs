//! Parameters in: a query or a JSON body, kept as it came and checked as `FastAPI` checks. What is
//! unknown is ignored, what is missing or of the wrong type is told in its list.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// One parameter of an endpoint.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Param {
    pub(super) name: String,
    pub(super) kind: Kind,
    #[serde(default)]
    pub(super) required: bool,
    /// Fewest and most characters.
    #[serde(default)]
    min_chars: usize,
    max_chars: Option<usize>,
    /// The only values there are. Another is no matter of form: it is refused with 400.
    #[serde(default)]
    words: Vec<String>,
}

/// What a parameter may be. In a query everything is text; in a body the types are JSON's, and text
/// that looks like a number is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Text,
    Integer,
    Boolean,
    /// Text or null.
    MaybeText,
    /// An integer or null.
    MaybeInteger,
    /// Either, or null.
    IntegerOrText,
}

#[derive(Debug, Default)]
pub(super) struct Arguments {
    /// Names and values as they came: decoded once, JSON that is no text as JSON.
    pub(super) received: Vec<(String, String)>,
    /// The known parameters as text; null is left out.
    pub(super) values: BTreeMap<String, String>,
}

/// A value as it came.
enum Given {
    Query(String),
    Text(String),
    Integer(String),
    Boolean(String),
    Null,
    /// A fraction, a list, an object.
    Other(String),
}

/// Most parameters that are read; an endpoint has ten at most.
const MAX_PARAMS: usize = 100;

// === impl Arguments ===

impl Arguments {
    /// A parameter's text; empty if it was not given.
    pub(super) fn text(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    /// What a query says. The last of two values counts.
    pub(super) fn from_query(query: &str, params: &[Param]) -> Result<Self, (Self, Value)> {
        let mut arguments = Self::default();
        let mut given = BTreeMap::new();
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        for pair in pairs.take(MAX_PARAMS) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name), decoded(value));
            arguments.received.push((name.clone(), value.clone()));
            given.insert(name, Given::Query(value));
        }
        arguments.check(params, given, "query")
    }

    pub(super) fn from_body(body: &[u8], params: &[Param]) -> Result<Self, (Self, Value)> {
        let mut arguments = Self::default();
        if body.is_empty() {
            let missing = detail("missing", json!(["body"]), "Field required", Value::Null);
            return Err((arguments, json!([missing])));
        }
        let read: Result<BTreeMap<String, Box<RawValue>>, _> = serde_json::from_slice(body);
        let fields = match read {
            Ok(fields) => fields,
            Err(error) => {
                let why = detail(
                    "json_invalid",
                    json!(["body", error.column()]),
                    "JSON decode error",
                    json!({}),
                );
                return Err((arguments, json!([why])));
            }
        };
        let mut given = BTreeMap::new();
        for (name, raw) in fields.into_iter().take(MAX_PARAMS) {
            let value = Given::read(raw.get());
            arguments.received.push((name.clone(), value.input_text()));
            given.insert(name, value);
        }
        arguments.check(params, given, "body")
    }

    fn check(
        mut self,
        params: &[Param],
        mut given: BTreeMap<String, Given>,
        place: &str,
    ) -> Result<Self, (Self, Value)> {
        let mut details = Vec::new();
        for param in params {
            let at = json!([place, param.name]);
            match given.remove(&param.name) {
                None if param.required => {
                    details.push(detail("missing", at, "Field required", Value::Null));
                }
                None => {}
                Some(value) => match param.accept(&value) {
                    Ok(Some(text)) => {
                        self.values.insert(param.name.clone(), text);
                    }
                    Ok(None) => {}
                    Err((kind, message)) => {
                        details.push(detail(kind, at, message, value.echoed()));
                    }
                },
            }
        }
        if details.is_empty() {
            return Ok(self);
        }
        Err((self, Value::Array(details)))
    }
}

// === impl Param ===

impl Param {
    /// The value as text, nothing for null, or what is wrong with it.
    fn accept(&self, value: &Given) -> Result<Option<String>, (&'static str, &'static str)> {
        let text_type = ("string_type", "Input should be a valid string");
        let integer_type = ("int_type", "Input should be a valid integer");
        let parsed_integer = (
            "int_parsing",
            "Input should be a valid integer, unable to parse string as an integer",
        );
        let text = match (self.kind, value) {
            (Kind::MaybeText | Kind::MaybeInteger | Kind::IntegerOrText, Given::Null) => {
                return Ok(None);
            }
            (
                Kind::Text | Kind::MaybeText | Kind::IntegerOrText,
                Given::Text(text) | Given::Query(text),
            )
            | (Kind::Integer | Kind::MaybeInteger | Kind::IntegerOrText, Given::Integer(text))
            | (Kind::Boolean, Given::Boolean(text)) => text,
            (Kind::Integer | Kind::MaybeInteger, Given::Query(text)) if is_integer(text) => text,
            (Kind::Boolean, Given::Query(word)) => match boolean(word) {
                Some(word) => return Ok(Some(word.to_owned())),
                None => return Err(("bool_parsing", "Input should be a valid boolean")),
            },
            (Kind::Integer | Kind::MaybeInteger, Given::Query(_) | Given::Text(_)) => {
                return Err(parsed_integer);
            }
            (Kind::Integer | Kind::MaybeInteger, Given::Boolean(_) | Given::Other(_))
            | (Kind::Integer, Given::Null) => return Err(integer_type),
            (
                Kind::Text | Kind::MaybeText | Kind::IntegerOrText,
                Given::Integer(_) | Given::Boolean(_) | Given::Other(_),
            )
            | (Kind::Text, Given::Null) => return Err(text_type),
            (Kind::Boolean, Given::Text(_) | Given::Integer(_) | Given::Null | Given::Other(_)) => {
                return Err(("bool_type", "Input should be a valid boolean"));
            }
        };
        let length = text.chars().count();
        let is_text = matches!(self.kind, Kind::Text | Kind::MaybeText);
        if is_text && length < self.min_chars {
            return Err(("string_too_short", "String should have more characters"));
        }
        if is_text && self.max_chars.is_some_and(|most| length > most) {
            return Err(("string_too_long", "String should have fewer characters"));
        }
        Ok(Some(text.clone()))
    }

    /// Whether a value is one of the words, if there are words. An empty one is none at all.
    pub(super) fn knows(&self, value: &str) -> bool {
        self.words.is_empty() || value.is_empty() || self.words.iter().any(|word| word == value)
    }

    /// What a value means. Words of a parameter that takes numbers too stand each before its number.
    pub(super) fn meaning<'a>(&'a self, value: &'a str) -> &'a str {
        if self.kind != Kind::IntegerOrText {
            return value;
        }
        let mut pairs = self.words.chunks_exact(2);
        let number = pairs.find_map(|pair| match pair {
            [word, number] if word == value => Some(number.as_str()),
            _ => None,
        });
        number.unwrap_or(value)
    }
}

// === impl Given ===

impl Given {
    fn read(raw: &str) -> Self {
        let raw_text = raw.to_owned();
        if let Ok(text) = serde_json::from_str::<String>(raw) {
            return Self::Text(text);
        }
        match raw {
            "null" => Self::Null,
            "true" | "false" => Self::Boolean(raw_text),
            // The digits stay as they are: a number may be larger than any type of ours.
            _ if is_integer(raw) => Self::Integer(raw_text),
            _ => Self::Other(raw_text),
        }
    }

    fn input_text(&self) -> String {
        match self {
            Self::Query(text)
            | Self::Text(text)
            | Self::Integer(text)
            | Self::Boolean(text)
            | Self::Other(text) => text.clone(),
            Self::Null => "null".to_owned(),
        }
    }

    /// The value as a complaint shows it.
    fn echoed(&self) -> Value {
        match self {
            Self::Query(text) | Self::Text(text) => Value::from(text.as_str()),
            Self::Null => Value::Null,
            Self::Integer(raw) | Self::Boolean(raw) | Self::Other(raw) => {
                serde_json::from_str(raw).unwrap_or(Value::Null)
            }
        }
    }
}

fn detail(kind: &str, place: Value, message: &str, input: Value) -> Value {
    json!({ "type": kind, "loc": place, "msg": message, "input": input })
}

/// One decoding and no more: a plus is a space, and a cursor that was not encoded arrives broken.
pub(super) fn decoded(text: &str) -> String {
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The words for yes and no that a query may use.
fn boolean(word: &str) -> Option<&'static str> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" | "t" | "y" => Some("true"),
        "false" | "0" | "no" | "off" | "f" | "n" => Some("false"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(name: &str, kind: Kind) -> Param {
        Param {
            name: name.to_owned(),
            kind,
            required: true,
            min_chars: 0,
            max_chars: Some(3),
            words: vec!["a".to_owned()],
        }
    }

    #[test]
    fn a_query_is_decoded_once_and_the_last_value_counts() {
        let params = [param("a", Kind::Text)];
        let arguments = Arguments::from_query("a=1&b=%252B&a=%2B%2F%3D", &params).unwrap();
        assert_eq!(arguments.text("a"), "+/=");
        let received = [("a", "1"), ("b", "%2B"), ("a", "+/=")];
        let received = received.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(arguments.received, received);
    }

    #[test]
    fn a_body_keeps_the_digits_of_its_numbers() {
        let params = [param("a", Kind::Integer)];
        let arguments =
            Arguments::from_body(br#"{"a": 123, "b": 92233720368547758079}"#, &params).unwrap();
        let raw_text = ("b".to_owned(), "92233720368547758079".to_owned());
        assert_eq!(
            (arguments.text("a"), arguments.received.contains(&raw_text)),
            ("123", true)
        );
    }

    #[test]
    fn types_are_checked_where_they_stand() {
        for (kind, query, body, is_good) in [
            (Kind::Text, "a=12", r#"{"a":"12"}"#, true),
            (Kind::Integer, "a=-12", r#"{"a":-12}"#, true),
            (Kind::Boolean, "a=Yes", r#"{"a":true}"#, true),
            (Kind::IntegerOrText, "a=12", r#"{"a":12}"#, true),
            (Kind::IntegerOrText, "a=x", r#"{"a":"x"}"#, true),
            (Kind::MaybeText, "a=", r#"{"a":null}"#, true),
            (Kind::Integer, "a=", r#"{"a":"12"}"#, false),
            (Kind::MaybeInteger, "a=1.5", r#"{"a":1.5}"#, false),
            (Kind::Boolean, "a=2", r#"{"a":"true"}"#, false),
            (Kind::Text, "a=1234", r#"{"a":12}"#, false),
            (Kind::MaybeText, "", r#"{"a":[]}"#, false),
            (Kind::Text, "b=1", r#"{"a":null}"#, false),
        ] {
            let params = [param("a", kind)];
            let expected = (
                Arguments::from_query(query, &params).is_ok(),
                Arguments::from_body(body.as_bytes(), &params).is_ok(),
            );
            assert_eq!(expected, (is_good, is_good), "{kind:?} {query} {body}");
        }
    }

    #[test]
    fn a_body_that_is_none_is_told_as_such() {
        let params = [param("a", Kind::Text)];
        for (body, kind) in [
            ("", "missing"),
            ("{", "json_invalid"),
            ("[]", "json_invalid"),
        ] {
            let (_, details) = Arguments::from_body(body.as_bytes(), &params).unwrap_err();
            assert_eq!(details[0]["type"], kind, "{body}");
        }
    }

    #[test]
    fn words_are_a_closed_list_and_an_empty_one_is_none() {
        let one = param("a", Kind::Text);
        assert_eq!(
            ["a", "", "b"].map(|word| one.knows(word)),
            [true, true, false]
        );
    }
}
