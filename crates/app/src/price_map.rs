//! Price lists that others publish: the `api.json` of models.dev and LiteLLM's
//! `model_prices_and_context_window.json`, told apart by their shape. Prices are of one token and exact;
//! what a list says of tiers, media or requests is not read and is named.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use trunkline_catalog::Faces;
use trunkline_types::{Face, UnitPrice};

use crate::decimal::Decimal;

/// Largest list that is read: the known ones have some megabytes.
pub(crate) const MAX_BYTES: u64 = 64_000_000;
/// Decimal places of a pico-USD.
const PICO_PLACES: u32 = 12;
/// The same where a price is for a million.
const PICO_OF_A_MILLION: u32 = 6;

/// LiteLLM's names of prices, which are for one token.
const LITELLM_FACES: [(&str, Face); 7] = [
    ("input_cost_per_token", Face::Input),
    ("output_cost_per_token", Face::Output),
    ("cache_read_input_token_cost", Face::CacheRead),
    ("cache_creation_input_token_cost", Face::CacheWrite),
    (
        "cache_creation_input_token_cost_above_1hr",
        Face::CacheWrite1h,
    ),
    ("input_cost_per_audio_token", Face::AudioInput),
    ("output_cost_per_audio_token", Face::AudioOutput),
];

/// Those of models.dev, for a million tokens.
const MODELS_DEV_FACES: [(&str, Face); 6] = [
    ("input", Face::Input),
    ("output", Face::Output),
    ("cache_read", Face::CacheRead),
    ("cache_write", Face::CacheWrite),
    ("input_audio", Face::AudioInput),
    ("output_audio", Face::AudioOutput),
];

/// Which list it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Litellm,
    ModelsDev,
}

/// Prices by the list's names of models.
#[derive(Debug)]
pub(crate) struct PriceMap {
    pub(crate) shape: Shape,
    models: BTreeMap<String, ListedModel>,
}

/// One model of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ListedModel {
    /// Prices of one token.
    pub(crate) faces: Faces,
    /// Whether a price had more digits than a pico-USD.
    pub(crate) is_rounded: bool,
    pub(crate) max_input_tokens: Option<u64>,
    pub(crate) max_output_tokens: Option<u64>,
}

// === impl Shape ===

impl Shape {
    /// What a list price names as its source.
    pub(crate) const fn source(self) -> &'static str {
        match self {
            Self::Litellm => "litellm, model_prices_and_context_window.json",
            Self::ModelsDev => "models.dev, api.json",
        }
    }
}

// === impl PriceMap ===

impl PriceMap {
    /// Reads a list of either shape.
    pub(crate) fn read(text: &str) -> anyhow::Result<Self> {
        let Value::Object(root) = serde_json::from_str(text)? else {
            anyhow::bail!("it is not a JSON object");
        };
        let is_vendor = |value: &Value| value.get("models").is_some_and(Value::is_object);
        let shape = if root.values().any(is_vendor) {
            Shape::ModelsDev
        } else {
            Shape::Litellm
        };
        let models = match shape {
            Shape::Litellm => of_litellm(&root),
            Shape::ModelsDev => of_models_dev(&root),
        };
        if models.is_empty() {
            anyhow::bail!(
                "it has no prices: it must be LiteLLM's price map or the api.json of models.dev"
            );
        }
        Ok(Self { shape, models })
    }

    pub(crate) fn count(&self) -> usize {
        self.models.len()
    }

    /// A model by its whole name, or below its vendor's.
    pub(crate) fn find(&self, vendor: Option<&str>, name: &str) -> Option<(&str, &ListedModel)> {
        let below = vendor.map(|vendor| format!("{vendor}/{name}"));
        let names = [below.as_deref(), Some(name)];
        let found = names
            .into_iter()
            .flatten()
            .find_map(|name| self.models.get_key_value(name));
        found.map(|(name, model)| (name.as_str(), model))
    }
}

fn of_litellm(root: &Map<String, Value>) -> BTreeMap<String, ListedModel> {
    let mut models = BTreeMap::new();
    for (name, value) in root {
        let Value::Object(fields) = value else {
            continue;
        };
        let mut model = listed(fields, &LITELLM_FACES, PICO_PLACES);
        // A vector has no output, and the list says nothing or zero.
        let is_vector = fields.get("mode").and_then(Value::as_str) == Some("embedding");
        if is_vector && model.faces.contains_key(&Face::Input) {
            model.faces.entry(Face::Output).or_insert(UnitPrice::FREE);
        }
        model.max_input_tokens = number(fields, "max_input_tokens");
        model.max_output_tokens = number(fields, "max_output_tokens");
        if model.is_priced() {
            models.insert(name.clone(), model);
        }
    }
    models
}

