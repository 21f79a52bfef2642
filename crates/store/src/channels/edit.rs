//! Changes of a channel that is in use. Every change takes a number, so every node follows it; calls that
//! run keep the channel they began with.

use trunkline_db::{DbError, Tx, revision};

use super::{Channel, MAX_CREDENTIALS, NewChannel, NewCredential, TOPIC, check, rows};
use crate::validation::{FieldError, Problem};

/// Why a channel was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditChannelError {
    #[error("there is no channel {name:?}; `trunkline channel list` shows the names")]
    UnknownChannel { name: String },
    #[error("channel {channel:?} has no credential {label:?}; it has {labels}")]
    UnknownCredential {
        channel: String,
        label: String,
        /// Those that there are, with commas.
        labels: String,
    },
    #[error(
        "channel {channel:?} has a credential {label:?} already; `trunkline channel key replace` renews it"
    )]
    LabelTaken { channel: String, label: String },
    /// A channel without a credential serves nothing and says nothing.
    #[error(
        "{label:?} is the last credential of channel {channel:?}; add another one first, or drain the channel"
    )]
    LastCredential { channel: String, label: String },
    #[error(
        "{tasks} tasks run with credential {label:?} and could not be followed to their end; drain the channel \
         and repeat this when they have ended, or give them up with --force"
    )]
    TasksRun { label: String, tasks: i64 },
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The database refused, or did not answer.
    #[error(transparent)]
    Db(#[from] DbError),
}

/// Changes what may change of a channel: all but its name, its provider, its state and its credentials.
///
/// The revision is taken before the channel is read: of two changes at once, neither undoes the other.
pub async fn edit<E: From<EditChannelError>>(
    tx: &mut Tx,
    name: &str,
    change: impl FnOnce(&mut Channel) -> Result<(), E>,
) -> Result<Channel, E> {
    let (number, mut channel) = taken(tx, name).await?;
    change(&mut channel)?;
    let new = channel.as_new();
    let checked = check::channel(&new).map_err(EditChannelError::from)?;
    let written = rows::update(tx, channel.id, &new, &checked, number).await;
    written.map_err(EditChannelError::from)?;
    Ok(read(tx, name).await?)
}

/// Adds credentials to a channel.
pub async fn add_credentials(
    tx: &mut Tx,
    name: &str,
    new: &[NewCredential<'_>],
) -> Result<Channel, EditChannelError> {
    check::credentials(new)?;
    let (number, channel) = taken(tx, name).await?;
    let count = channel.credentials.len().saturating_add(new.len());
    if count > MAX_CREDENTIALS {
        let most = MAX_CREDENTIALS;
        return Err(FieldError::new("credentials", Problem::TooMany { most }).into());
    }
    for credential in new {
        if channel.credential(credential.label).is_some() {
            return Err(EditChannelError::LabelTaken {
                channel: channel.name,
                label: credential.label.to_owned(),
            });
        }
        rows::insert_credential(tx, channel.id, credential, number).await?;
    }
    read(tx, name).await
}

/// Replaces the secret under a label. What an upstream said of the old one counts no more.
pub async fn replace_credential(
    tx: &mut Tx,
    name: &str,
    new: &NewCredential<'_>,
) -> Result<Channel, EditChannelError> {
    check::credentials(std::slice::from_ref(new))?;
    let (number, channel) = taken(tx, name).await?;
    let known = channel.known_credential(new.label)?;
    rows::replace_credential(tx, known, new, number).await?;
    read(tx, name).await
}

/// Deletes a credential; its secret is gone. Refuses to delete the last one, and one that tasks run with
/// unless `gives_up_tasks`: their results could not be asked for.
pub async fn remove_credential(
    tx: &mut Tx,
    name: &str,
    label: &str,
    gives_up_tasks: bool,
) -> Result<Channel, EditChannelError> {
    let (number, channel) = taken(tx, name).await?;
    let known = channel.known_credential(label)?;
    if channel.credentials.len() == 1 {
        return Err(EditChannelError::LastCredential {
            channel: channel.name,
            label: label.to_owned(),
        });
    }
    let tasks = rows::running_tasks(tx, known).await?;
    if tasks > 0 && !gives_up_tasks {
        let label = label.to_owned();
        return Err(EditChannelError::TasksRun { label, tasks });
    }
    rows::delete_credential(tx, channel.id, known, number).await?;
    read(tx, name).await
}

/// The next number of the topic, and the channel as it is behind all earlier ones.
async fn taken(tx: &mut Tx, name: &str) -> Result<(i64, Channel), EditChannelError> {
    let number = revision::bump(tx, TOPIC).await?;
    Ok((number, read(tx, name).await?))
}

async fn read(tx: &mut Tx, name: &str) -> Result<Channel, EditChannelError> {
    let found = rows::find(tx, name).await?;
    found.ok_or_else(|| EditChannelError::UnknownChannel {
        name: name.chars().take(100).collect(),
    })
}

// === impl Channel ===

impl Channel {
    /// A credential by its label.
    #[must_use]
    pub fn credential(&self, label: &str) -> Option<&super::Credential> {
        let mut credentials = self.credentials.iter();
        credentials.find(|credential| credential.label == label)
    }

    fn known_credential(&self, label: &str) -> Result<super::CredentialId, EditChannelError> {
        let known = self.credential(label).map(|credential| credential.id);
        known.ok_or_else(|| {
            let labels = self.credentials.iter().map(|one| one.label.as_str());
            EditChannelError::UnknownCredential {
                channel: self.name.clone(),
                label: label.chars().take(100).collect(),
                labels: labels.collect::<Vec<_>>().join(", "),
            }
        })
    }

    /// Its fields as those of a new one, without credentials.
    #[must_use]
    pub fn as_new(&self) -> NewChannel<'_> {
        NewChannel {
            name: &self.name,
            provider: &self.provider,
            base_url: self.base_url.as_deref(),
            priority: self.priority,
            weight: self.weight,
            region: self.region.as_deref(),
            residency: self.residency.as_deref(),
            zero_retention: self.zero_retention,
            models: &self.models,
            groups: &self.groups,
            extra_headers: &self.extra_headers,
            proxy: self.proxy.as_deref(),
            requests_per_minute: self.requests_per_minute,
            concurrent_calls: self.concurrent_calls,
            cost: self.cost.as_ref(),
            credentials: &[],
        }
    }
}
