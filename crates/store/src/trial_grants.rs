//! Trial grants: recipient, expiry, and whether the rest was deducted. The caller moves the money
//! with the ledger in the same transaction.

use sha2::{Digest as _, Sha256};
use sqlx::{PgConnection, Row as _};
use time::OffsetDateTime;
use trunkline_db::{DbError, Tx, from_sql_time};
use trunkline_types::{AccountId, Money, Timestamp};

/// Domains that ignore dots before the `@`.
const WITHOUT_DOTS: [&str; 2] = ["gmail.com", "googlemail.com"];
const ONE_OF_THEM: &str = "gmail.com";

/// Hash of a normalised address: one grant each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipient([u8; 32]);

#[derive(Debug, Clone, Copy)]
pub struct NewGrant {
    pub recipient: Recipient,
    pub account: AccountId,
    pub amount: Money,
    /// Its lifetime in days.
    pub days: i64,
    /// Most grants of a UTC day, over all accounts.
    pub per_day: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granted {
    /// Written; the caller moves the money in this transaction.
    Now,
    /// The address has had a grant before.
    Before,
    /// The daily number of grants is used up.
    NoneLeftToday,
}

#[derive(Debug, Clone, Copy)]
pub struct Expired {
    pub recipient: Recipient,
    pub account: AccountId,
    pub amount: Money,
}

/// Writes a grant, once for an address. Grants are serialised, so that no day exceeds its number.
pub async fn grant(tx: &mut Tx, new: &NewGrant) -> Result<Granted, DbError> {
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended('app.trial_grant', 0))")
        .execute(&mut **tx)
        .await?;
    let known: Option<i32> =
        sqlx::query_scalar("SELECT 1 FROM app.trial_grant WHERE address_hash = $1")
            .bind(new.recipient.0.as_slice())
            .fetch_optional(&mut **tx)
            .await?;
    if known.is_some() {
        return Ok(Granted::Before);
    }
    let done = sqlx::query(
        "INSERT INTO app.trial_grant (address_hash, account_id, amount_nanos, expires_at)
         SELECT $1, $2, $3, app.now() + make_interval(days => $4::integer)
         WHERE (SELECT count(*) FROM app.trial_grant
                WHERE granted_at >= date_trunc('day', app.now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC') < $5",
    )
    .bind(new.recipient.0.as_slice())
    .bind(new.account.number())
    .bind(new.amount.nanos())
    .bind(new.days)
    .bind(new.per_day)
    .execute(&mut **tx)
    .await?;
    if done.rows_affected() == 0 {
        return Ok(Granted::NoneLeftToday);
    }
    Ok(Granted::Now)
}

/// The next expired grant, locked for this transaction; none if there is none, or if others hold
/// all.
pub async fn next_expired(tx: &mut Tx) -> Result<Option<Expired>, DbError> {
    let row = sqlx::query(
        "SELECT address_hash, account_id, amount_nanos FROM app.trial_grant
         WHERE ended_at IS NULL AND expires_at <= app.now()
         ORDER BY expires_at LIMIT 1 FOR UPDATE SKIP LOCKED",
    )
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let hash: Vec<u8> = row.try_get("address_hash")?;
    let hash = <[u8; 32]>::try_from(hash)
        .map_err(|_| DbError::from(sqlx::Error::Decode("a hash of another length".into())))?;
    Ok(Some(Expired {
        recipient: Recipient(hash),
        account: AccountId::new(row.try_get("account_id")?),
        amount: Money::from_nanos(row.try_get("amount_nanos")?),
    }))
}

/// Marks a grant ended, in the transaction that deducted the rest.
pub async fn end(tx: &mut Tx, grant: &Expired, taken: Money) -> Result<(), DbError> {
    sqlx::query(
        "UPDATE app.trial_grant SET ended_at = app.now(), taken_nanos = $2 WHERE address_hash = $1",
    )
    .bind(grant.recipient.0.as_slice())
    .bind(taken.nanos())
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// When an account's trial credit expires; none if it has none.
pub async fn ends_at(
    connection: &mut PgConnection,
    account: AccountId,
) -> Result<Option<Timestamp>, DbError> {
    let at: Option<OffsetDateTime> = sqlx::query_scalar(
        "SELECT min(expires_at) FROM app.trial_grant WHERE account_id = $1 AND ended_at IS NULL",
    )
    .bind(account.number())
    .fetch_one(connection)
    .await?;
    Ok(at.map(from_sql_time))
}

// === impl Recipient ===

impl Recipient {
    /// Normalises an address: lower case, without a plus tag, and without dots where the domain
    /// ignores them.
    #[must_use]
    pub fn of_address(address: &str) -> Self {
        Self(Sha256::digest(normal(address).as_bytes()).into())
    }

    /// The payment id by which the ledger books it once.
    #[must_use]
    pub fn event(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn normal(address: &str) -> String {
    let address = address.trim().to_lowercase();
    let Some((local, domain)) = address.rsplit_once('@') else {
        return address;
    };
    let local = local.split('+').next().unwrap_or(local);
    if WITHOUT_DOTS.contains(&domain) {
        return format!("{}@{ONE_OF_THEM}", local.replace('.', ""));
    }
    format!("{local}@{domain}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_mailbox_are_one_recipient() {
        let same =
            |left: &str, right: &str| Recipient::of_address(left) == Recipient::of_address(right);
        assert!(same("Ada@Example.com", " ada@example.com "));
        assert!(same("ada+trial@example.com", "ada@example.com"));
        assert!(same("a.d.a+x+y@gmail.com", "ada@googlemail.com"));
        assert!(!same("a.da@example.com", "ada@example.com"));
        assert!(!same("ada@example.com", "ada@example.org"));
        assert_eq!(Recipient::of_address("ada@example.com").event().len(), 64);
    }
}
