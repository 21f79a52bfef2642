//! What a new installation sells: the models of the starter catalog that its first channel serves.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail};
use trunkline_catalog::{Document, Entry, ModelKind};
use trunkline_types::{EndpointType, Face};
use trunkline_upstream::Provider;

use crate::cli::Pair;
use crate::social;

/// The vendors whose own providers are built in, where the two are called differently.
const VENDOR_OF: [(&str, &str); 5] = [
    ("ark", "bytedance"),
    ("dashscope", "alibaba"),
    ("dashscope_native", "alibaba"),
    ("vertex", "google"),
    ("zhipu", "zhipu"),
];

/// A catalog, and the vendor's name of each model in it.
pub(super) struct Offer {
    pub(super) catalog: Document,
    pub(super) models: BTreeMap<String, String>,
    /// The cheapest model that chats, for a first call.
    pub(super) first: Option<String>,
}

/// What of the starter catalog a provider serves: the models that were named, else all of its vendor.
pub(super) fn offer(provider: &Provider, named: &[Pair]) -> anyhow::Result<Offer> {
    let starter = social::starter()?;
    let models = if named.is_empty() {
        of_vendor(&starter, provider)?
    } else {
        of_names(&starter, named)?
    };
    let mut catalog = starter;
    catalog.models.retain(|name, _| models.contains_key(name));
    let vendors: BTreeSet<&String> = catalog
        .models
        .values()
        .filter_map(|entry| entry.vendor.as_ref())
        .collect();
    let vendors: BTreeSet<String> = vendors.into_iter().cloned().collect();
    catalog.vendors.retain(|name, _| vendors.contains(name));
    let first = cheapest_chat(
        catalog
            .models
            .iter()
            .map(|(name, entry)| (name.as_str(), entry)),
    );
    Ok(Offer {
        catalog,
        models,
        first,
    })
}

/// The cheapest model of a catalog that takes chat completions, by what a token of its answer costs.
pub(super) fn cheapest_chat<'a>(
    models: impl IntoIterator<Item = (&'a str, &'a Entry)>,
) -> Option<String> {
    models
        .into_iter()
        .filter(|(_, entry)| {
            entry.serves(EndpointType::Openai) && entry.specs.kind == Some(ModelKind::Llm)
        })
        .filter_map(|(name, entry)| {
            let price = entry.prices.standard.get(&Face::Output)?;
            Some((*price, name))
        })
        .min()
        .map(|(_, name)| name.to_owned())
}

fn of_vendor(starter: &Document, provider: &Provider) -> anyhow::Result<BTreeMap<String, String>> {
    let known = VENDOR_OF.iter().find(|(name, _)| *name == provider.name);
    let vendor = known.map_or(provider.name.as_str(), |(_, vendor)| vendor);
    let models: BTreeMap<String, String> = starter
        .models
        .iter()
        .filter(|(_, entry)| entry.vendor.as_deref() == Some(vendor) && serves(provider, entry))
        .map(|(name, _)| (name.clone(), name.clone()))
        .collect();
    if models.is_empty() {
        bail!(
            "the starter catalog has no models of provider {}; name what it serves, such as \
             --model gpt-5-mini=their-name-of-it",
            provider.name
        );
    }
    Ok(models)
}

/// Whether calls of a model can go there.
fn serves(provider: &Provider, entry: &Entry) -> bool {
    let mut endpoints = entry.endpoints.iter();
    endpoints.any(|endpoint| provider.serves(*endpoint))
}

fn of_names(starter: &Document, named: &[Pair]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut models = BTreeMap::new();
    for Pair(public, theirs) in named {
        starter.models.get(public).with_context(|| {
            format!(
                "the starter catalog has no model {public:?}; `trunkline catalog import` adds your own models"
            )
        })?;
        if models.insert(public.clone(), theirs.clone()).is_some() {
            bail!("--model names {public:?} twice");
        }
    }
    Ok(models)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_upstream::Providers;

    fn of(provider: &str, named: &[Pair]) -> anyhow::Result<Offer> {
        let providers = Providers::builtin().unwrap();
        offer(providers.get(provider).unwrap(), named)
    }

    #[test]
    fn a_vendors_models_are_sold_and_no_others() {
        let offer = of("anthropic", &[]).unwrap();
        assert_eq!(offer.catalog.models.len(), offer.models.len());
        assert!(offer.models.iter().all(|(ours, theirs)| ours == theirs));
        let vendors: Vec<&String> = offer.catalog.vendors.keys().collect();
        assert_eq!(vendors, ["anthropic"]);
        assert!(offer.catalog.groups.contains_key("default"));
        assert!(offer.models.contains_key(&offer.first.unwrap()));
    }

    #[test]
    fn models_without_a_channel_are_left_out() {
        let offer = of("openai", &[]).unwrap();
        assert!(offer.models.contains_key("gpt-5-mini"));
        assert!(offer.models.contains_key("gpt-realtime-2.1"));
        let anthropic = of("anthropic", &[]).unwrap();
        assert!(!anthropic.models.contains_key("gpt-realtime-2.1"));
    }

    #[test]
    fn a_provider_of_other_vendors_models_is_told_which_it_serves() {
        assert!(of("openrouter", &[]).is_err());
        let pair = |ours: &str| Pair(ours.to_owned(), "theirs".to_owned());
        let offer = of("openrouter", &[pair("gpt-5-mini")]).unwrap();
        assert_eq!(offer.models["gpt-5-mini"], "theirs");
        assert_eq!(offer.first.as_deref(), Some("gpt-5-mini"));
        assert!(of("openrouter", &[pair("unknown")]).is_err());
        assert!(of("openrouter", &[pair("gpt-5-mini"), pair("gpt-5-mini")]).is_err());
    }

    #[test]
    fn every_builtin_provider_with_models_of_its_own_has_an_offer() {
        let own = [
            "openai",
            "anthropic",
            "google",
            "deepseek",
            "moonshot",
            "mistral",
            "xai",
            "perplexity",
            "cohere",
            "zhipu",
            "minimax",
            "kling",
            "ark",
            "dashscope",
            "dashscope_native",
            "vertex",
            "meta",
            "xiaomi",
        ];
        for provider in own {
            let offer = of(provider, &[]).unwrap_or_else(|error| panic!("{provider}: {error}"));
            assert!(!offer.models.is_empty());
        }
    }
}
