//! Policy of a key. Requested as [`PolicyFields`], validated into a [`Policy`].

mod routes;

use trunkline_types::Timestamp;

pub use self::routes::{MAX_PRICE_NANOS, MaxPrice, RoutePolicy};

use crate::Network;
use crate::validation::{
    FieldError, LIMIT_MAX, Problem, check_count, check_word, check_words, cut,
};

/// The group name that lets the price book choose the group.
pub const AUTO_GROUP: &str = "auto";

/// Names in a key's list of endpoints: those of calls, then those of the account API.
pub const ENDPOINT_NAMES: [&str; 20] = [
    "chat",
    "messages",
    "responses",
    "gemini",
    "embeddings",
    "rerank",
    "moderations",
    "completions",
    "videos",
    "images",
    "speech",
    "transcriptions",
    "translations",
    "realtime",
    "social",
    "keys",
    "aliases",
    "events",
    "webhooks",
    "usage",
];

/// In which group a key is priced.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum KeyGroup {
    #[default]
    OfAccount,
    /// In this one, which the account must be allowed.
    Named(String),
    /// In the first of the book's automatic groups that sells the model.
    Auto,
}

/// What becomes of a stream whose client leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnDisconnect {
    /// The upstream is cancelled, and what it made is charged.
    Cancel,
    /// The stream is read to its end and charged as if the client had stayed.
    Finish,
}

/// The policy as requested or shown. A list that is none allows everything, a given list only its
/// entries; a limit that is none is the operator's default.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PolicyFields {
    /// In which group the key is priced.
    pub group: KeyGroup,
    /// Public names of models.
    pub models: Option<Vec<String>>,
    /// Interfaces, by [`ENDPOINT_NAMES`].
    pub endpoints: Option<Vec<String>>,
    pub platforms: Option<Vec<String>>,
    /// Networks that callers come from.
    pub addresses: Option<Vec<String>>,
    /// Regions that upstreams work in.
    pub regions: Option<Vec<String>>,
    /// Where upstreams keep data.
    pub residencies: Option<Vec<String>>,
    /// Only upstreams that keep nothing.
    pub upstream_zero_retention: bool,
    /// In which order routes are tried; none means by priority.
    pub policy: Option<RoutePolicy>,
    /// Dearer routes are not taken.
    pub max_price: MaxPrice,
    pub requests_per_minute: Option<i64>,
    pub tokens_per_minute: Option<i64>,
    pub concurrent_calls: Option<i64>,
    /// Refuse requests with fields that would be ignored or rewritten.
    pub strict: bool,
    /// Lower a call's maximum to what the balance covers; none means while trial money pays.
    pub fit_to_balance: Option<bool>,
    /// Store nothing of requests and responses.
    pub zero_retention: bool,
    /// What becomes of a stream whose client leaves; none means it is cancelled.
    pub on_disconnect: Option<OnDisconnect>,
    /// The key is good until then.
    pub expires_at: Option<Timestamp>,
}

/// A policy that passed every check: lists are sorted, without repetition and not empty, networks
/// are networks, limits are in range.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Policy(PolicyFields);

// === impl KeyGroup ===

impl KeyGroup {
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::OfAccount => None,
            Self::Named(group) => Some(group),
            Self::Auto => Some(AUTO_GROUP),
        }
    }

    /// The group that a word names.
    #[must_use]
    pub fn of_word(word: Option<String>) -> Self {
        match word {
            None => Self::OfAccount,
            Some(word) if word == AUTO_GROUP => Self::Auto,
            Some(word) => Self::Named(word),
        }
    }
}

// === impl OnDisconnect ===

impl OnDisconnect {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Finish => "finish",
        }
    }

    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Cancel, Self::Finish]
            .into_iter()
            .find(|one| one.as_str() == word)
    }
}

// === impl Policy ===

impl Policy {
    /// Checks every field. The error names the first that is wrong.
    pub fn new(fields: PolicyFields) -> Result<Self, FieldError> {
        if let KeyGroup::Named(group) = &fields.group {
            check_word("group", group)?;
        }
        check_limit("requests_per_minute", fields.requests_per_minute)?;
        check_limit("tokens_per_minute", fields.tokens_per_minute)?;
        check_limit("concurrent_calls", fields.concurrent_calls)?;
        fields.max_price.check()?;
        Ok(Self(PolicyFields {
            models: check_list("models", fields.models)?,
            endpoints: check_endpoints(fields.endpoints)?,
            platforms: check_list("platforms", fields.platforms)?,
            addresses: check_networks(fields.addresses)?,
            regions: check_list("regions", fields.regions)?,
            residencies: check_list("residencies", fields.residencies)?,
            ..fields
        }))
    }

    /// Stored policies were validated when they were written.
    pub(crate) const fn of_row(fields: PolicyFields) -> Self {
        Self(fields)
    }

    #[must_use]
    pub const fn fields(&self) -> &PolicyFields {
        &self.0
    }

