//! Failed logins. An attempt is counted before its password is checked, so that concurrent attempts
//! all count. A successful one removes its count.
//!
//! An address is locked after some failures, longer each time; attempts while it is locked do not
//! extend the lock, or an attacker could lock a person out with one attempt a minute. A network has
//! a limit of failures an hour. A device on which the person signed in before, and a session, have a
//! counter of their own: failures of others cannot lock them out.

use sqlx::{PgConnection, Row as _};
use trunkline_db::{DbError, Tx};

use super::TokenHash;
use super::tokens::ATTEMPT_LIFE_SECONDS;

/// A device on which its person did not sign in for so long is unknown again.
pub(super) const DEVICE_LIFE_SECONDS: i64 = 30 * 86_400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginLimits {
    /// Failures for one address before it is locked.
    pub address_failures: i32,
    /// The first lock, in seconds; each further failure doubles it.
    pub first_lock_seconds: i64,
    pub longest_lock_seconds: i64,
    /// Failures of one network in an hour.
    pub network_failures: i32,
    /// The window of the network limit, in seconds.
    pub network_seconds: i64,
}

/// Origin of a login attempt, as hashes.
#[derive(Debug, Clone, Copy)]
pub struct LoginAttempt<'a> {
    /// Of the address that was typed.
    pub address: &'a TokenHash,
    /// Of the network that it came from.
    pub network: &'a TokenHash,
    pub device: AttemptDevice<'a>,
}

/// What is known of the device of a login attempt.
#[derive(Debug, Clone, Copy)]
pub enum AttemptDevice<'a> {
    Unknown,
    /// The person and the device's cookie. It is known if the person signed in on it before.
    Claimed(&'a TokenHash),
    /// A session of the person.
    Session(&'a TokenHash),
}

/// A counted attempt.
#[derive(Debug, Clone, Copy)]
pub struct Counted<'a> {
    pub allowed: Allowed,
    attempt: LoginAttempt<'a>,
    counter: Counter<'a>,
}

/// Where failures are counted.
#[derive(Debug, Clone, Copy)]
enum Counter<'a> {
    Address(&'a TokenHash),
    Device(&'a TokenHash),
}

/// Whether the password may be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    Yes,
    /// Too many failures for the address. The response does not reveal it.
    Locked,
    /// Too many failures from the network; it may come back after so many seconds.
    NetworkIsOut {
        after_seconds: i64,
    },
}

// === impl LoginLimits ===

impl LoginLimits {
    pub const DEFAULT: Self = Self {
        address_failures: 5,
        first_lock_seconds: 60,
        longest_lock_seconds: 900,
        network_failures: 30,
        network_seconds: 3_600,
    };
}

/// Counts an attempt and returns whether it may continue. Commit before the password is checked.
pub async fn record_attempt<'a>(
    tx: &mut Tx,
    attempt: LoginAttempt<'a>,
    limits: &LoginLimits,
) -> Result<Counted<'a>, DbError> {
    let counter = counter_of(tx, attempt).await?;
    let counted = |allowed| Counted {
        allowed,
        attempt,
        counter,
    };
    // Always the network first, so that two transactions cannot deadlock.
    if let Counter::Address(_) = counter
        && let Some(after_seconds) = record_of_network(tx, attempt.network, limits).await?
    {
        return Ok(counted(Allowed::NetworkIsOut { after_seconds }));
    }
    let row = sqlx::query(
        "INSERT INTO app.sign_in_attempt AS a (kind, subject_hash, failures, first_at, last_at)
         VALUES ($3, $1, 0, app.now(), app.now())
         ON CONFLICT (kind, subject_hash) DO UPDATE SET
             failures = CASE WHEN a.last_at <= app.now() - $2 * interval '1 second' THEN 0 ELSE a.failures END,
             last_at = CASE WHEN a.locked_until > app.now() THEN a.last_at ELSE app.now() END
         RETURNING failures, COALESCE(locked_until > app.now(), false) AS is_locked",
    )
    .bind(&counter.subject()[..])
    .bind(ATTEMPT_LIFE_SECONDS)
    .bind(counter.kind())
    .fetch_one(&mut **tx)
    .await?;
    let is_locked: bool = row.try_get("is_locked")?;
    if is_locked {
        return Ok(counted(Allowed::Locked));
    }
    let before: i32 = row.try_get("failures")?;
    let failures = before.saturating_add(1);
    sqlx::query(
        "UPDATE app.sign_in_attempt
         SET failures = $2, locked_until = CASE WHEN $3 > 0 THEN app.now() + $3 * interval '1 second' END
         WHERE kind = $4 AND subject_hash = $1",
    )
    .bind(&counter.subject()[..])
    .bind(failures)
    .bind(limits.lock_seconds(failures))
    .bind(counter.kind())
    .execute(&mut **tx)
    .await?;
    Ok(counted(Allowed::Yes))
}

