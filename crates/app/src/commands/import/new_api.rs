//! The tables of a new-api or one-api as a plan.

use std::collections::{BTreeMap, BTreeSet};

use trunkline_catalog::Document;
use trunkline_types::{Money, Secret, Timestamp};

use super::new_api_prices::Prices;
use super::plan::{Plan, PlannedChannel, PlannedKey, PlannedUser, is_word};
use super::providers::{self, ChannelType};
use super::tables::{Row, optional_table, table};
use crate::cli::ImportNewApi;

/// The status of what is in use.
const ENABLED: i64 = 1;
/// A type of channels whose address is a whole URL.
const CUSTOM: i64 = 8;
const CHAT_PATH: &str = "/chat/completions";
const OPENAI: &str = "https://api.openai.com";
/// Nano-USD of one quota: 500,000 of them are 1 USD.
const NANOS_PER_QUOTA: i64 = 2_000;
const DEFAULT_GROUP: &str = "default";
const AUTO_GROUP: &str = "auto";
/// Most characters of a name here.
const NAME_CHARACTERS: usize = 100;
/// The credential of a server that wants none.
const NO_KEY: &str = "none";
const WEIGHT_MAX: i64 = 1_000;

/// Reads the tables and says what is in them.
pub(super) fn plan(options: &ImportNewApi, starter: &Document) -> anyhow::Result<Plan> {
    let folder = &options.folder;
    let channels = table(folder, "channels")?;
    let users = table(folder, "users")?;
    let settings = table(folder, "options")?;
    let tokens = optional_table(folder, "tokens")?.unwrap_or_default();
    let mut plan = Plan::default();
    let prices = Prices::read(&settings)?;
    groups(&prices, &channels, &users, &mut plan);
    for channel in &channels {
        if let Some(planned) = planned_channel(channel, &options.source, &mut plan) {
            plan.channels.push(planned);
        }
    }
    rank(&channels, &options.source, &mut plan);
    prices.sell(starter, &mut plan);
    let mut keys = keys(&tokens, &mut plan);
    for user in &users {
        if let Some(planned) = planned_user(user, &mut keys, &mut plan) {
            plan.users.push(planned);
        }
    }
    plan.ignored.extend(
        [
            "passwords and sign-in identities: invite people by `trunkline account invite`",
            "logs and used quota",
            "redemption codes, subscriptions, roles, and options other than prices and group ratios",
        ]
        .map(str::to_owned),
    );
    Ok(plan)
}

/// The groups of channels and users, with their ratios.
fn groups(prices: &Prices, channels: &[Row], users: &[Row], plan: &mut Plan) {
    let mut names: BTreeSet<String> = BTreeSet::from([DEFAULT_GROUP.to_owned()]);
    names.extend(prices.group_ratios.keys().cloned());
    for channel in channels {
        names.extend(channel.parts("group", ','));
    }
    names.extend(users.iter().map(|user| user.text("group").to_owned()));
    for name in names.into_iter().filter(|name| !name.is_empty()) {
        if !is_word(&name) || name == AUTO_GROUP {
            plan.skip("group", &name, "this name cannot be used");
            continue;
        }
        match prices.group_ratios.get(&name).map(|text| text.parse()) {
            Some(Ok(rate)) => drop(plan.groups.insert(name, rate)),
            Some(Err(_)) => plan.skip(
                "group",
                &name,
                "its ratio cannot be used: it must be above 0",
            ),
            None => {
                plan.differs("group", &name, "GroupRatio does not name it: its rate is 1");
                plan.groups.insert(name, trunkline_types::Ratio::ONE);
            }
        }
    }
}

