//! Ids of responses, sealed. The text says everything that continuing one needs: which channel and
//! credential have it, under which id, since when, how much it may hold, and whether it was kept at
//! all. So there is no table of them, any node can go on, and another account's id opens nothing.

use serde::{Deserialize, Serialize};
use trunkline_keyring::Binding;
use trunkline_types::AccountId;

use crate::error::{ApiError, ErrorCode};
use crate::services::Services;

/// What every such id begins with.
pub(crate) const PREFIX: &str = "resp_";
const CONTEXT: &[u8] = b"response";
/// An id that an upstream says it does not know is asked for again only while it is this young.
pub(crate) const YOUNG_SECONDS: i64 = 300;
/// The field that continues one.
pub(crate) const PREVIOUS: &str = "previous_response_id";
/// The code for one that cannot be continued.
const NOT_FOUND: &str = "previous_response_not_found";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SealedResponseId {
    #[serde(rename = "c")]
    pub(crate) channel: i64,
    /// The credential it was made with: another one may belong to another account there.
    #[serde(rename = "k")]
    pub(crate) credential: i64,
    /// The upstream's id of it.
    #[serde(rename = "u")]
    pub(crate) upstream: String,
    /// When it was made, in seconds.
    #[serde(rename = "t")]
    pub(crate) minted: i64,
    /// Tokens at most that it brings along.
    #[serde(rename = "n")]
    pub(crate) tokens: u64,
    /// The upstream keeps it, so that it can be continued and read.
    #[serde(rename = "s")]
    pub(crate) stored: bool,
}

/// The id that the caller gets.
pub(crate) fn seal_response(
    services: &Services,
    account: AccountId,
    opened: &SealedResponseId,
) -> Option<String> {
    let plain = serde_json::to_vec(opened).ok()?;
    let binding = Binding::of_account(account, CONTEXT);
    let sealed = services.keyring.seal_id(&binding, PREFIX, &plain);
    if let Err(error) = &sealed {
        tracing::error!(%error, "response id: sealing failed");
    }
    sealed.ok()
}

/// What an id says, if it is this account's.
pub(crate) fn open_response(
    services: &Services,
    account: AccountId,
    id: &str,
) -> Option<SealedResponseId> {
    let binding = Binding::of_account(account, CONTEXT);
    let plain = services.keyring.open_id(&binding, PREFIX, id).ok()?;
    serde_json::from_slice(plain.reveal()).ok()
}

/// The response that a request continues.
pub(crate) fn continuation(
    services: &Services,
    account: AccountId,
    id: &str,
) -> Result<SealedResponseId, ApiError> {
    let opened = open_response(services, account, id).ok_or_else(|| {
        not_found("this account has no response with this id; send the conversation in `input`")
    })?;
    if opened.stored {
        return Ok(opened);
    }
    Err(not_found(
        "this response was not kept: the model's upstream keeps none, or `store` was false; send \
         the conversation in `input`",
    ))
}

/// A response that cannot be continued.
pub(crate) fn not_found(text: &str) -> ApiError {
    ApiError::new(ErrorCode::Invalid(NOT_FOUND), text).at(PREVIOUS)
}
