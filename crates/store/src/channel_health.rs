//! How channels do, by model and endpoint, in spans of five minutes. Nodes add what they counted in batches; operators
//! read it.

use sqlx::{PgConnection, Row as _};
use trunkline_db::{Database, DbError};

/// Retention of the spans.
pub const KEPT_DAYS: i32 = 90;
/// Spans that one statement deletes at most.
const DELETED_AT_ONCE: i64 = 10_000;
/// Places of [`ChannelSums::first_byte`].
pub const PLACES: usize = 40;

/// Which calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HealthKey {
    pub channel: i64,
    /// The public name of the model.
    pub model: String,
    pub endpoint: String,
}

/// What calls of a channel came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelSums {
    /// Attempts that say something about the channel.
    pub calls: i64,
    /// Those of them that failed because of it.
    pub failed: i64,
    /// Answers by their time to the first byte: the place is twice the binary logarithm of milliseconds.
    pub first_byte: [i32; PLACES],
    /// Output tokens of streamed answers, and the time that they took after the first byte.
    pub output_tokens: i64,
    pub output_millis: i64,
}

// === impl ChannelSums ===

impl Default for ChannelSums {
    fn default() -> Self {
        Self {
            calls: 0,
            failed: 0,
            first_byte: [0; PLACES],
            output_tokens: 0,
            output_millis: 0,
        }
    }
}

impl ChannelSums {
    /// Counts an answer that began after so many milliseconds.
    pub fn answered_after(&mut self, millis: u64) {
        if let Some(count) = self.first_byte.get_mut(place(millis)) {
            *count = count.saturating_add(1);
        }
    }

    /// The median time to the first byte in milliseconds, as exactly as the places are; none without an answer.
    #[must_use]
    pub fn median_first_byte(&self) -> Option<u64> {
        let answers = self.first_byte.iter().map(|count| i64::from(*count));
        let half = answers.clone().sum::<i64>().checked_add(1)?.div_euclid(2);
        let mut sum = 0_i64;
        for (index, count) in answers.enumerate() {
            sum = sum.saturating_add(count);
            if half > 0 && sum >= half {
                return Some(middle(index));
            }
        }
        None
    }

    /// Parts of a million that were served; none without a call.
    #[must_use]
    pub fn availability_ppm(&self) -> Option<i64> {
        let served = self.calls.saturating_sub(self.failed);
        served.saturating_mul(1_000_000).checked_div(self.calls)
    }

    /// Output tokens in a second; none without a streamed answer.
    #[must_use]
    pub fn tokens_a_second(&self) -> Option<i64> {
        let tokens = self.output_tokens.saturating_mul(1_000);
        tokens.checked_div(self.output_millis)
    }
}

/// The place of a time: each is the half of a doubling.
fn place(millis: u64) -> usize {
    let square = u128::from(millis.max(1)).saturating_pow(2);
    let place = usize::try_from(square.ilog2()).unwrap_or(PLACES);
    place.min(PLACES.saturating_sub(1))
}

/// A time in the middle of a place: 2^((place + 1/2) / 2).
fn middle(place: usize) -> u64 {
    // Eighth roots of two, in thousandths: of the first half of a doubling, and of its second.
    let thousandths: u64 = if place.is_multiple_of(2) {
        1_189
    } else {
        1_682
    };
    let doublings = u32::try_from(place.div_euclid(2)).unwrap_or(0);
    let millis = thousandths.saturating_mul(1_u64.wrapping_shl(doublings));
    millis.div_euclid(1_000).max(1)
}

/// Adds to the present span, by the database's clock.
pub async fn add(database: &Database, sums: &[(HealthKey, ChannelSums)]) -> Result<(), DbError> {
    // Sorted, so that two nodes cannot deadlock.
    let mut sorted: Vec<&(HealthKey, ChannelSums)> = sums.iter().collect();
    sorted.sort_by(|one, other| one.0.cmp(&other.0));
    let column = |of: fn(&ChannelSums) -> i64| -> Vec<i64> {
        sorted.iter().map(|(_, sums)| of(sums)).collect()
    };
    let texts = |of: fn(&HealthKey) -> &str| -> Vec<&str> {
        sorted.iter().map(|(key, _)| of(key)).collect()
    };
    let channels: Vec<i64> = sorted.iter().map(|(key, _)| key.channel).collect();
    // PostgreSQL has no list of lists of unequal rows to unnest, so each list is a text of it.
    let places: Vec<String> = sorted.iter().map(|(_, sums)| listed(sums)).collect();
    let mut session = database.session().await?;
    sqlx::query(
        "INSERT INTO app.channel_health AS h
             (span, channel_id, model, endpoint, calls, failed, first_byte, output_tokens, output_millis)
         SELECT date_bin('5 minutes', app.now(), 'epoch'), n.channel_id, n.model, n.endpoint, n.calls, n.failed,
             n.places::integer[], n.tokens, n.millis
         FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[],
                 $8::bigint[])
             AS n (channel_id, model, endpoint, calls, failed, places, tokens, millis)
         WHERE EXISTS (SELECT FROM app.channel c WHERE c.id = n.channel_id)
         ON CONFLICT (span, channel_id, model, endpoint) DO UPDATE SET
             calls = h.calls + EXCLUDED.calls, failed = h.failed + EXCLUDED.failed,
             first_byte = ARRAY (SELECT one.a + one.b
                 FROM unnest(h.first_byte, EXCLUDED.first_byte) WITH ORDINALITY AS one (a, b, place)
                 ORDER BY one.place),
             output_tokens = h.output_tokens + EXCLUDED.output_tokens,
             output_millis = h.output_millis + EXCLUDED.output_millis",
    )
    .bind(channels)
    .bind(texts(|key| &key.model))
    .bind(texts(|key| &key.endpoint))
    .bind(column(|sums| sums.calls))
    .bind(column(|sums| sums.failed))
    .bind(places)
    .bind(column(|sums| sums.output_tokens))
    .bind(column(|sums| sums.output_millis))
    .execute(&mut *session)
    .await?;
    Ok(())
}