fn planned_channel(row: &Row, source: &str, plan: &mut Plan) -> Option<PlannedChannel> {
    let id = row.number("id").unwrap_or_default();
    let label = format!("{id} {}", row.text("name"));
    let number = row.number("type").unwrap_or_default();
    let Some((provider, base_url)) = address(number, row.text("base_url")) else {
        let reason = format!("type {number} with this address has no provider that is built in");
        plan.skip("channel", &label, reason);
        return None;
    };
    let models = channel_models(row, &label, plan);
    if models.is_empty() {
        plan.skip("channel", &label, "the channel has no models");
        return None;
    }
    let mut keys: Vec<(String, Secret)> = row
        .parts("key", '\n')
        .into_iter()
        .zip(1_usize..)
        .map(|(key, number)| (format!("key-{number}"), Secret::new(key)))
        .collect();
    if keys.is_empty() && providers::needs_no_key(provider) {
        keys.push((NO_KEY.to_owned(), Secret::new(NO_KEY.to_owned())));
    }
    let mut groups = row.parts("group", ',');
    groups.retain(|group| plan.groups.contains_key(group));
    if groups.is_empty() {
        plan.skip("channel", &label, "no group of the channel is imported");
        return None;
    }
    let weight = row
        .number("weight")
        .unwrap_or_default()
        .clamp(1, WEIGHT_MAX);
    Some(PlannedChannel {
        name: format!("{source}-{id}"),
        provider: provider.to_owned(),
        base_url,
        keys,
        models,
        groups,
        priority: 0,
        weight: u32::try_from(weight).unwrap_or(1),
        is_on: row.number("status") == Some(ENABLED),
        cost: BTreeMap::new(),
    })
}

/// Names here and at the upstream.
fn channel_models(row: &Row, label: &str, plan: &mut Plan) -> BTreeMap<String, String> {
    let mapping = row.object("model_mapping");
    if mapping.is_none() && row.has("model_mapping") {
        let reason = "model_mapping is not JSON and was left out";
        plan.differs("channel", label, reason);
    }
    let mapping = mapping.unwrap_or_default();
    let mut models = BTreeMap::new();
    for name in row.parts("models", ',') {
        let upstream = mapping.get(&name).and_then(|value| value.as_str());
        let upstream = upstream.unwrap_or(&name).to_owned();
        if is_word(&name) && is_word(&upstream) {
            models.insert(name, upstream);
        } else {
            let reason = "a name must be visible ASCII characters without commas";
            plan.skip("model", &name, reason);
        }
    }
    models
}

/// The provider of a type and the address here, none for the provider's own.
fn address(number: i64, base: &str) -> Option<(&'static str, Option<String>)> {
    let base = base.trim_end_matches('/');
    if !base.is_empty() && !base.starts_with("http") {
        return None;
    }
    if number == CUSTOM {
        let base = base.strip_suffix(CHAT_PATH)?;
        return Some(("openai_compatible", Some(base.to_owned())));
    }
    let ChannelType {
        provider,
        base: default,
        path,
        ..
    } = providers::of_new_api(number)?;
    let base = if base.is_empty() { default } else { base };
    if base.is_empty() {
        return None;
    }
    // Something else than OpenAI that speaks its format knows chat completions and little more.
    let provider = if provider == "openai" && base != OPENAI {
        "openai_compatible"
    } else {
        provider
    };
    let base = base
        .strip_suffix(path)
        .filter(|_| !path.is_empty())
        .unwrap_or(base);
    Some((provider, Some(format!("{base}{path}"))))
}

/// There the highest priority is tried first, here the lowest number.
fn rank(rows: &[Row], source: &str, plan: &mut Plan) {
    let priority = |row: &Row| row.number("priority").unwrap_or_default();
    let mut all: Vec<i64> = rows.iter().map(priority).collect();
    all.sort_unstable_by(|one, other| other.cmp(one));
    all.dedup();
    let of_channel: BTreeMap<String, i64> = rows
        .iter()
        .map(|row| {
            (
                format!("{source}-{}", row.number("id").unwrap_or_default()),
                priority(row),
            )
        })
        .collect();
    for channel in &mut plan.channels {
        let own = of_channel.get(&channel.name);
        let place = all
            .iter()
            .position(|one| Some(one) == own)
            .unwrap_or_default();
        channel.priority = i32::try_from(place).unwrap_or(i32::MAX);
    }
}

