//! The fields of a request, from JSON or from a form, and how they are read one by one.
//!
//! Null and empty text count as absent. Words that only we read (`n`, `stream`, …) are seen and stay among
//! the others until the plan has noted them: what is planned no longer holds them.

use serde_json::{Map, Number, Value};
use trunkline_catalog::RequestError;

/// The fields of a request. Of a form, all that are no file are texts: numbers are read from texts too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fields {
    /// By name, in their order.
    pub values: Map<String, Value>,
    /// Whether they came in a form.
    pub is_form: bool,
}

/// A request while it is read.
#[derive(Debug)]
pub(crate) struct RequestReader<'a> {
    fields: &'a Fields,
    taken: Vec<&'static str>,
}

// === impl RequestReader ===

impl<'a> RequestReader<'a> {
    pub(crate) const fn of(fields: &'a Fields) -> Self {
        Self {
            fields,
            taken: Vec::new(),
        }
    }

    /// A field that stays among the others.
    pub(crate) fn see(&self, name: &str) -> Option<&'a Value> {
        self.fields.values.get(name).filter(|value| is_there(value))
    }

    /// A field that is no longer among the others.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<&'a Value> {
        self.taken.push(name);
        self.see(name)
    }

    /// A text that must be there.
    pub(crate) fn required(&mut self, name: &'static str) -> Result<String, RequestError> {
        self.take_text(name)?
            .ok_or_else(|| RequestError::missing(name))
    }

    pub(crate) fn take_text(&mut self, name: &'static str) -> Result<Option<String>, RequestError> {
        self.take(name);
        Ok(self.see_text(name)?.map(str::to_owned))
    }

    pub(crate) fn see_text(&self, name: &str) -> Result<Option<&'a str>, RequestError> {
        let Some(value) = self.see(name) else {
            return Ok(None);
        };
        let refusal = || RequestError::invalid(name, format!("`{name}` must be one text"));
        value.as_str().map(Some).ok_or_else(refusal)
    }

    /// A number that is not negative and has no fraction.
    pub(crate) fn see_whole(&self, name: &str) -> Result<Option<u64>, RequestError> {
        let parse = |text: &str| text.parse().ok();
        self.typed(name, Value::as_u64, parse, "a whole number")
    }

    pub(crate) fn take_number(
        &mut self,
        name: &'static str,
    ) -> Result<Option<Number>, RequestError> {
        self.take(name);
        self.see_number(name)
    }

    pub(crate) fn see_number(&self, name: &str) -> Result<Option<Number>, RequestError> {
        // What is no number of JSON, such as `NaN`, is none in a form either.
        let parse = |text: &str| serde_json::from_str(text).ok();
        let read = |value: &Value| value.as_number().cloned();
        self.typed(name, read, parse, "a number")
    }

    pub(crate) fn see_flag(&self, name: &str) -> Result<Option<bool>, RequestError> {
        let parse = |text: &str| text.parse().ok();
        self.typed(name, Value::as_bool, parse, "true or false")
    }

    /// A value of one type, which a form writes as a text.
    fn typed<T>(
        &self,
        name: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
        parse: impl FnOnce(&str) -> Option<T>,
        expected: &str,
    ) -> Result<Option<T>, RequestError> {
        let Some(value) = self.see(name) else {
            return Ok(None);
        };
        let found = match value.as_str().filter(|_| self.fields.is_form) {
            Some(text) => parse(text.trim()),
            None => read(value),
        };
        let refusal = || RequestError::invalid(name, format!("`{name}` must be {expected}"));
        found.map(Some).ok_or_else(refusal)
    }

    /// Everything that was not taken. In a form everything is a text: what is clearly a whole number or a
    /// flag becomes one, since most vendors take JSON, and is the same text where it goes on in a form.
    pub(crate) fn rest(self) -> Map<String, Value> {
        let left = self.fields.values.iter();
        let left =
            left.filter(|(name, value)| is_there(value) && !self.taken.contains(&name.as_str()));
        left.map(|(name, value)| {
            let value = if self.fields.is_form {
                typed(name, value)
            } else {
                value.clone()
            };
            (name.clone(), value)
        })
        .collect()
    }
}

/// Names are texts, whatever they look like.
const ALWAYS_TEXT: [&str; 2] = ["user", "style"];

fn typed(name: &str, value: &Value) -> Value {
    let Some(text) = value.as_str().filter(|_| !ALWAYS_TEXT.contains(&name)) else {
        return value.clone();
    };
    let whole = text.parse::<i64>().ok();
    match (text, whole) {
        ("true", _) => Value::Bool(true),
        ("false", _) => Value::Bool(false),
        (text, Some(whole)) if whole.to_string() == text => Value::from(whole),
        (_, _) => value.clone(),
    }
}

fn is_there(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => true,
    }
}