async fn counter_of<'a>(tx: &mut Tx, attempt: LoginAttempt<'a>) -> Result<Counter<'a>, DbError> {
    let device = match attempt.device {
        AttemptDevice::Unknown => return Ok(Counter::Address(attempt.address)),
        AttemptDevice::Session(session) => return Ok(Counter::Device(session)),
        AttemptDevice::Claimed(device) => device,
    };
    Ok(match is_known_device(tx, device).await? {
        true => Counter::Device(device),
        false => Counter::Address(attempt.address),
    })
}

/// Whether a person signed in on a device lately.
pub async fn is_known_device(
    connection: &mut PgConnection,
    device: &TokenHash,
) -> Result<bool, DbError> {
    let known = sqlx::query(
        "SELECT 1 FROM app.sign_in_attempt WHERE kind = 'device' AND subject_hash = $1
         AND last_at > app.now() - $2 * interval '1 second'",
    )
    .bind(&device[..])
    .bind(DEVICE_LIFE_SECONDS)
    .fetch_optional(connection)
    .await?;
    Ok(known.is_some())
}

/// Counts an attempt of a network. The seconds that it has to wait, if it had too many.
async fn record_of_network(
    tx: &mut Tx,
    network: &TokenHash,
    limits: &LoginLimits,
) -> Result<Option<i64>, DbError> {
    let row = sqlx::query(
        "INSERT INTO app.sign_in_attempt AS a (kind, subject_hash, failures, first_at, last_at)
         VALUES ('network', $1, 1, app.now(), app.now())
         ON CONFLICT (kind, subject_hash) DO UPDATE SET
             failures = CASE WHEN a.first_at <= app.now() - $2 * interval '1 second' THEN 1
                             ELSE least(a.failures, $3) + 1 END,
             first_at = CASE WHEN a.first_at <= app.now() - $2 * interval '1 second' THEN app.now()
                             ELSE a.first_at END,
             last_at = app.now()
         RETURNING failures, ceil(extract(epoch FROM
             first_at + $2 * interval '1 second' - app.now()))::bigint AS after_seconds",
    )
    .bind(&network[..])
    .bind(limits.network_seconds)
    .bind(limits.network_failures)
    .fetch_one(&mut **tx)
    .await?;
    let failures: i32 = row.try_get("failures")?;
    let after_seconds: i64 = row.try_get("after_seconds")?;
    Ok((failures > limits.network_failures).then_some(after_seconds))
}

/// A successful login: resets its counter and removes the network's count.
pub async fn clear_attempts(tx: &mut Tx, counted: &Counted<'_>) -> Result<(), DbError> {
    match counted.counter {
        Counter::Device(device) => remember_device(tx, device).await,
        Counter::Address(address) => {
            sqlx::query(
                "UPDATE app.sign_in_attempt SET failures = greatest(failures - 1, 0)
                 WHERE kind = 'network' AND subject_hash = $1",
            )
            .bind(&counted.attempt.network[..])
            .execute(&mut **tx)
            .await?;
            sqlx::query(
                "DELETE FROM app.sign_in_attempt WHERE kind = 'address' AND subject_hash = $1",
            )
            .bind(&address[..])
            .execute(&mut **tx)
            .await?;
            Ok(())
        }
    }
}

/// Makes a device known: its person has signed in on it.
pub async fn remember_device(tx: &mut Tx, device: &TokenHash) -> Result<(), DbError> {
    sqlx::query(
        "INSERT INTO app.sign_in_attempt (kind, subject_hash, failures, first_at, last_at)
         VALUES ('device', $1, 0, app.now(), app.now())
         ON CONFLICT (kind, subject_hash) DO UPDATE
         SET failures = 0, locked_until = NULL, last_at = app.now()",
    )
    .bind(&device[..])
    .execute(&mut **tx)
    .await?;
    Ok(())
}

// === impl Counted, Counter ===

impl Counted<'_> {
    /// Whether the person signed in on the device before.
    #[must_use]
    pub const fn is_of_known_device(&self) -> bool {
        matches!(self.counter, Counter::Device(_))
    }
}

impl<'a> Counter<'a> {
    const fn kind(self) -> &'static str {
        match self {
            Self::Address(_) => "address",
            Self::Device(_) => "device",
        }
    }

    const fn subject(self) -> &'a TokenHash {
        match self {
            Self::Address(subject) | Self::Device(subject) => subject,
        }
    }
}

// === impl LoginLimits ===

impl LoginLimits {
    /// How long an address is locked after so many failures; 0 for not at all.
    #[must_use]
    pub fn lock_seconds(&self, failures: i32) -> i64 {
        let Some(beyond) = failures
            .checked_sub(self.address_failures)
            .and_then(|beyond| u32::try_from(beyond).ok())
        else {
            return 0;
        };
        let factor = 1_i64.checked_shl(beyond.min(62)).unwrap_or(i64::MAX);
        let lock = self.first_lock_seconds.saturating_mul(factor);
        lock.min(self.longest_lock_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_from_one_minute_to_fifteen() {
        let lock = |failures| LoginLimits::DEFAULT.lock_seconds(failures);
        assert_eq!([0, 1, 4].map(lock), [0, 0, 0]);
        assert_eq!([5, 6, 7, 8, 9, 10].map(lock), [60, 120, 240, 480, 900, 900]);
        assert_eq!(lock(i32::MAX), 900);
    }
}
