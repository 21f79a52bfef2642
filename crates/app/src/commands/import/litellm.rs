//! A LiteLLM proxy's configuration as a plan.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use serde_json::{Map, Value, json};
use trunkline_catalog::Document;
use trunkline_types::{BillingUnit, Face, Ratio, Secret, UnitPrice};

use super::plan::{Plan, PlannedChannel, is_word, record};
use super::{providers, yaml};
use crate::cli::ImportLitellm;
use crate::config::variable;
use crate::files::read_bounded;
use crate::price_map::{self, ListedModel, PriceMap};

/// Largest configuration that is read.
const MAX_BYTES: u64 = 16_000_000;
/// Where LiteLLM looks a secret up.
const ENVIRONMENT: &str = "os.environ/";
/// The credential of a server that wants none.
const NO_KEY: &str = "none";
const LABEL: &str = "main";
const OPENAI: &str = "https://api.openai.com";

/// Fields of `litellm_params` that are read, beside prices.
const READ_PARAMS: [&str; 8] = [
    "model",
    "api_base",
    "base_url",
    "api_key",
    "custom_llm_provider",
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_region_name",
];
/// Kinds of models that are sold by the token through the chat formats.
const CHAT_MODES: [&str; 3] = ["chat", "completion", "responses"];
const EMBEDDING: &str = "embedding";

/// One entry of `model_list`.
struct Deployment<'a> {
    /// Our name.
    name: String,
    provider: &'static str,
    upstream: &'a str,
    base_url: Option<String>,
    params: &'a Map<String, Value>,
    info: Map<String, Value>,
}

/// Reads the file and says what is in it.
pub(super) fn plan(options: &ImportLitellm, starter: &Document) -> anyhow::Result<Plan> {
    let document = document(&options.file)?;
    let prices = options.prices.as_deref().map(price_map).transpose()?;
    let mut plan = Plan::default();
    let Some(Value::Array(list)) = document.get("model_list") else {
        bail!("{} has no model_list", options.file.display());
    };
    plan.groups.insert(options.group.clone(), Ratio::ONE);
    let mut unread: BTreeMap<String, usize> = BTreeMap::new();
    for (position, item) in list.iter().enumerate() {
        let Some(deployment) = deployment(position, item, &mut plan) else {
            continue;
        };
        for name in deployment.params.keys() {
            if !READ_PARAMS.contains(&name.as_str()) && !price_map::is_litellm_price(name) {
                let count = unread.entry(format!("litellm_params.{name}")).or_default();
                *count = count.saturating_add(1);
            }
        }
        let listed = price_of(&deployment, prices.as_ref());
        if connect(&deployment, &listed, options, &mut plan) {
            sell(&deployment, &listed, options, starter, &mut plan);
        }
    }
    ignored(&document, &unread, &mut plan);
    Ok(plan)
}

fn document(file: &Path) -> anyhow::Result<Value> {
    let displayed = file.display();
    let text = read_bounded(file, MAX_BYTES).with_context(|| format!("cannot read {displayed}"))?;
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(&text).with_context(|| format!("{displayed} is not JSON"));
    }
    yaml::read(&text).with_context(|| format!("{displayed} cannot be read"))
}

fn price_map(file: &Path) -> anyhow::Result<PriceMap> {
    let displayed = file.display();
    let text = read_bounded(file, price_map::MAX_BYTES)
        .with_context(|| format!("cannot read {displayed}"))?;
    PriceMap::read(&text).with_context(|| format!("{displayed} cannot be used"))
}

fn deployment<'a>(position: usize, item: &'a Value, plan: &mut Plan) -> Option<Deployment<'a>> {
    let name = item.get("model_name").and_then(Value::as_str);
    let name = name.map_or_else(|| format!("model_list[{position}]"), str::to_owned);
    let Some(Value::Object(params)) = item.get("litellm_params") else {
        plan.skip("model", &name, "no litellm_params");
        return None;
    };
    let model = params
        .get("model")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if name.contains('*') || model.contains('*') {
        let reason = "a wildcard has no price of its own: list its models";
        plan.skip("model", &name, reason);
        return None;
    }
    let named = params.get("custom_llm_provider").and_then(Value::as_str);
    let Some((provider, upstream)) = providers::of_litellm(model, named) else {
        let reason = format!("{model:?} names no provider that is built in");
        plan.skip("model", &name, reason);
        return None;
    };
    if !is_word(&name) || !is_word(upstream) {
        let reason = "a name must be visible ASCII characters without commas";
        plan.skip("model", &name, reason);
        return None;
    }
    let base_url = text(params, "api_base").or_else(|| text(params, "base_url"));
    let info = match item.get("model_info") {
        Some(info) => info.as_object().cloned().unwrap_or_default(),
        None => Map::new(),
    };
    Some(Deployment {
        name,
        provider: provider_at(provider, base_url.as_deref()),
        upstream,
        base_url,
        params,
        info,
    })
}