    /// The policy of a child key: fields that are not set take the parent's, others must not allow
    /// more. A limit that the parent leaves to the operator's default is not compared: the default
    /// is unknown here.
    pub(crate) fn below(&self, parent: &Self) -> Result<Self, FieldError> {
        let (own, above) = (&self.0, &parent.0);
        let group = match &own.group {
            KeyGroup::OfAccount => above.group.clone(),
            named @ (KeyGroup::Named(_) | KeyGroup::Auto) => named.clone(),
        };
        Ok(Self(PolicyFields {
            group,
            models: narrow("models", &own.models, &above.models, is_word)?,
            endpoints: narrow("endpoints", &own.endpoints, &above.endpoints, is_word)?,
            platforms: narrow("platforms", &own.platforms, &above.platforms, is_word)?,
            addresses: narrow("addresses", &own.addresses, &above.addresses, is_inside)?,
            regions: narrow("regions", &own.regions, &above.regions, is_word)?,
            residencies: narrow("residencies", &own.residencies, &above.residencies, is_word)?,
            upstream_zero_retention: own.upstream_zero_retention || above.upstream_zero_retention,
            policy: own.policy.or(above.policy),
            max_price: own.max_price.below(above.max_price)?,
            requests_per_minute: lower(
                "requests_per_minute",
                own.requests_per_minute,
                above.requests_per_minute,
            )?,
            tokens_per_minute: lower(
                "tokens_per_minute",
                own.tokens_per_minute,
                above.tokens_per_minute,
            )?,
            concurrent_calls: lower(
                "concurrent_calls",
                own.concurrent_calls,
                above.concurrent_calls,
            )?,
            strict: own.strict || above.strict,
            fit_to_balance: own.fit_to_balance.or(above.fit_to_balance),
            zero_retention: own.zero_retention || above.zero_retention,
            on_disconnect: own.on_disconnect.or(above.on_disconnect),
            expires_at: earlier(own.expires_at, above.expires_at)?,
        }))
    }
}

fn check_limit(field: &'static str, limit: Option<i64>) -> Result<(), FieldError> {
    let (least, most) = (1, LIMIT_MAX);
    if limit.is_some_and(|limit| !(least..=most).contains(&limit)) {
        return Err(FieldError::new(field, Problem::OutOfRange { least, most }));
    }
    Ok(())
}

fn check_list(
    field: &'static str,
    list: Option<Vec<String>>,
) -> Result<Option<Vec<String>>, FieldError> {
    let Some(words) = list else { return Ok(None) };
    if words.is_empty() {
        return Err(FieldError::new(field, Problem::Empty));
    }
    check_words(field, words).map(Some)
}

fn check_endpoints(list: Option<Vec<String>>) -> Result<Option<Vec<String>>, FieldError> {
    let field = "endpoints";
    let words = check_list(field, list)?;
    let unknown = |word: &&String| !ENDPOINT_NAMES.contains(&word.as_str());
    match words.iter().flatten().find(unknown) {
        Some(word) => Err(FieldError::new(
            field,
            Problem::NotAnEndpoint { excerpt: cut(word) },
        )),
        None => Ok(words),
    }
}

fn check_networks(list: Option<Vec<String>>) -> Result<Option<Vec<String>>, FieldError> {
    let field = "addresses";
    let Some(texts) = list else { return Ok(None) };
    if texts.is_empty() {
        return Err(FieldError::new(field, Problem::Empty));
    }
    let mut networks = Vec::new();
    for text in &texts {
        let wrong = || FieldError::new(field, Problem::NotANetwork { excerpt: cut(text) });
        networks.push(Network::parse(text).ok_or_else(wrong)?);
    }
    networks.sort_unstable();
    networks.dedup();
    check_count(field, networks.len())?;
    Ok(Some(networks.iter().map(Network::to_string).collect()))
}

fn narrow(
    field: &'static str,
    own: &Option<Vec<String>>,
    above: &Option<Vec<String>>,
    is_within: fn(&str, &str) -> bool,
) -> Result<Option<Vec<String>>, FieldError> {
    let (Some(own), Some(above)) = (own, above) else {
        return Ok(own.clone().or_else(|| above.clone()));
    };
    let outside = |word: &&String| !above.iter().any(|allowed| is_within(word, allowed));
    match own.iter().find(outside) {
        Some(word) => Err(wider(field, word)),
        None => Ok(Some(own.clone())),
    }
}

fn is_word(word: &str, allowed: &str) -> bool {
    word == allowed
}

fn is_inside(network: &str, allowed: &str) -> bool {
    let (network, allowed) = (Network::parse(network), Network::parse(allowed));
    allowed.is_some_and(|allowed| network.is_some_and(|network| allowed.contains(&network)))
}

fn lower(
    field: &'static str,
    own: Option<i64>,
    above: Option<i64>,
) -> Result<Option<i64>, FieldError> {
    match (own, above) {
        (Some(own), Some(above)) if own > above => Err(wider(field, &own.to_string())),
        (own, above) => Ok(own.or(above)),
    }
}

pub(crate) fn earlier(
    own: Option<Timestamp>,
    above: Option<Timestamp>,
) -> Result<Option<Timestamp>, FieldError> {
    match (own, above) {
        (Some(own), Some(above)) if own > above => Err(wider("expires_at", "a later end")),
        (own, above) => Ok(own.or(above)),
    }
}

fn wider(field: &'static str, what: &str) -> FieldError {
    FieldError::new(field, Problem::WiderThanParent { excerpt: cut(what) })
}

#[cfg(test)]
mod tests;
