//! Channels to upstreams and their credentials: add, list, edit, drain, cool down, pause.
//!
//! Rows hold sealed bytes only. The caller seals and opens them with the associated data of
//! [`credential_context`] and [`proxy_context`].

mod check;
mod cost;
mod cost_history;
mod edit;
mod rows;
mod types;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use sqlx::PgConnection;
use trunkline_db::{DbError, Tx, revision};
use trunkline_types::Timestamp;

use crate::validation::{self, FieldError};

pub use cost::{COST_MAX_MODELS, CostBook};
pub use cost_history::{DatedCost, cost_at};
pub use edit::{EditChannelError, add_credentials, edit, remove_credential, replace_credential};
pub use types::{ChannelId, ChannelState, CredentialId};

/// The topic whose numbers the rows carry.
pub const TOPIC: &str = "channels";
/// Most channels: every node keeps all of them.
pub const MAX_CHANNELS: usize = 10_000;
/// Most credentials of one channel.
pub const MAX_CREDENTIALS: usize = 100;
/// Most models of one channel: an aggregator offers some hundreds.
pub const MAX_MODELS: usize = 1_000;
/// Most extra headers of one channel.
pub const MAX_HEADERS: usize = 50;
/// Longest value of an extra header.
pub const HEADER_VALUE_MAX_CHARACTERS: usize = 1_000;
/// Longest address of an upstream.
pub const BASE_URL_MAX_CHARACTERS: usize = 500;
/// The last to be tried.
pub const PRIORITY_MAX: i32 = 1_000_000;
/// The most often chosen among equals.
pub const WEIGHT_MAX: u32 = 1_000;
/// Longest sealed credential; a service account's whole key file fits.
pub const SEALED_CREDENTIAL_MAX_BYTES: usize = 16_384;
/// Longest sealed address of a proxy.
pub const SEALED_PROXY_MAX_BYTES: usize = 4_096;
/// Longest hint: it must not hold a credential.
pub const HINT_MAX_CHARACTERS: usize = 8;
/// Longest cost book as text, in bytes.
pub const COST_MAX_BYTES: usize = 262_144;

/// A channel's row with its credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct Channel {
    pub id: ChannelId,
    /// What people call it; no two have one name, and it never changes.
    pub name: String,
    /// The provider whose protocol it speaks.
    pub provider: String,
    /// The base URL, if not the provider's.
    pub base_url: Option<String>,
    /// Lower is tried first.
    pub priority: i32,
    /// How often it is chosen among channels of one priority.
    pub weight: u32,
    /// The region of the upstream.
    pub region: Option<String>,
    /// Where the upstream keeps data.
    pub residency: Option<String>,
    /// The upstream keeps nothing of requests and responses.
    pub zero_retention: bool,
    /// Our name of a model → the upstream's.
    pub models: BTreeMap<String, String>,
    /// Groups it serves; empty means all.
    pub groups: Vec<String>,
    /// Headers to send along, names in lower case.
    pub extra_headers: BTreeMap<String, String>,
    /// The proxy's address, sealed: it may hold a password.
    pub proxy: Option<Vec<u8>>,
    /// Calls a minute over all nodes.
    pub requests_per_minute: Option<i64>,
    /// Calls at once over all nodes.
    pub concurrent_calls: Option<i64>,
    /// What the upstream bills; read it with [`CostBook::from_json`].
    pub cost: Option<Value>,
    pub state: ChannelState,
    /// Its credentials, oldest first.
    pub credentials: Vec<Credential>,
    /// The number of the last change, its credentials' included.
    pub revision: i64,
}

#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    pub id: CredentialId,
    /// What people call it, once in a channel; it never changes.
    pub label: String,
    /// The credential, sealed.
    pub sealed: Vec<u8>,
    /// Its last four characters.
    pub hint: String,
    /// Switched off by a person.
    pub disabled: bool,
    /// Cooling down until then.
    pub cool_until: Option<Timestamp>,
    /// Why it is paused until an operator resumes it.
    pub paused_reason: Option<String>,
}

#[derive(Clone, Copy)]
pub struct NewChannel<'a> {
    pub name: &'a str,
    /// The provider whose protocol it speaks.
    pub provider: &'a str,
    /// The base URL, if not the provider's.
    pub base_url: Option<&'a str>,
    /// Lower is tried first; 0 to [`PRIORITY_MAX`].
    pub priority: i32,
    /// How often it is chosen among equals; 1 to [`WEIGHT_MAX`].
    pub weight: u32,
    /// The region of the upstream.
    pub region: Option<&'a str>,
    /// Where the upstream keeps data.
    pub residency: Option<&'a str>,
    /// The upstream keeps nothing of requests and responses.
    pub zero_retention: bool,
    /// Our name of a model → the upstream's; at least one.
    pub models: &'a BTreeMap<String, String>,
    /// Groups it serves; empty means all.
    pub groups: &'a [String],
    pub extra_headers: &'a BTreeMap<String, String>,
    /// The proxy's address, sealed under [`proxy_context`].
    pub proxy: Option<&'a [u8]>,
    /// Calls a minute over all nodes.
    pub requests_per_minute: Option<i64>,
    /// Calls at once over all nodes.
    pub concurrent_calls: Option<i64>,
    pub cost: Option<&'a Value>,
    /// At least one.
    pub credentials: &'a [NewCredential<'a>],
}

#[derive(Clone, Copy)]
pub struct NewCredential<'a> {
    pub label: &'a str,
    /// The credential, sealed under [`credential_context`].
    pub sealed: &'a [u8],
    /// Its last four characters.
    pub hint: &'a str,
}

