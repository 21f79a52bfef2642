//! Delivery of due emails: each is claimed for the length of a lease, sent, and marked by the worker that holds the
//! claim.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use trunkline_db::{Database, DbError};
use trunkline_keyring::{Binding, Keyring, Purpose};
use trunkline_store::emails::{self, Claimed, Cleanup, Content, Failure};
use trunkline_types::Timestamp;
use uuid::Uuid;

use crate::mailer::{Envelope, Mailer, SmtpError};
use crate::template::{render, render_notice};

/// Concurrent deliveries of one node.
const AT_ONCE: i64 = 8;
/// How much longer than its longest attempt an email stays claimed.
const SLACK: Duration = Duration::from_secs(60);
/// Backoff after failed attempts: the first, doubled by each, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(6 * 3_600);
/// How long delivery of an email is retried.
const PATIENCE: Duration = Duration::from_secs(24 * 3_600);
/// Rows of one cleanup batch.
const TIDY_AT_ONCE: i64 = 500;

/// Delivers emails. Clones share everything.
#[derive(Clone)]
pub struct MailWorker {
    pub(crate) data: Database,
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) instance: Arc<Instance>,
    /// None if no mail server is configured.
    mailer: Option<Mailer>,
}

/// The installation as emails name it.
#[derive(Debug, Clone)]
pub struct Instance {
    pub name: String,
    /// Where people open the console.
    pub console_url: String,
}

/// The result of one delivery round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeliverySummary {
    pub taken: usize,
    /// Of them, those that the server accepted.
    pub sent: usize,
    /// Of them, those whose delivery was abandoned.
    pub given_up: usize,
    /// Emails that are held for the operator from now on.
    pub kept: u64,
}

/// An email without a link, to an operator.
#[derive(Debug, Clone, Copy)]
pub struct Notice<'a> {
    pub id: Uuid,
    pub at: Timestamp,
    pub to: &'a str,
    pub subject: &'a str,
    pub text: &'a str,
}

/// Why a notice was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotSent(String);

/// The outcome of one attempt.
enum End {
    Sent,
    Later,
    GivenUp,
}

/// Decrypts an email's content; none if this keyring did not seal it, or not for this row.
#[must_use]
pub fn open_sealed(keyring: &Keyring, id: Uuid, sealed: &[u8]) -> Option<Content> {
    let context = emails::context(id);
    let opened = keyring.open(Purpose::Emails, &Binding::of_operator(&context), sealed);
    Content::of_bytes(opened.ok()?.reveal())
}

// === impl MailWorker ===

impl MailWorker {
    /// Creates the mail delivery worker for this installation.
    #[must_use]
    pub fn new(
        data: Database,
        keyring: Arc<Keyring>,
        instance: Instance,
        mailer: Option<Mailer>,
    ) -> Self {
        Self {
            data,
            keyring,
            instance: Arc::new(instance),
            mailer,
        }
    }

    /// Claims and sends due emails; without a server, holds them for the operator.
    pub async fn deliver_due(&self) -> Result<DeliverySummary, DbError> {
        let Some(mailer) = &self.mailer else {
            let kept = emails::hold_for_operator(&self.data, TIDY_AT_ONCE).await?;
            return Ok(DeliverySummary {
                kept,
                ..DeliverySummary::default()
            });
        };
        let lease = mailer.timeout().saturating_add(SLACK);
        let mut session = self.data.session().await?;
        let claimed = emails::claim(&mut session, AT_ONCE, lease).await?;
        drop(session);
        let ends = join_all(claimed.iter().map(|email| self.one(mailer, email))).await;
        let mut summary = DeliverySummary {
            taken: claimed.len(),
            ..DeliverySummary::default()
        };
        for end in ends {
            match end? {
                End::Sent => summary.sent = summary.sent.saturating_add(1),
                End::GivenUp => summary.given_up = summary.given_up.saturating_add(1),
                End::Later => {}
            }
        }
        Ok(summary)
    }

    /// Whether there is a server that takes emails.
    #[must_use]
    pub const fn has_server(&self) -> bool {
        self.mailer.is_some()
    }

    /// Sends a notice to an operator at once: it must arrive while the database is away too. `id` is the same for
    /// each attempt.
    pub async fn notify(&self, notice: &Notice<'_>) -> Result<(), NotSent> {
        let Some(mailer) = &self.mailer else {
            return Err(NotSent("no mail server is configured".to_owned()));
        };
        let rendered = render_notice(&self.instance.name, notice.subject, notice.text);
        let envelope = Envelope {
            id: notice.id,
            to: notice.to,
            written_at: notice.at,
            rendered: &rendered,
        };
        let sent = mailer.send(&envelope).await;
        sent.map_err(|error| NotSent(error.text))
    }

    /// Clears emails whose link has expired and deletes old ones.
    pub async fn tidy(&self) -> Result<Cleanup, DbError> {
        emails::clean_up(&self.data, TIDY_AT_ONCE).await
    }

    async fn one(&self, mailer: &Mailer, email: &Claimed) -> Result<End, DbError> {
        let handed = match open_sealed(&self.keyring, email.id, &email.sealed) {
            None => Err(SmtpError {
                text: "it cannot be read: this node's keyring did not seal it".to_owned(),
                is_final: false,
            }),
            Some(content) => {
                let name = &self.instance.name;
                let rendered = render(name, email.kind, &content, email.expires_at);
                let envelope = Envelope {
                    id: email.id,
                    to: &email.to,
                    written_at: email.created_at,
                    rendered: &rendered,
                };
                mailer.send(&envelope).await
            }
        };
        let mut session = self.data.session().await?;
        let Err(error) = handed else {
            emails::sent(&mut session, email).await?;
            return Ok(End::Sent);
        };
        tracing::warn!(
            email = %email.id,
            kind = email.kind.as_str(),
            tries_count = email.tries,
            error = error.text,
            "email delivery failed"
        );
        let failure = Failure {
            error: &error.text,
            wait: pause(email.tries),
            patience: PATIENCE,
            is_final: error.is_final,
        };
        let given_up = emails::failed(&mut session, email, failure).await?;
        Ok(match given_up {
            Some(true) => End::GivenUp,
            Some(false) | None => End::Later,
        })
    }
}

/// The backoff after so many attempts.
fn pause(tries: i32) -> Duration {
    let doublings = u32::try_from(tries.saturating_sub(1)).unwrap_or(0).min(16);
    let factor = 2_u32.checked_pow(doublings).unwrap_or(u32::MAX);
    FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_from_a_minute_to_six_hours() {
        let minutes: Vec<u64> = (1..=12).map(|tries| pause(tries).as_secs() / 60).collect();
        assert_eq!(minutes, [1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360, 360]);
        assert_eq!(pause(i32::MAX), LONGEST_PAUSE);
        assert_eq!(pause(0), FIRST_PAUSE);
    }
}
