//! A vendor's settings for this check only: its key, a cheap model, its price bounds.

use anyhow::{Context as _, bail};
use serde::Deserialize;

/// The live table of one provider.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Vendor {
    /// The environment variable with the key.
    pub(crate) key_env: String,
    /// The model to call.
    pub(crate) model: String,
    /// At most so much for one token of the request, in pico-USD.
    pub(crate) input_pico: u64,
    /// Price bound of one output token, in pico-USD.
    pub(crate) output_pico: u64,
    /// Cases that it does not support.
    pub(crate) unspoken: Vec<String>,
}

const TABLES: [(&str, &str); 4] = [
    ("deepseek", include_str!("../vendors/deepseek.toml")),
    ("moonshot", include_str!("../vendors/moonshot.toml")),
    ("openai", include_str!("../vendors/openai.toml")),
    ("simulator", include_str!("../vendors/simulator.toml")),
];

impl Vendor {
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        TABLES.iter().map(|(name, _)| *name)
    }

    pub(crate) fn find(name: &str) -> anyhow::Result<Self> {
        let Some((_, text)) = TABLES.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = Self::names().collect();
            bail!("{name:?} has no live table; there are {}", known.join(", "));
        };
        let vendor: Self = toml::from_str(text).with_context(|| format!("vendors/{name}.toml"))?;
        if vendor.input_pico == 0 || vendor.output_pico == 0 {
            bail!("vendors/{name}.toml: a price of 0 bounds nothing");
        }
        Ok(vendor)
    }
}

#[cfg(test)]
mod tests {
    use trunkline_upstream::{Format, Providers};

    use super::*;
    use crate::cases::Case;

    #[test]
    fn every_live_table_belongs_to_a_provider_and_names_cases_that_exist() {
        let providers = Providers::builtin().unwrap();
        for name in Vendor::names() {
            let vendor = Vendor::find(name).unwrap();
            assert!(providers.get(name).unwrap().speaks(Format::OpenaiChat));
            assert_eq!(vendor.key_env, format!("{}_API_KEY", name.to_uppercase()));
            for word in &vendor.unspoken {
                assert!(Case::ALL.iter().any(|case| case.as_str() == word), "{word}");
            }
        }
        assert!(Vendor::find("nobody").is_err());
    }
}
