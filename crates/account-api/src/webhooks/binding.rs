//! What of a webhook no reader of the database should see: where it leads, and what it is signed with.

use trunkline_keyring::{Binding, Purpose};
use trunkline_store::webhooks;
use trunkline_types::AccountId;
use uuid::Uuid;

use super::Secret;
use crate::state::AccountApi;

/// Which column of which row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SealedFor {
    /// The address of a webhook.
    Url(Uuid),
    /// The secret of a webhook, the old one too: a row's secrets may change places.
    Secret(Uuid),
    /// The address of a task.
    Task(Uuid),
}

impl SealedFor {
    fn context(self) -> Vec<u8> {
        match self {
            Self::Url(id) => webhooks::url_context(id),
            Self::Secret(id) => webhooks::secret_context(id),
            Self::Task(id) => webhooks::task_url_context(id),
        }
    }
}

/// A new secret for a webhook: for the customer, and sealed.
pub(crate) fn new_secret(
    api: &AccountApi,
    account: AccountId,
    id: Uuid,
) -> Option<(Secret, Vec<u8>)> {
    let secret = Secret::make(|bytes| api.edge.fill_random(bytes))?;
    let sealed = seal(api, account, SealedFor::Secret(id), secret.bytes())?;
    Some((secret, sealed))
}

pub(crate) fn seal(
    api: &AccountApi,
    account: AccountId,
    sealed_for: SealedFor,
    plain: &[u8],
) -> Option<Vec<u8>> {
    let context = sealed_for.context();
    let binding = Binding::of_account(account, &context);
    let sealed = api.keyring.seal(Purpose::Webhooks, &binding, plain);
    if let Err(error) = &sealed {
        tracing::error!(%error, "webhook: sealing failed");
    }
    sealed.ok()
}

pub(crate) fn open_url(
    api: &AccountApi,
    account: AccountId,
    sealed_for: SealedFor,
    sealed: &[u8],
) -> Option<String> {
    let context = sealed_for.context();
    let binding = Binding::of_account(account, &context);
    let opened = api.keyring.open(Purpose::Webhooks, &binding, sealed);
    String::from_utf8(opened.ok()?.reveal().to_vec()).ok()
}

pub(crate) fn open_secret(
    api: &AccountApi,
    account: AccountId,
    id: Uuid,
    sealed: &[u8],
) -> Option<Secret> {
    let context = SealedFor::Secret(id).context();
    let binding = Binding::of_account(account, &context);
    let opened = api.keyring.open(Purpose::Webhooks, &binding, sealed);
    Some(Secret::of(opened.ok()?))
}