/// Sums over the last minutes and all nodes, of one channel or of all.
pub async fn sums(
    connection: &mut PgConnection,
    channel: Option<i64>,
    minutes: i32,
) -> Result<Vec<(HealthKey, ChannelSums)>, DbError> {
    let rows = sqlx::query(
        "SELECT h.channel_id, h.model, h.endpoint, sum(h.calls)::bigint AS calls, sum(h.failed)::bigint AS failed,
             sum(h.output_tokens)::bigint AS tokens, sum(h.output_millis)::bigint AS millis,
             ARRAY (SELECT sum(one.count)::integer
                 FROM app.channel_health i, unnest(i.first_byte) WITH ORDINALITY AS one (count, place)
                 WHERE i.channel_id = h.channel_id AND i.model = h.model AND i.endpoint = h.endpoint
                     AND i.span > app.now() - make_interval(mins => $2)
                 GROUP BY one.place ORDER BY one.place) AS first_byte
         FROM app.channel_health h
         WHERE h.span > app.now() - make_interval(mins => $2) AND ($1::bigint IS NULL OR h.channel_id = $1)
         GROUP BY h.channel_id, h.model, h.endpoint ORDER BY h.channel_id, h.model, h.endpoint",
    )
    .bind(channel)
    .bind(minutes)
    .fetch_all(connection)
    .await?;
    let read = |row: &sqlx::postgres::PgRow| {
        let key = HealthKey {
            channel: row.try_get("channel_id")?,
            model: row.try_get("model")?,
            endpoint: row.try_get("endpoint")?,
        };
        let places: Vec<i32> = row.try_get("first_byte")?;
        let mut sums = ChannelSums {
            calls: row.try_get("calls")?,
            failed: row.try_get("failed")?,
            output_tokens: row.try_get("tokens")?,
            output_millis: row.try_get("millis")?,
            ..ChannelSums::default()
        };
        for (own, read) in sums.first_byte.iter_mut().zip(places) {
            *own = read;
        }
        Ok((key, sums))
    };
    rows.iter().map(read).collect()
}

/// Deletes some spans past their retention; how many.
pub async fn purge(database: &Database) -> Result<u64, DbError> {
    let mut session = database.session().await?;
    let done = sqlx::query(
        "DELETE FROM app.channel_health WHERE ctid = ANY (ARRAY (
             SELECT ctid FROM app.channel_health WHERE span < app.now() - make_interval(days => $1) LIMIT $2))",
    )
    .bind(KEPT_DAYS)
    .bind(DELETED_AT_ONCE)
    .execute(&mut *session)
    .await?;
    Ok(done.rows_affected())
}

/// As PostgreSQL writes a list.
fn listed(sums: &ChannelSums) -> String {
    let counts: Vec<String> = sums.first_byte.iter().map(ToString::to_string).collect();
    format!("{{{}}}", counts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_right_within_the_half_of_a_doubling() {
        let mut sums = ChannelSums::default();
        assert_eq!(sums.median_first_byte(), None);
        for millis in [3, 90, 100, 110, 60_000] {
            sums.answered_after(millis);
        }
        let median = sums.median_first_byte().unwrap();
        assert!((80..=125).contains(&median), "{median}");
        for _ in 0..9 {
            sums.answered_after(1_000);
        }
        let median = sums.median_first_byte().unwrap();
        assert!((800..=1_250).contains(&median), "{median}");
        sums.answered_after(u64::MAX);
        sums.answered_after(0);
        assert_eq!(sums.first_byte[0], 1);
        assert_eq!(sums.first_byte[PLACES - 1], 1);
    }

    #[test]
    fn availability_and_speed_are_whole_numbers_and_nothing_is_not_zero() {
        let mut sums = ChannelSums::default();
        assert_eq!(
            (sums.availability_ppm(), sums.tokens_a_second()),
            (None, None)
        );
        sums.calls = 8;
        sums.failed = 1;
        sums.output_tokens = 90;
        sums.output_millis = 1_500;
        assert_eq!(sums.availability_ppm(), Some(875_000));
        assert_eq!(sums.tokens_a_second(), Some(60));
    }
}
