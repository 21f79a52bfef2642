//! Names that other gateways have for providers, and ours. What is in no list cannot be imported.

/// LiteLLM's prefix of a model's name.
const LITELLM: [(&str, &str); 44] = [
    ("anthropic", "anthropic"),
    ("azure", "azure"),
    ("baseten", "baseten"),
    ("bedrock", "bedrock"),
    ("cerebras", "cerebras"),
    ("cloudflare", "cloudflare"),
    ("cohere", "cohere"),
    ("cohere_chat", "cohere"),
    ("custom_openai", "openai_compatible"),
    ("dashscope", "dashscope"),
    ("databricks", "databricks"),
    ("deepinfra", "deepinfra"),
    ("deepseek", "deepseek"),
    ("fireworks_ai", "fireworks"),
    ("friendliai", "friendli"),
    ("gemini", "google"),
    ("groq", "groq"),
    ("hosted_vllm", "vllm"),
    ("huggingface", "huggingface"),
    ("litellm_proxy", "openai_compatible"),
    ("lm_studio", "lmstudio"),
    ("meta_llama", "meta"),
    ("minimax", "minimax"),
    ("mistral", "mistral"),
    ("moonshot", "moonshot"),
    ("nebius", "nebius"),
    ("novita", "novita"),
    ("nvidia_nim", "nvidia"),
    ("ollama", "ollama"),
    ("ollama_chat", "ollama"),
    ("openai", "openai"),
    ("openai_like", "openai_compatible"),
    ("openrouter", "openrouter"),
    ("ovhcloud", "ovhcloud"),
    ("perplexity", "perplexity"),
    ("sambanova", "sambanova"),
    ("snowflake", "snowflake"),
    ("together_ai", "together"),
    ("vercel_ai_gateway", "vercel"),
    ("vllm", "vllm"),
    ("volcengine", "ark"),
    ("wandb", "wandb"),
    ("xai", "xai"),
    ("zai", "zhipu"),
];

/// Models that LiteLLM knows without a prefix, by how their names begin.
const UNPREFIXED: [(&str, &str); 8] = [
    ("chatgpt-", "openai"),
    ("claude-", "anthropic"),
    ("gpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("omni-moderation", "openai"),
    ("text-embedding-3", "openai"),
];

/// Servers of one's own, which need no key.
const KEYLESS: [&str; 5] = [
    "llamacpp",
    "lmstudio",
    "ollama",
    "openai_compatible",
    "vllm",
];

/// A type of channels of one-api and new-api.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChannelType {
    number: i64,
    pub(super) provider: &'static str,
    /// Where it leads without an address of its own.
    pub(super) base: &'static str,
    /// What stands between an address there and an address here.
    pub(super) path: &'static str,
}

const fn channel_type(
    number: i64,
    provider: &'static str,
    base: &'static str,
    path: &'static str,
) -> ChannelType {
    ChannelType {
        number,
        provider,
        base,
        path,
    }
}