/// Why a channel was not added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddChannelError {
    /// Another one has the name.
    #[error("there is already a channel {name:?}; a channel's name is its own for ever")]
    NameTaken { name: String },
    #[error("there are {MAX_CHANNELS} channels, which is the most")]
    TooMany,
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The database refused, or did not answer.
    #[error(transparent)]
    Db(#[from] DbError),
}

/// Adds a channel with its credentials.
///
/// The revision is taken before the channels are counted, which serialises writers: two cannot both
/// take the last free row.
pub async fn add(tx: &mut Tx, new: &NewChannel<'_>) -> Result<Channel, AddChannelError> {
    let checked = check::channel(new)?;
    check::credentials(new.credentials)?;
    let number = revision::bump(tx, TOPIC).await?;
    if rows::count(tx).await? >= MAX_CHANNELS {
        return Err(AddChannelError::TooMany);
    }
    let taken = || AddChannelError::NameTaken {
        name: new.name.to_owned(),
    };
    let id = rows::insert(tx, new, &checked, number).await?;
    let id = id.ok_or_else(taken)?;
    for credential in new.credentials {
        rows::insert_credential(tx, id, credential, number).await?;
    }
    let written = rows::find(tx, new.name).await?;
    written.ok_or_else(taken)
}

/// A channel by its name, none if there is no such one.
pub async fn find(connection: &mut PgConnection, name: &str) -> Result<Option<Channel>, DbError> {
    rows::find(connection, name).await
}

/// A channel by its number, none if there is no such one.
pub async fn find_by_id(
    connection: &mut PgConnection,
    id: ChannelId,
) -> Result<Option<Channel>, DbError> {
    match rows::name_of(connection, id).await? {
        Some(name) => rows::find(connection, &name).await,
        None => Ok(None),
    }
}

/// All channels, in the order in which they are tried. At most [`MAX_CHANNELS`].
///
/// A follower reads the topic's revision first and the list after, so its list is never older than
/// its revision.
pub async fn list(connection: &mut PgConnection) -> Result<Vec<Channel>, DbError> {
    rows::list(connection).await
}

/// Sets a channel's state. False if there is no such channel.
pub async fn set_state(
    tx: &mut Tx,
    channel: ChannelId,
    state: ChannelState,
) -> Result<bool, DbError> {
    let number = revision::bump(tx, TOPIC).await?;
    rows::set_state(tx, channel, state, number).await
}

/// Cools a credential down until a time. False, without a new revision, if it cools down that long
/// already or does not exist. A node that knows it to be cooling down should not call this for
/// every error: writers of a topic are serialised.
pub async fn cool(
    tx: &mut Tx,
    credential: CredentialId,
    until: Timestamp,
) -> Result<bool, DbError> {
    if !rows::would_cool(tx, credential, until).await? {
        return Ok(false);
    }
    let number = revision::bump(tx, TOPIC).await?;
    rows::cool(tx, credential, until, number).await
}

/// Pauses a credential until an operator resumes it. The first reason stays: false, without a new
/// revision, if it is paused already or does not exist. A long reason is truncated.
pub async fn pause(tx: &mut Tx, credential: CredentialId, reason: &str) -> Result<bool, DbError> {
    if !rows::would_pause(tx, credential).await? {
        return Ok(false);
    }
    let number = revision::bump(tx, TOPIC).await?;
    rows::pause(tx, credential, &validation::reason(reason), number).await
}

/// Resumes a channel's paused credentials and returns their labels; nodes notice by the revision. A
/// credential that only cools down returns by itself.
pub async fn resume(tx: &mut Tx, channel: ChannelId) -> Result<Vec<String>, DbError> {
    let number = revision::bump(tx, TOPIC).await?;
    rows::resume(tx, channel, number).await
}

/// Resumes one paused credential. False, without a new revision, if it is not paused.
pub async fn resume_credential(tx: &mut Tx, credential: CredentialId) -> Result<bool, DbError> {
    if rows::would_pause(tx, credential).await? {
        return Ok(false);
    }
    let number = revision::bump(tx, TOPIC).await?;
    rows::resume_credential(tx, credential, number).await
}

/// Associated data of a credential's seal. The parts are unambiguous, because neither a name nor a
/// label has line breaks.
#[must_use]
pub fn credential_context(channel_name: &str, label: &str) -> Vec<u8> {
    format!("app.channel_credential.sealed\n{channel_name}\n{label}").into_bytes()
}

/// Associated data of a proxy URL's seal.
#[must_use]
pub fn proxy_context(channel_name: &str) -> Vec<u8> {
    format!("app.channel.proxy\n{channel_name}").into_bytes()
}

// === impl Channel, Credential ===

impl Channel {
    /// Whether it serves a group.
    #[must_use]
    pub fn serves(&self, group: &str) -> bool {
        self.groups.is_empty() || self.groups.iter().any(|served| served == group)
    }
}

impl fmt::Debug for Channel {
    /// Without sealed bytes and without headers, which may contain a secret by mistake.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Channel")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("provider", &self.provider)
            .field("state", &self.state)
            .field("credentials", &self.credentials)
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

impl Credential {
    /// Whether it may be used at a moment.
    #[must_use]
    pub fn is_usable(&self, now: Timestamp) -> bool {
        let cooling = self.cool_until.is_some_and(|until| now < until);
        !self.disabled && self.paused_reason.is_none() && !cooling
    }
}

impl fmt::Debug for Credential {
    /// Without sealed bytes.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Credential")
            .field("id", &self.id)
            .field("label", &self.label)
            .field("disabled", &self.disabled)
            .field("cool_until", &self.cool_until)
            .field("paused_reason", &self.paused_reason)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
