//! Rules of single models, as data: what one of them refuses although its format allows it. One
//! engine; no model is named in code.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Most rules of one model.
pub const MAX_RULES: usize = 32;
/// Most conditions of one rule, and most words of one test.
const MAX_TESTS: usize = 16;
const MAX_TEXT: usize = 500;

/// A rule: where all of `when` hold, `must` must hold too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its word in reports and warnings.
    pub code: String,
    /// The code of the error, where the vendor's own is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// A list of the request: the rule is for each of its members. None: for the request itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<String>,
    /// When it applies; always if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<Test>,
    pub must: Test,
    /// What to do about it, for the caller.
    pub fix: String,
}

/// A test of one field. Exactly one of `one_of` and `present` is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    pub field: String,
    /// It is one of these words; an object is known by its `type`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_of: Option<Vec<String>>,
    /// It is there and not empty; or it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub present: Option<bool>,
    /// It also holds when the field is not there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub or_absent: bool,
}

/// What is done with a field of a request to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterPolicy {
    /// It goes on, and the model is known to read it.
    Pass,
    /// It is taken out, and the caller is told.
    Drop,
    Refuse,
}

/// A rule that a request breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach<'a> {
    pub rule: &'a Rule,
    /// The field, with its place in the list if it is in one.
    pub param: String,
}

/// Where the fields of a request are found: a field at the top by its name.
pub type FieldLookup<'a> = &'a dyn Fn(&str) -> Option<Value>;

/// The first rule that a request breaks.
#[must_use]
pub fn first_breach<'a>(rules: &'a [Rule], field: FieldLookup<'_>) -> Option<Breach<'a>> {
    rules.iter().find_map(|rule| rule.breach(field))
}

// === impl Rule ===

impl Rule {
    fn breach(&self, field: FieldLookup<'_>) -> Option<Breach<'_>> {
        let Some(list) = &self.each else {
            return self.is_broken(field).then(|| Breach {
                rule: self,
                param: self.must.field.clone(),
            });
        };
        let members: Vec<Map<String, Value>> = serde_json::from_value(field(list)?).ok()?;
        let broken = |member: &Map<String, Value>| {
            let read = |name: &str| member.get(name).cloned();
            self.is_broken(&read)
        };
        let place = members.iter().position(broken)?;
        Some(Breach {
            rule: self,
            param: format!("{list}[{place}].{}", self.must.field),
        })
    }

    fn is_broken(&self, field: FieldLookup<'_>) -> bool {
        self.when.iter().all(|test| test.holds(field)) && !self.must.holds(field)
    }

    /// What is wrong with the rule itself.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut say = |text: &str| faults.push(format!("rule {:?}: {text}", self.code));
        if self.code.is_empty() || self.code.len() > MAX_TEXT {
            say("it has no code");
        }
        if self.fix.is_empty() || self.fix.len() > MAX_TEXT {
            say("it must say what to do about it");
        }
        if self.when.len() > MAX_TESTS {
            say("it has too many conditions");
        }
        for test in self.when.iter().chain([&self.must]) {
            if test.one_of.is_some() == test.present.is_some() {
                say("a test says either one_of or present");
            }
            let words = test.one_of.as_ref().map_or(1, Vec::len);
            if words == 0 || words > MAX_TESTS {
                say("a test has from 1 to 16 words");
            }
            if test.field.is_empty() || test.field.len() > MAX_TEXT {
                say("a test names a field");
            }
        }
        faults
    }
}

// === impl Test ===

impl Test {
    fn holds(&self, field: FieldLookup<'_>) -> bool {
        let value = field(&self.field).filter(|value| !value.is_null());
        let Some(value) = value else {
            return self.or_absent || self.present == Some(false);
        };
        match (&self.one_of, self.present) {
            (Some(words), _) => word_of(&value).is_some_and(|word| words.contains(&word)),
            (None, Some(expected)) => is_something(&value) == expected,
            (None, None) => true,
        }
    }
}

/// The word a value stands for. An object is known by its `type`: `{"type":"auto"}` is `auto`.
fn word_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Object(map) => map.get("type")?.as_str().map(str::to_owned),
        Value::Null | Value::Array(_) => None,
    }
}

/// Empty text, lists and objects are nothing.
fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}
