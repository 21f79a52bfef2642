//! Queues emails: sealed, in the transaction that causes them. The mail worker delivers them.

use trunkline_db::Tx;
use trunkline_keyring::{Binding, Purpose};
use trunkline_store::emails::{self, Content, Kind, NewEmail};
use trunkline_types::{RANDOM_BYTES, Timestamp, uuid_v7};

use crate::error::ApiError;
use crate::shared::Shared;

pub(crate) struct OutgoingEmail<'a> {
    pub(crate) kind: Kind,
    pub(crate) to: &'a str,
    pub(crate) content: Content,
    pub(crate) expires_at: Timestamp,
}

/// Queues it. Without a mail server it stays for the operator.
pub(crate) async fn write(
    shared: &Shared,
    tx: &mut Tx,
    email: OutgoingEmail<'_>,
) -> Result<(), ApiError> {
    let mut random = [0; RANDOM_BYTES];
    shared.random.fill(&mut random)?;
    let id = uuid_v7(shared.clock.now(), random);
    let context = emails::context(id);
    let binding = Binding::of_operator(&context);
    let bytes = email.content.bytes();
    let sealed = shared.keyring.seal(Purpose::Emails, &binding, &bytes);
    let sealed = sealed.map_err(|error| {
        tracing::error!(%error, "email encryption failed");
        ApiError::unavailable()
    })?;
    let new = NewEmail {
        id,
        kind: email.kind,
        to: email.to,
        sealed: &sealed,
        expires_at: email.expires_at,
        is_mailed: shared.settings.sends_mail,
    };
    Ok(emails::write(tx, &new).await?)
}