/// Something else than OpenAI that speaks its format knows chat completions and little more.
fn provider_at(provider: &'static str, base_url: Option<&str>) -> &'static str {
    match base_url {
        Some(base) if provider == "openai" && !base.starts_with(OPENAI) => "openai_compatible",
        Some(_) | None => provider,
    }
}

/// A field that says something.
fn text(fields: &Map<String, Value>, name: &str) -> Option<String> {
    let value = fields.get(name)?.as_str()?.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// What the file says, or else the price list.
fn price_of(deployment: &Deployment<'_>, prices: Option<&PriceMap>) -> ListedModel {
    for fields in [deployment.params, &deployment.info] {
        let mut listed = price_map::litellm_faces(fields);
        let mode = deployment.info.get("mode").and_then(Value::as_str);
        if mode == Some(EMBEDDING) && listed.faces.contains_key(&Face::Input) {
            listed.faces.entry(Face::Output).or_insert(UnitPrice::FREE);
        }
        if listed.is_priced() {
            return listed;
        }
    }
    let whole = deployment.params.get("model").and_then(Value::as_str);
    let found = prices.and_then(|prices| {
        let by_whole = whole.and_then(|whole| prices.find(None, whole));
        by_whole.or_else(|| prices.find(Some(deployment.provider), deployment.upstream))
    });
    found.map(|(_, listed)| listed.clone()).unwrap_or_default()
}

fn sell(
    deployment: &Deployment<'_>,
    listed: &ListedModel,
    options: &ImportLitellm,
    starter: &Document,
    plan: &mut Plan,
) {
    let name = deployment.name.as_str();
    let known = starter
        .models
        .get(name)
        .or_else(|| starter.models.get(deployment.upstream));
    let mode = deployment.info.get("mode").and_then(Value::as_str);
    let is_sold_by_token = mode.is_none_or(|mode| CHAT_MODES.contains(&mode) || mode == EMBEDDING);
    if listed.is_priced() && is_sold_by_token {
        if listed.is_rounded {
            plan.differs("model", name, "a price was rounded to a whole pico-USD");
        }
        let limit = |name: &str| deployment.info.get(name).and_then(whole_number);
        let specs = json!({
            "type": "llm",
            "max_input_tokens": limit("max_input_tokens").or(listed.max_input_tokens),
            "max_output_tokens": limit("max_output_tokens").or(listed.max_output_tokens),
        });
        let groups = std::slice::from_ref(&options.group);
        let made = record(
            known,
            groups,
            BillingUnit::Tokens,
            listed.faces.clone(),
            &specs,
        );
        match made {
            Ok(mut entry) => {
                if mode == Some(EMBEDDING) && known.is_none() {
                    entry.endpoints = vec![trunkline_types::EndpointType::Openai];
                    entry.tasks = vec!["embeddings".to_owned()];
                }
                offer(plan, name, entry, starter);
            }
            Err(error) => plan.skip("model", name, format!("{error:#}")),
        }
        return;
    }
    match known {
        Some(known) => {
            let mut entry = known.clone();
            entry.groups = vec![options.group.clone()];
            let reason = "the file has no price; it gets that of the starter catalog";
            if !plan.models.contains_key(name) {
                plan.differs("model", name, reason);
            }
            offer(plan, name, entry, starter);
        }
        None if plan.models.contains_key(name) => {}
        None => {
            let reason =
                "no price: give input_cost_per_token and output_cost_per_token, or --prices";
            plan.skip("model", name, reason);
        }
    }
}

/// Of several deployments of one name the first one's price is taken.
fn offer(plan: &mut Plan, name: &str, entry: trunkline_catalog::Entry, starter: &Document) {
    match plan.models.get(name) {
        Some(first) if first.prices.standard != entry.prices.standard => {
            let reason = "its deployments have several prices; the first one's is taken";
            plan.differs("model", name, reason);
        }
        Some(_) => {}
        None => plan.sell_known(name, entry, starter),
    }
}

fn whole_number(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_str()?.parse().ok())
        .filter(|number| *number > 0)
}

/// Puts a model into the channel of its provider, address and key; false if there is no key. Two upstream
/// names of one model need two channels.
fn connect(
    deployment: &Deployment<'_>,
    listed: &ListedModel,
    options: &ImportLitellm,
    plan: &mut Plan,
) -> bool {
    let key = match credential(deployment) {
        Ok(key) => key,
        Err(reason) => {
            plan.skip("channel", &deployment.name, reason);
            return false;
        }
    };
    let base_url = deployment.base_url.clone();
    let fits = |channel: &&mut PlannedChannel| {
        let upstream = channel.models.get(&deployment.name);
        let same = channel
            .keys
            .first()
            .is_some_and(|(_, own)| own.reveal() == key.reveal());
        channel.provider == deployment.provider
            && channel.base_url == base_url
            && same
            && upstream.is_none_or(|known| known == deployment.upstream)
    };
    let upstream = deployment.upstream.to_owned();
    if let Some(channel) = plan.channels.iter_mut().find(fits) {
        if !listed.faces.is_empty() {
            channel.cost.insert(upstream.clone(), listed.faces.clone());
        }
        channel.models.insert(deployment.name.clone(), upstream);
        return true;
    }
    let same = |channel: &&PlannedChannel| channel.provider == deployment.provider;
    let number = plan.channels.iter().filter(same).count().saturating_add(1);
    let mut cost = BTreeMap::new();
    if !listed.faces.is_empty() {
        cost.insert(upstream.clone(), listed.faces.clone());
    }
    plan.channels.push(PlannedChannel {
        name: format!("{}-{}-{number}", options.source, deployment.provider),
        provider: deployment.provider.to_owned(),
        base_url,
        keys: vec![(LABEL.to_owned(), key)],
        models: BTreeMap::from([(deployment.name.clone(), upstream)]),
        groups: Vec::new(),
        priority: 0,
        weight: 1,
        is_on: true,
        cost,
    });
    true
}

/// The key, from the file or from the environment. A reason never repeats a value.
fn credential(deployment: &Deployment<'_>) -> Result<Secret, String> {
    if deployment.provider == "bedrock" {
        let part = |name: &str| secret(deployment.params, name);
        let (id, key) = (part("aws_access_key_id")?, part("aws_secret_access_key")?);
        let region = part("aws_region_name")?;
        let (id, key, region) = (id.reveal(), key.reveal(), region.reveal());
        return Ok(Secret::new(format!("{id}:{key}@{region}")));
    }
    if text(deployment.params, "api_key").is_some() {
        return secret(deployment.params, "api_key");
    }
    if providers::needs_no_key(deployment.provider) {
        return Ok(Secret::new(NO_KEY.to_owned()));
    }
    let model = deployment.params.get("model").and_then(Value::as_str);
    let prefix = model.and_then(|model| model.split_once('/'));
    let prefix = prefix.map_or(deployment.provider, |(prefix, _)| prefix);
    from_environment(&format!("{}_API_KEY", prefix.to_uppercase()))
}

fn secret(fields: &Map<String, Value>, name: &str) -> Result<Secret, String> {
    let value = text(fields, name).ok_or_else(|| format!("no {name}"))?;
    match value.strip_prefix(ENVIRONMENT) {
        Some(variable) => from_environment(variable),
        None => Ok(Secret::new(value)),
    }
}

fn from_environment(name: &str) -> Result<Secret, String> {
    let shortened: String = name.chars().take(100).collect();
    variable(name).ok_or_else(|| format!("the variable {shortened} is not set"))
}

/// What the file has beside models.
fn ignored(document: &Value, unread: &BTreeMap<String, usize>, plan: &mut Plan) {
    if let Value::Object(root) = document {
        let others = root.keys().filter(|name| name.as_str() != "model_list");
        plan.ignored.extend(others.cloned());
    }
    let texts = unread
        .iter()
        .map(|(name, count)| format!("{name} of {count} models"));
    plan.ignored.extend(texts);
    plan.ignored
        .push("keys, teams and users, which are in LiteLLM's database".to_owned());
}