/// Those of `constant/channel.go` whose protocol a provider of ours has.
const NEW_API: [ChannelType; 23] = [
    channel_type(1, "openai", "https://api.openai.com", "/v1"),
    channel_type(3, "azure", "", ""),
    channel_type(4, "ollama", "http://localhost:11434", "/v1"),
    channel_type(14, "anthropic", "https://api.anthropic.com", "/v1"),
    channel_type(
        17,
        "dashscope",
        "https://dashscope.aliyuncs.com",
        "/compatible-mode/v1",
    ),
    channel_type(20, "openrouter", "https://openrouter.ai/api", "/v1"),
    channel_type(
        24,
        "google",
        "https://generativelanguage.googleapis.com",
        "/v1beta",
    ),
    channel_type(25, "moonshot", "https://api.moonshot.cn", "/v1"),
    channel_type(26, "zhipu", "https://open.bigmodel.cn", "/api/paas/v4"),
    channel_type(27, "perplexity", "https://api.perplexity.ai", ""),
    channel_type(
        31,
        "openai_compatible",
        "https://api.lingyiwanwu.com",
        "/v1",
    ),
    channel_type(34, "cohere", "https://api.cohere.ai", "/compatibility/v1"),
    channel_type(35, "minimax", "https://api.minimax.chat", "/v1"),
    channel_type(40, "siliconflow", "https://api.siliconflow.cn", "/v1"),
    channel_type(42, "mistral", "https://api.mistral.ai", "/v1"),
    channel_type(43, "deepseek", "https://api.deepseek.com", "/v1"),
    channel_type(45, "ark", "https://ark.cn-beijing.volces.com", "/api/v3"),
    channel_type(46, "qianfan", "https://qianfan.baidubce.com", "/v2"),
    channel_type(47, "openai_compatible", "", "/v1"),
    channel_type(48, "xai", "https://api.x.ai", "/v1"),
    channel_type(53, "openai_compatible", "https://llm.submodel.ai", "/v1"),
    channel_type(54, "ark", "https://ark.cn-beijing.volces.com", "/api/v3"),
    channel_type(55, "openai", "https://api.openai.com", "/v1"),
];

/// A provider and the model's name there, of `provider/name` or a name that needs none.
pub(super) fn of_litellm<'a>(
    model: &'a str,
    named: Option<&str>,
) -> Option<(&'static str, &'a str)> {
    let known = |prefix: &str| {
        let found = LITELLM.iter().find(|(theirs, _)| *theirs == prefix);
        found.map(|(_, ours)| *ours)
    };
    if let Some(named) = named {
        let own = model
            .strip_prefix(named)
            .and_then(|rest| rest.strip_prefix('/'));
        return Some((known(named)?, own.unwrap_or(model)));
    }
    if let Some((prefix, rest)) = model.split_once('/') {
        return Some((known(prefix)?, rest));
    }
    let found = UNPREFIXED
        .iter()
        .find(|(start, _)| model.starts_with(start));
    found.map(|(_, provider)| (*provider, model))
}

pub(super) fn of_new_api(number: i64) -> Option<ChannelType> {
    NEW_API.into_iter().find(|known| known.number == number)
}

pub(super) fn needs_no_key(provider: &str) -> bool {
    KEYLESS.contains(&provider)
}

#[cfg(test)]
mod tests {
    use trunkline_upstream::Providers;

    use super::*;

    #[test]
    fn every_name_leads_to_a_provider_that_is_built_in() {
        let builtin = Providers::builtin().unwrap();
        let ours = LITELLM.iter().chain(&UNPREFIXED).map(|(_, ours)| *ours);
        let theirs = NEW_API.iter().map(|known| known.provider);
        for name in ours.chain(theirs).chain(KEYLESS) {
            assert!(builtin.get(name).is_some(), "{name}");
        }
    }

    #[test]
    fn an_address_of_new_api_gets_the_path_of_our_address() {
        let builtin = Providers::builtin().unwrap();
        for known in NEW_API {
            let base = builtin.get(known.provider).unwrap().base_url.clone();
            let Some(base) = base else { continue };
            assert!(base.ends_with(known.path), "{known:?} {base}");
        }
    }

    #[test]
    fn a_model_of_litellm_names_its_provider_by_prefix_or_by_itself() {
        assert_eq!(
            of_litellm("gemini/gemini-2.5-pro", None),
            Some(("google", "gemini-2.5-pro"))
        );
        assert_eq!(
            of_litellm("together_ai/meta-llama/Llama-4", None),
            Some(("together", "meta-llama/Llama-4"))
        );
        assert_eq!(of_litellm("gpt-4o", None), Some(("openai", "gpt-4o")));
        assert_eq!(
            of_litellm("org/model", Some("hosted_vllm")),
            Some(("vllm", "org/model"))
        );
        assert_eq!(of_litellm("replicate/x", None), None);
        assert_eq!(of_litellm("llama", None), None);
    }
}
