//! What of a task no reader of the database should see: the prompt, and an upstream's link.

use serde::Serialize;
use serde::de::DeserializeOwned;
use trunkline_keyring::{Binding, Purpose};
use trunkline_types::AccountId;
use uuid::Uuid;

use crate::services::Services;

/// Seals a value for a task's row.
pub(super) fn seal_for_task(
    services: &Services,
    account: AccountId,
    task: Uuid,
    value: &impl Serialize,
) -> Option<Vec<u8>> {
    let plain = serde_json::to_vec(value).ok()?;
    let binding = Binding::of_account(account, task.as_bytes());
    let sealed = services.keyring.seal(Purpose::Tasks, &binding, &plain);
    if let Err(error) = &sealed {
        tracing::error!(%error, "video task: sealing failed");
    }
    sealed.ok()
}

/// Opens what [`Services::seal_for_task`] sealed.
pub(super) fn open_for_task<T: DeserializeOwned>(
    services: &Services,
    account: AccountId,
    task: Uuid,
    sealed: &[u8],
) -> Option<T> {
    let binding = Binding::of_account(account, task.as_bytes());
    let plain = services
        .keyring
        .open(Purpose::Tasks, &binding, sealed)
        .ok()?;
    serde_json::from_slice(plain.reveal()).ok()
}
