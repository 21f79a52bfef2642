//! The caller of a request. No I/O: the key table is in memory.

use std::net::IpAddr;
use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use trunkline_catalog::{Book, GroupChoice, Sale, Unavailable};
use trunkline_store::accounts::Account;
use trunkline_store::keys::KeyHash;
use trunkline_store::{KeyGroup, Network, RoutePolicy};
use trunkline_types::ApiKey;

use crate::error::{ApiError, ErrorCode};
use crate::key_table::{Found, KeyEntry, KeyStatus};
use crate::state::EdgeState;

/// A caller whose key is valid.
#[derive(Debug, Clone)]
pub struct Caller {
    pub key: KeyEntry,
    pub account: Arc<Account>,
}

impl Caller {
    /// Finds the caller by its key and checks everything that does not depend on the request.
    pub(crate) fn known(
        edge: &EdgeState,
        headers: &HeaderMap,
        query: Option<&str>,
        address: IpAddr,
    ) -> Result<Self, ApiError> {
        let text = key_text(headers, query).ok_or_else(|| {
            ApiError::new(
                ErrorCode::InvalidKey,
                "missing API key; send it as `Authorization: Bearer sk-tl-…`",
            )
        })?;
        let key = ApiKey::parse(text).map_err(|_| unknown_key())?;
        Self::of_hash(edge, &KeyHash::of(&key), address)
    }

    pub(crate) fn of_hash(
        edge: &EdgeState,
        hash: &KeyHash,
        address: IpAddr,
    ) -> Result<Self, ApiError> {
        let caller = Self::live(edge.find_key(hash))?;
        caller.check_address(address)?;
        Ok(caller)
    }

    /// The same caller as it is known now, if its key is still valid; for long answers.
    pub fn refresh(&self, edge: &EdgeState) -> Result<Self, ApiError> {
        Self::live(edge.find_key(&self.key.hash))
    }

    fn live(found: Found) -> Result<Self, ApiError> {
        let (key, standing, account) = match found {
            Found::Known(key, standing, account) => (key, standing, account),
            Found::Unknown => return Err(unknown_key()),
            Found::TooOld => return Err(ApiError::unavailable()),
        };
        let (kind, text) = match standing {
            KeyStatus::Live => (None, ""),
            KeyStatus::Expired => (Some(ErrorCode::ExpiredKey), "this API key has expired"),
            KeyStatus::ExpiredAbove => (
                Some(ErrorCode::ExpiredKey),
                "the parent of this API key has expired",
            ),
            KeyStatus::Revoked => (Some(ErrorCode::RevokedKey), "this API key was revoked"),
            KeyStatus::Disabled => (Some(ErrorCode::RevokedKey), "this API key is disabled"),
            KeyStatus::DisabledAbove => (
                Some(ErrorCode::RevokedKey),
                "the parent of this API key is disabled",
            ),
            KeyStatus::Replaced => (
                Some(ErrorCode::RevokedKey),
                "this API key was rotated and its overlap has ended",
            ),
        };
        if let Some(kind) = kind {
            return Err(ApiError::new(kind, text));
        }
        if account.closed_at.is_some() {
            return Err(ApiError::new(
                ErrorCode::RevokedKey,
                "this account is closed",
            ));
        }
        if account.suspended_at.is_some() {
            return Err(ApiError::new(
                ErrorCode::AccountSuspended,
                "this account is suspended; its keys and its money are kept",
            ));
        }
        Ok(Self::under_account(key, account))
    }

    /// The key with what its account demands of routes.
    fn under_account(mut key: KeyEntry, account: Arc<Account>) -> Self {
        if account.routes.is_set() {
            key.policy = Arc::new(account.routes.narrowed(&key.policy));
        }
        Self { key, account }
    }