fn of_models_dev(root: &Map<String, Value>) -> BTreeMap<String, ListedModel> {
    let mut models = BTreeMap::new();
    for (vendor, value) in root {
        let Some(Value::Object(listed_models)) = value.get("models") else {
            continue;
        };
        for (name, value) in listed_models {
            let Some(Value::Object(cost)) = value.get("cost") else {
                continue;
            };
            let mut model = listed(cost, &MODELS_DEV_FACES, PICO_OF_A_MILLION);
            if let Some(Value::Object(limit)) = value.get("limit") {
                model.max_input_tokens = number(limit, "input").or(number(limit, "context"));
                model.max_output_tokens = number(limit, "output");
            }
            if model.is_priced() {
                models.insert(format!("{vendor}/{name}"), model);
            }
        }
    }
    models
}

fn listed(fields: &Map<String, Value>, names: &[(&str, Face)], places: u32) -> ListedModel {
    let mut model = ListedModel::default();
    for (name, face) in names {
        let Some(price) = fields.get(*name).and_then(|value| price(value, places)) else {
            continue;
        };
        model.is_rounded |= !price.is_exact;
        model.faces.insert(*face, price.price);
    }
    model
}

fn number(fields: &Map<String, Value>, name: &str) -> Option<u64> {
    fields
        .get(name)
        .and_then(Value::as_u64)
        .filter(|number| *number > 0)
}

/// A price as a list writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadPrice {
    pub(crate) price: UnitPrice,
    pub(crate) is_exact: bool,
}

/// A number, or a text with one, of which `10^places` pico-USD are one.
pub(crate) fn price(value: &Value, places: u32) -> Option<ReadPrice> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let scaled = Decimal::parse(&text)?.scaled(places)?;
    Some(ReadPrice {
        price: UnitPrice::from_pico(i64::try_from(scaled.number).ok()?).ok()?,
        is_exact: scaled.is_exact,
    })
}

/// The price of one token in LiteLLM's words.
pub(crate) fn litellm_faces(fields: &Map<String, Value>) -> ListedModel {
    listed(fields, &LITELLM_FACES, PICO_PLACES)
}

/// Whether a field is one of LiteLLM's prices that are read.
pub(crate) fn is_litellm_price(name: &str) -> bool {
    LITELLM_FACES.iter().any(|(known, _)| *known == name)
}

// === impl ListedModel ===

impl ListedModel {
    /// Whether it can be sold by the token.
    pub(crate) fn is_priced(&self) -> bool {
        self.faces.contains_key(&Face::Input) && self.faces.contains_key(&Face::Output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pico(model: &ListedModel, face: Face) -> Option<u64> {
        model.faces.get(&face).map(|price| price.pico())
    }

    #[test]
    fn both_lists_give_the_same_prices_of_one_token() {
        let litellm = r#"{
            "sample_spec": { "mode": "one of chat, embedding" },
            "gpt-x": { "input_cost_per_token": 1.25e-06, "output_cost_per_token": 0.00001,
                "cache_read_input_token_cost": 1.25e-07, "max_input_tokens": 272000,
                "litellm_provider": "openai", "mode": "chat" },
            "vector": { "input_cost_per_token": 2e-08, "mode": "embedding" },
            "picture": { "output_cost_per_image": 0.04 }
        }"#;
        let models_dev = r#"{ "openai": { "name": "OpenAI", "models": {
            "gpt-x": { "cost": { "input": 1.25, "output": 10, "cache_read": 0.125 },
                "limit": { "context": 400000, "output": 128000 } },
            "free": { "name": "No price" } } } }"#;
        let litellm = PriceMap::read(litellm).unwrap();
        let models_dev = PriceMap::read(models_dev).unwrap();
        assert_eq!(
            (litellm.shape, models_dev.shape),
            (Shape::Litellm, Shape::ModelsDev)
        );
        assert_eq!((litellm.count(), models_dev.count()), (2, 1));
        let (_, one) = litellm.find(Some("openai"), "gpt-x").unwrap();
        let (name, other) = models_dev.find(Some("openai"), "gpt-x").unwrap();
        assert_eq!((name, &one.faces), ("openai/gpt-x", &other.faces));
        assert_eq!(pico(one, Face::Input), Some(1_250_000));
        assert_eq!(pico(one, Face::Output), Some(10_000_000));
        assert_eq!(pico(one, Face::CacheRead), Some(125_000));
        assert_eq!(one.max_input_tokens, Some(272_000));
        assert_eq!(other.max_output_tokens, Some(128_000));
        let (_, vector) = litellm.find(None, "vector").unwrap();
        assert_eq!(pico(vector, Face::Output), Some(0));
        assert!(litellm.find(None, "picture").is_none());
        assert!(models_dev.find(Some("azure"), "gpt-x").is_none());
    }

    #[test]
    fn what_is_no_price_list_is_refused() {
        for text in ["[]", "{}", r#"{"a": 1}"#, "not JSON"] {
            assert!(PriceMap::read(text).is_err(), "{text}");
        }
    }
}
