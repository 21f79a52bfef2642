//! JSON text as a tree, with every key that stands twice, and every text with a NUL, told by its path. A reader that keeps one of
//! the two in silence would check another record than the one a person sees.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::Finding;

/// Characters of a key that are shown back.
const SHOWN_CHARACTERS: usize = 40;

const NUL: &str = "must not have the character U+0000";

/// Reads the text. Text that is not JSON is one finding, because nothing after it can be trusted.
pub(super) fn read(text: &str, findings: &mut Vec<Finding>) -> Result<Value, Finding> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let node = Node {
        path: "$".to_owned(),
        findings,
    };
    let value = node.deserialize(&mut deserializer);
    let value = value.and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| Finding::at("$", format!("is not JSON: {error}")))
}

/// The path of a key below another path.
pub(super) fn below(path: &str, key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    if !key.is_empty() && key.len() <= SHOWN_CHARACTERS && key.chars().all(plain) {
        return format!("{path}.{key}");
    }
    let shortened: String = key.chars().take(SHOWN_CHARACTERS).collect();
    format!("{path}[{shortened:?}]")
}

/// One value to come, and where it stands.
struct Node<'a> {
    path: String,
    findings: &'a mut Vec<Finding>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        if value.contains('\0') {
            self.findings.push(Finding::at(&self.path, NUL));
        }
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            let item = Node {
                path: format!("{}[{}]", self.path, items.len()),
                findings: self.findings,
            };
            match access.next_element_seed(item)? {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let (mut map, mut reported) = (Map::new(), BTreeSet::new());
        while let Some(key) = access.next_key::<String>()? {
            let path = below(&self.path, &key);
            if key.contains('\0') {
                self.findings.push(Finding::at(&path, NUL));
            }
            if map.contains_key(&key) && reported.insert(key.clone()) {
                self.findings
                    .push(Finding::at(&path, "stands more than once"));
            }
            let findings = &mut *self.findings;
            map.insert(key, access.next_value_seed(Node { path, findings })?);
        }
        Ok(Value::Object(map))
    }
}