fn planned_user(
    row: &Row,
    keys: &mut BTreeMap<i64, Vec<PlannedKey>>,
    plan: &mut Plan,
) -> Option<PlannedUser> {
    let id = row.number("id")?;
    let name = cleaned(row.text("username"), &format!("user {id}"));
    if row.has("deleted_at") {
        plan.skip("user", &name, "the user is deleted in new-api");
        return None;
    }
    let quota = row.number("quota").unwrap_or_default();
    let Some(nanos) = quota.checked_mul(NANOS_PER_QUOTA) else {
        plan.skip("user", &name, "the quota is out of range");
        return None;
    };
    if nanos < 0 {
        let owed = Money::from_nanos(nanos);
        plan.differs(
            "user",
            &name,
            format!("it owes {owed} USD there; it starts with 0"),
        );
    }
    let mut group = row.text("group").to_owned();
    if !plan.groups.contains_key(&group) {
        if !group.is_empty() {
            let reason =
                format!("group {group:?} is not imported; the user is put into {DEFAULT_GROUP}");
            plan.differs("user", &name, reason);
        }
        DEFAULT_GROUP.clone_into(&mut group);
    }
    Some(PlannedUser {
        id: id.to_string(),
        email: row.text("email").to_owned(),
        group,
        balance: Money::from_nanos(nanos.max(0)),
        is_on: row.number("status") == Some(ENABLED),
        keys: keys.remove(&id).unwrap_or_default(),
        name,
    })
}

/// A name that people can read here: one line, not too long.
fn cleaned(name: &str, otherwise: &str) -> String {
    let visible = name.chars().filter(|character| !character.is_control());
    let name: String = visible.take(NAME_CHARACTERS).collect();
    if name.trim().is_empty() {
        return otherwise.to_owned();
    }
    name
}

/// Tokens that are in use, by their users.
fn keys(tokens: &[Row], plan: &mut Plan) -> BTreeMap<i64, Vec<PlannedKey>> {
    let mut keys: BTreeMap<i64, Vec<PlannedKey>> = BTreeMap::new();
    for row in tokens {
        let id = row.number("id").unwrap_or_default();
        let name = cleaned(row.text("name"), &format!("token {id}"));
        let is_unlimited = row.is_true("unlimited_quota");
        let remaining = row.number("remain_quota").unwrap_or_default();
        let is_live = row.number("status") == Some(ENABLED) && !row.has("deleted_at");
        if !is_live || (!is_unlimited && remaining <= 0) {
            plan.skip("key", &name, "it is not in use there");
            continue;
        }
        let Some(user) = row.number("user_id") else {
            continue;
        };
        let expires = row.number("expired_time").filter(|seconds| *seconds > 0);
        let expires = expires.and_then(|seconds| seconds.checked_mul(1_000_000));
        let group = Some(row.text("group")).filter(|group| !group.is_empty());
        let models = row
            .is_true("model_limits_enabled")
            .then(|| row.parts("model_limits", ','));
        let addresses = row.parts("allow_ips", '\n');
        keys.entry(user).or_default().push(PlannedKey {
            name,
            group: group.map(str::to_owned),
            models,
            addresses: (!addresses.is_empty()).then_some(addresses),
            expires: expires.map(Timestamp::from_micros),
            cap: (!is_unlimited)
                .then(|| Money::from_nanos(remaining.saturating_mul(NANOS_PER_QUOTA))),
        });
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_where_it_led_there() {
        let of = |number, base| {
            let (provider, base) = address(number, base)?;
            Some((provider, base.unwrap_or_default()))
        };
        let is = |provider, base: &str| Some((provider, base.to_owned()));
        assert_eq!(of(1, ""), is("openai", "https://api.openai.com/v1"));
        assert_eq!(
            of(1, "https://relay.example/"),
            is("openai_compatible", "https://relay.example/v1")
        );
        assert_eq!(
            of(1, "https://relay.example/v1"),
            is("openai_compatible", "https://relay.example/v1")
        );
        assert_eq!(of(25, ""), is("moonshot", "https://api.moonshot.cn/v1"));
        assert_eq!(of(27, ""), is("perplexity", "https://api.perplexity.ai"));
        assert_eq!(
            of(8, "https://x.example/a/chat/completions"),
            is("openai_compatible", "https://x.example/a")
        );
        assert_eq!(of(8, "https://x.example/{model}"), None);
        assert_eq!(of(3, ""), None, "a resource has an address of its own");
        assert_eq!(of(26, "glm-coding-plan"), None);
        assert_eq!(of(2, "https://mj.example"), None);
    }
}
