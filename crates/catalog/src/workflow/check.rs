//! Checks a record against the tables of its fields and returns everything that is wrong.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use super::Finding;
use super::rules::{Field, RECORD, Rule};
use super::tree::below;

/// Whole numbers from here to `u64::MAX` can be kept as they are.
const LEAST_WHOLE: i128 = -9_223_372_036_854_775_808;
const MOST_WHOLE: i128 = 18_446_744_073_709_551_615;

pub(super) fn record(value: &Value, findings: &mut Vec<Finding>) {
    Walk { findings }.value("$", value, Rule::Object(RECORD));
}

struct Walk<'a> {
    findings: &'a mut Vec<Finding>,
}

// === impl Walk ===

impl Walk<'_> {
    fn say(&mut self, path: &str, problem: impl Into<String>) {
        self.findings.push(Finding::at(path, problem));
    }

    fn value(&mut self, path: &str, value: &Value, rule: Rule) {
        match (rule, value) {
            (Rule::AnyText, Value::String(_))
            | (Rule::Flag, Value::Bool(_))
            | (Rule::OpenMap, Value::Object(_))
            | (Rule::OrNull(_) | Rule::Scalar, Value::Null)
            | (Rule::Scalar, Value::String(_) | Value::Bool(_)) => {}
            (Rule::Scalar, Value::Number(number)) if is_whole(number) => {}
            (Rule::Text, Value::String(text)) if !text.is_empty() => {}
            (Rule::Form(form), Value::String(text)) if (form.holds)(text) => {}
            (Rule::Word(words), Value::String(text)) if words.contains(&text.as_str()) => {}
            (Rule::Always(expected), Value::Bool(flag)) if *flag == expected => {}
            (Rule::OrNull(inner), Value::String(_)) => self.value(path, value, *inner),
            (Rule::Object(fields), Value::Object(map)) => self.object(path, map, fields),
            (Rule::Objects { least, fields }, Value::Array(items)) => {
                self.count(path, items, least);
                self.items(path, items, Rule::Object(fields));
            }
            (Rule::Texts { least, each }, Value::Array(items)) => {
                self.count(path, items, least);
                self.items(path, items, *each);
                self.different(path, items);
            }
            (Rule::Values, Value::Array(items)) => {
                for (place, item) in items.iter().enumerate() {
                    if item.is_array() || item.is_object() {
                        let words = "must be a text, a number, true, false or null";
                        self.say(&format!("{path}[{place}]"), words);
                    }
                }
            }
            (wrong, _) => self.say(path, wrong.words()),
        }
    }

    fn object(&mut self, path: &str, map: &Map<String, Value>, fields: &'static [Field]) {
        for field in fields {
            let path = below(path, field.name);
            match map.get(field.name) {
                Some(value) => self.value(&path, value, field.rule),
                None if field.required => self.say(&path, "is missing"),
                None => {}
            }
        }
        for key in map.keys() {
            if !fields.iter().any(|field| field.name == key) {
                self.say(&below(path, key), "is no field of a workflow record");
            }
        }
    }

    fn items(&mut self, path: &str, items: &[Value], rule: Rule) {
        for (place, item) in items.iter().enumerate() {
            self.value(&format!("{path}[{place}]"), item, rule);
        }
    }

    fn count(&mut self, path: &str, items: &[Value], least: usize) {
        if items.len() < least {
            self.say(path, format!("must have at least {least}"));
        }
    }

    fn different(&mut self, path: &str, items: &[Value]) {
        let mut seen = BTreeSet::new();
        for (place, item) in items.iter().enumerate() {
            if let Value::String(text) = item
                && !seen.insert(text)
            {
                let path = format!("{path}[{place}]");
                self.say(&path, "stands in the list already; each once");
            }
        }
    }
}

// === impl Rule ===

impl Rule {
    /// The error for a value that does not match.
    fn words(self) -> String {
        match self {
            Self::AnyText => "must be a text".to_owned(),
            Self::Text => "must be a text of at least 1 character".to_owned(),
            Self::Form(form) => form.words.to_owned(),
            Self::Word([one]) => format!("must be `{one}`"),
            Self::Word(words) => format!("must be one of `{}`", words.join("`, `")),
            Self::Flag => "must be true or false".to_owned(),
            Self::Always(flag) => format!("must be {flag}"),
            Self::Scalar => "must be a text, true, false, a whole number or null".to_owned(),
            Self::Values | Self::Texts { .. } | Self::Objects { .. } => "must be a list".to_owned(),
            Self::OrNull(inner) => {
                let words = inner.words();
                if words.ends_with("null") {
                    return words;
                }
                format!("{words} or null")
            }
            Self::Object(_) | Self::OpenMap => "must be an object".to_owned(),
        }
    }
}

/// JSON has one kind of number: 2.0 is whole too.
fn is_whole(number: &Number) -> bool {
    let Some(value) = number.as_f64() else {
        return false;
    };
    if number.is_i64() || number.is_u64() {
        return true;
    }
    let digits: Result<i128, _> = format!("{value:.0}").parse();
    value.fract() == 0.0 && digits.is_ok_and(|whole| (LEAST_WHOLE..=MOST_WHOLE).contains(&whole))
}