    fn check_address(&self, address: IpAddr) -> Result<(), ApiError> {
        let Some(networks) = &self.key.policy.fields().addresses else {
            return Ok(());
        };
        let own = Network::parse(&address.to_canonical().to_string());
        let inside = own.is_some_and(|own| {
            let networks = networks.iter().filter_map(|text| Network::parse(text));
            networks.into_iter().any(|network| network.contains(&own))
        });
        if inside {
            return Ok(());
        }
        Err(ApiError::new(
            ErrorCode::AddressNotAllowed,
            format!("this API key may not be used from {address}"),
        ))
    }

    /// Whether the key may use an endpoint.
    pub fn check_endpoint(&self, endpoint: &str) -> Result<(), ApiError> {
        match &self.key.policy.fields().endpoints {
            Some(allowed) if !allowed.iter().any(|word| word == endpoint) => Err(ApiError::new(
                ErrorCode::EndpointNotAllowed,
                format!("this API key may use {}", allowed.join(", ")),
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// Whether the key may use a model.
    pub fn may_use(&self, model: &str) -> bool {
        let models = &self.key.policy.fields().models;
        models
            .as_ref()
            .is_none_or(|allowed| allowed.iter().any(|name| name == model))
    }

    /// A model at this caller's price.
    pub fn sale(&self, book: &Book, model: &str) -> Result<Sale, ApiError> {
        let refused =
            |text: String| Err(ApiError::new(ErrorCode::ModelNotAllowed, text).at("model"));
        let sale = match book.sale(model, self.group()) {
            Ok(sale) => sale,
            Err(Unavailable::UnknownModel(_)) => return Err(Self::unknown_model(model)),
            Err(Unavailable::OtherGroups) => {
                return refused(format!(
                    "{model:?} is not available in this key's price group"
                ));
            }
        };
        self.check_model(model)?;
        Ok(sale)
    }

    /// Whether the key's list has a model. Asked of the model itself, not of an alias.
    pub fn check_model(&self, model: &str) -> Result<(), ApiError> {
        if self.may_use(model) {
            return Ok(());
        }
        let text = format!("this API key may not use {model:?}");
        Err(ApiError::new(ErrorCode::ModelNotAllowed, text).at("model"))
    }

    /// The model that one of the account's own names stands for. A model of that name goes first.
    pub fn meant(&self, book: &Book, name: &str) -> Option<String> {
        let alias = || self.account.aliases.get(name).cloned();
        book.model(name).is_none().then(alias).flatten()
    }

    /// What is said of a model that is not there.
    pub fn unknown_model(model: &str) -> ApiError {
        let model: String = model.chars().take(64).collect();
        let text = format!("unknown model {model:?}; GET /v1/models lists the models of this key");
        ApiError::new(ErrorCode::ModelNotFound, text).at("model")
    }

    fn seeks_low_prices(&self) -> bool {
        let fields = self.key.policy.fields();
        fields.policy == Some(RoutePolicy::Cheapest) || fields.max_price.is_set()
    }

    /// The group whose prices apply.
    pub fn group(&self) -> GroupChoice<'_> {
        match &self.key.policy.fields().group {
            KeyGroup::OfAccount => GroupChoice::Named(&self.account.group),
            KeyGroup::Named(group) => GroupChoice::Named(group),
            KeyGroup::Auto if self.seeks_low_prices() => GroupChoice::Cheapest,
            KeyGroup::Auto => GroupChoice::Auto,
        }
    }
}

fn unknown_key() -> ApiError {
    ApiError::new(ErrorCode::InvalidKey, "invalid API key")
}

/// The key, wherever a client puts it. With several, `Authorization` wins.
pub fn key_text<'a>(headers: &'a HeaderMap, query: Option<&'a str>) -> Option<&'a str> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| {
        let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    bearer
        .or_else(|| header("x-api-key"))
        .or_else(|| header("x-goog-api-key"))
        .or_else(|| key_in(query?))
}

/// Gemini's clients may put it into the address. Our keys have no character that would be escaped.
fn key_in(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("key="))
}
