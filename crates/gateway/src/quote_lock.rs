//! A quote that is kept: a sealed text that names the prices and the clock it was made under. Any
//! node can open it, only nodes can make or change one, and there is no table of them.

use std::borrow::Cow;

use http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use trunkline_catalog::{GroupChoice, PricingVersion, Sale};
use trunkline_keyring::{Binding, Purpose};
use trunkline_store::catalog::book_at;
use trunkline_types::{AccountId, Money, Timestamp};

use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::priced_call::Offer;
use crate::services::Services;

/// How long the prices of a quote are kept.
pub(crate) const QUOTE_SECONDS: i64 = 600;
const PREFIX: &str = "tlq_";
pub(crate) const QUOTE_HEADER: &str = "trunkline-quote";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LockedQuote {
    /// The number of the catalog.
    #[serde(rename = "r")]
    pub(crate) revision: i64,
    /// The clock that tiers look at, in microseconds.
    #[serde(rename = "a")]
    pub(crate) at: i64,
    /// The group whose price it is.
    #[serde(rename = "g")]
    pub(crate) group: String,
    /// The model whose price it is: an alias may name another one meanwhile. Empty in quotes of an
    /// older release.
    #[serde(rename = "m", default)]
    pub(crate) model: String,
    #[serde(rename = "b")]
    pub(crate) body: [u8; 32],
    /// The most that it said, in nano-USD. None in quotes of an older release.
    #[serde(rename = "x", default)]
    pub(crate) maximum: Option<i64>,
}

impl LockedQuote {
    /// The last moment at which it counts.
    pub(crate) const fn ends(&self) -> Timestamp {
        Timestamp::from_micros(self.at).plus_seconds(QUOTE_SECONDS)
    }
}

/// The text that brings a quote back.
pub(crate) fn seal_quote(
    services: &Services,
    account: AccountId,
    endpoint: &str,
    lock: &LockedQuote,
) -> Result<String, ApiError> {
    let plain = serde_json::to_vec(lock).map_err(|_| ApiError::unavailable())?;
    let binding = Binding::of_account(account, endpoint.as_bytes());
    let sealed = services
        .keyring
        .seal_text(Purpose::Quotes, &binding, PREFIX, &plain);
    sealed.map_err(|error| {
        tracing::error!(%error, "quote: sealing failed");
        ApiError::unavailable()
    })
}

/// The price of a model for a caller, as offered now or by a quote that the request brings.
pub(crate) async fn offer(
    services: &Services,
    caller: &Caller,
    headers: &HeaderMap,
    endpoint: &str,
    model: &str,
    body: Cow<'_, [u8]>,
) -> Result<Offer, ApiError> {
    match headers.get(QUOTE_HEADER) {
        Some(quote) => {
            // In a box: few calls bring one.
            Box::pin(redeem(services, quote, caller, endpoint, model, &body)).await
        }
        None => {
            let book = &services.catalog.load_full().book;
            Ok(Offer {
                sale: caller.sale(book, model)?,
                at: services.now(),
                maximum: None,
            })
        }
    }
}

/// What a quote that a call brings along has locked.
pub(crate) async fn redeem(
    services: &Services,
    quote: &HeaderValue,
    caller: &Caller,
    endpoint: &str,
    model: &str,
    body: &[u8],
) -> Result<Offer, ApiError> {
    // A quote may be another key's of the account; what this key may use is this key's.
    caller.check_model(model)?;
    let text = quote.to_str().unwrap_or_default();
    let binding = Binding::of_account(caller.account.id, endpoint.as_bytes());
    let opened = services
        .keyring
        .open_text(Purpose::Quotes, &binding, PREFIX, text);
    let plain =
        opened.map_err(|_| other_quote("this quote was not made for this account and endpoint"))?;
    let lock: LockedQuote = serde_json::from_slice(plain.reveal())
        .map_err(|_| other_quote("this quote cannot be read"))?;
    if services.now() > lock.ends() {
        let text = format!("this quote expired after {QUOTE_SECONDS} seconds; request a new one");
        return Err(ApiError::new(ErrorCode::QuoteExpired, text).at(QUOTE_HEADER));
    }
    if body_hash(body) != Some(lock.body) {
        let text = "this quote was made for another body; send the body that was quoted";
        return Err(other_quote(text));
    }
    if !lock.model.is_empty() && lock.model != model {
        return Err(other_quote("this quote was made for another model"));
    }
    if let GroupChoice::Named(group) = caller.group()
        && group != lock.group
    {
        return Err(other_quote("this quote was made in another price group"));
    }
    Ok(Offer {
        sale: sale_at(services, model, &lock).await?,
        at: Timestamp::from_micros(lock.at),
        maximum: lock.maximum.map(Money::from_nanos),
    })
}

/// The price as it was. Seldom is it not the present one, so there is no memory of others.
async fn sale_at(services: &Services, model: &str, lock: &LockedQuote) -> Result<Sale, ApiError> {
    let gone = || other_quote("the model of this quote no longer exists");
    let group = GroupChoice::Named(&lock.group);
    let catalog = services.catalog.load_full();
    if catalog.revision == lock.revision {
        return catalog.book.sale(model, group).map_err(|_| gone());
    }
    let mut session = services.data.session().await?;
    let found = book_at(&mut session, model, lock.revision).await;
    let (book, version) = found
        .map_err(|_| ApiError::unavailable())?
        .ok_or_else(gone)?;
    let mut sale = book.sale(model, group).map_err(|_| gone())?;
    sale.version = PricingVersion::from_bytes(version);
    Ok(sale)
}

/// The hash of a body whose spaces and order of keys do not count: a client that writes the same
/// twice may write it differently.
pub(crate) fn body_hash(body: &[u8]) -> Option<[u8; 32]> {
    let value: serde_json::Value = serde_json::from_slice(body).ok()?;
    let canonical = serde_json::to_vec(&value).ok()?;
    Some(Sha256::digest(canonical).into())
}

fn other_quote(text: &str) -> ApiError {
    ApiError::new(ErrorCode::QuoteMismatch, text.to_owned()).at(QUOTE_HEADER)
}
