//! Vendors in dev: the keys of theirs that are in the environment, and which provider file speaks for
//! each. A vendor whose key is there serves its own models; the simulator stands in for all others.

use trunkline_types::Secret;

/// A vendor of the starter catalog.
pub(super) struct Vendor {
    /// Its name in the catalog.
    pub(super) name: &'static str,
    /// Variables that hold its key, the first that is set counts.
    variables: &'static [&'static str],
    /// The provider of its chat models.
    pub(super) chat: Option<&'static str>,
    /// The provider of its videos, images and audio.
    pub(super) media: Option<&'static str>,
}

/// A vendor's key, and where it was found.
pub(super) struct VendorKey {
    pub(super) vendor: &'static Vendor,
    pub(super) variable: &'static str,
    pub(super) key: Secret,
}

/// Longest key; longer text is no key.
const MAX_KEY_BYTES: usize = 4096;

const VENDORS: [Vendor; 14] = [
    vendor(
        "openai",
        &["OPENAI_API_KEY"],
        Some("openai"),
        Some("openai"),
    ),
    vendor("anthropic", &["ANTHROPIC_API_KEY"], Some("anthropic"), None),
    vendor(
        "google",
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        Some("google"),
        None,
    ),
    vendor("deepseek", &["DEEPSEEK_API_KEY"], Some("deepseek"), None),
    vendor("mistral", &["MISTRAL_API_KEY"], Some("mistral"), None),
    vendor("xai", &["XAI_API_KEY"], Some("xai"), None),
    vendor("moonshot", &["MOONSHOT_API_KEY"], Some("moonshot"), None),
    vendor(
        "zhipu",
        &["ZHIPU_API_KEY", "ZAI_API_KEY"],
        Some("zhipu"),
        Some("zhipu"),
    ),
    vendor(
        "minimax",
        &["MINIMAX_API_KEY"],
        Some("minimax"),
        Some("minimax"),
    ),
    vendor(
        "alibaba",
        &["DASHSCOPE_API_KEY"],
        Some("dashscope"),
        Some("dashscope_native"),
    ),
    vendor("bytedance", &["ARK_API_KEY"], Some("ark"), Some("ark")),
    vendor(
        "cohere",
        &["COHERE_API_KEY", "CO_API_KEY"],
        Some("cohere"),
        None,
    ),
    vendor(
        "perplexity",
        &["PERPLEXITY_API_KEY"],
        Some("perplexity"),
        None,
    ),
    vendor("kling", &["KLING_API_KEY"], None, Some("kling")),
];

const fn vendor(
    name: &'static str,
    variables: &'static [&'static str],
    chat: Option<&'static str>,
    media: Option<&'static str>,
) -> Vendor {
    Vendor {
        name,
        variables,
        chat,
        media,
    }
}

/// The vendor of that name in the catalog.
pub(super) fn named(name: &str) -> Option<&'static Vendor> {
    VENDORS.iter().find(|vendor| vendor.name == name)
}

/// The keys that `variable` finds in the environment.
pub(super) fn keys(variable: impl Fn(&str) -> Option<Secret>) -> Vec<VendorKey> {
    let found = |vendor: &'static Vendor| {
        let set = |name: &&'static str| {
            let text = variable(name)?.reveal().trim().to_owned();
            let is_key = !text.is_empty() && text.len() <= MAX_KEY_BYTES;
            is_key.then_some((*name, text))
        };
        let (variable, text) = vendor.variables.iter().find_map(set)?;
        Some(VendorKey {
            vendor,
            variable,
            key: Secret::new(text),
        })
    };
    VENDORS.iter().filter_map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vendor_s_first_variable_that_is_set_is_its_key() {
        let set = |name: &str| match name {
            "GEMINI_API_KEY" => Some("  ".to_owned()),
            "GOOGLE_API_KEY" => Some("g-1\n".to_owned()),
            "OPENAI_API_KEY" => Some("o-1".to_owned()),
            "ANTHROPIC_API_KEY" => Some(String::new()),
            _ => None,
        };
        let keys = keys(|name| set(name).map(Secret::new));
        let found: Vec<(&str, &str, &str)> = keys
            .iter()
            .map(|key| (key.vendor.name, key.variable, key.key.reveal()))
            .collect();
        assert_eq!(
            found,
            [
                ("openai", "OPENAI_API_KEY", "o-1"),
                ("google", "GOOGLE_API_KEY", "g-1"),
            ]
        );
    }
}
