//! What needs an operator now, in numbers; and what a text may be a part of.

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use trunkline_db::DbError;
use trunkline_types::{AccountId, Money};

/// Hits of one kind in a search.
const HITS_MAX: i64 = 10;

/// What needs an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attention {
    pub alarms: i64,
    pub open_disputes: i64,
    pub suspended_accounts: i64,
    pub paused_credentials: i64,
    pub draining_channels: i64,
    /// Emails that no server has taken.
    pub unsent_emails: i64,
}

/// Trial credit that was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrialGrants {
    pub today: i64,
    pub days_30: i64,
    pub days_30_amount: Money,
}

/// Something that a text is a part of.
#[derive(Debug, Clone)]
pub struct Hit {
    pub kind: String,
    pub id: String,
    pub title: String,
    pub detail: String,
    pub account: Option<AccountId>,
}

pub async fn read(connection: &mut PgConnection) -> Result<Attention, DbError> {
    let row = sqlx::query(
        "SELECT (SELECT count(*) FROM app.alarm WHERE is_firing) AS alarms,
             (SELECT count(*) FROM app.payment_reversal WHERE kind = 'dispute' AND state IN ('inquiry', 'open'))
                 AS open_disputes,
             (SELECT count(*) FROM app.account WHERE suspended_at IS NOT NULL AND closed_at IS NULL)
                 AS suspended_accounts,
             (SELECT count(*) FROM app.channel_credential WHERE paused_reason IS NOT NULL) AS paused_credentials,
             (SELECT count(*) FROM app.channel WHERE state = 'draining') AS draining_channels,
             (SELECT count(*) FROM app.email WHERE state IN ('failed', 'kept') AND expires_at > app.now())
                 AS unsent_emails",
    )
    .fetch_one(connection)
    .await?;
    Ok(Attention {
        alarms: row.try_get("alarms")?,
        open_disputes: row.try_get("open_disputes")?,
        suspended_accounts: row.try_get("suspended_accounts")?,
        paused_credentials: row.try_get("paused_credentials")?,
        draining_channels: row.try_get("draining_channels")?,
        unsent_emails: row.try_get("unsent_emails")?,
    })
}

pub async fn trial_grants(connection: &mut PgConnection) -> Result<TrialGrants, DbError> {
    let row = sqlx::query(
        "SELECT count(*) FILTER (WHERE granted_at >= date_trunc('day', app.now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')
                 AS today,
             count(*) AS days_30, COALESCE(sum(amount_nanos), 0)::bigint AS amount
         FROM app.trial_grant WHERE granted_at > app.now() - interval '30 days'",
    )
    .fetch_one(connection)
    .await?;
    Ok(TrialGrants {
        today: row.try_get("today")?,
        days_30: row.try_get("days_30")?,
        days_30_amount: Money::from_nanos(row.try_get("amount")?),
    })
}

/// Accounts, people, keys, payments, channels and codes of which a text is a visible part.
pub async fn search(connection: &mut PgConnection, text: &str) -> Result<Vec<Hit>, DbError> {
    let rows = sqlx::query(
        "(SELECT 'customer' AS kind, a.id::text AS id, a.name AS title, 'account ' || a.id AS detail, a.id AS account_id
          FROM app.account AS a WHERE strpos(lower(a.name), lower($1)) > 0 OR strpos(a.id::text, $1) > 0
          ORDER BY a.id LIMIT $2)
         UNION ALL
         (SELECT 'person', p.id::text, p.email, p.name,
              (SELECT min(m.account_id) FROM app.member AS m WHERE m.person_id = p.id)
          FROM app.person AS p WHERE strpos(p.email, lower($1)) > 0 OR strpos(lower(p.name), lower($1)) > 0
          ORDER BY p.id LIMIT $2)
         UNION ALL
         (SELECT 'key', k.id::text, k.name, k.hint, k.account_id
          FROM app.api_key AS k WHERE strpos(k.hint, $1) > 0 OR strpos(lower(k.name), lower($1)) > 0
          ORDER BY k.id DESC LIMIT $2)
         UNION ALL
         (SELECT 'payment', y.id::text, COALESCE(y.provider_payment, y.id::text), y.state, y.account_id
          FROM app.payment AS y WHERE strpos(y.id::text, lower($1)) > 0 OR strpos(y.provider_payment, $1) > 0
          ORDER BY y.created_at DESC LIMIT $2)
         UNION ALL
         (SELECT 'channel', h.id::text, h.name, h.provider, NULL
          FROM app.channel AS h WHERE strpos(lower(h.name), lower($1)) > 0 OR strpos(h.provider, lower($1)) > 0
          ORDER BY h.id LIMIT $2)
         UNION ALL
         (SELECT 'code', c.id::text, c.hint, c.batch, c.redeemed_by
          FROM app.redemption_code AS c WHERE strpos(upper(c.hint), upper($1)) > 0 OR strpos(c.batch, $1) > 0
          ORDER BY c.created_at DESC LIMIT $2)",
    )
    .bind(text)
    .bind(HITS_MAX)
    .fetch_all(connection)
    .await?;
    let hit = |row: &PgRow| {
        Ok(Hit {
            kind: row.try_get("kind")?,
            id: row.try_get("id")?,
            title: row.try_get("title")?,
            detail: row.try_get("detail")?,
            account: row
                .try_get::<Option<i64>, _>("account_id")?
                .map(AccountId::new),
        })
    };
    rows.iter().map(hit).collect()
}
