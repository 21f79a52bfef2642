//! Moments as people and programs write them: RFC 3339, in UTC.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use trunkline_db::{from_sql_time, to_sql_time};
use trunkline_types::Timestamp;

/// `2027-01-31T12:00:00Z`, with as many decimals as the moment has.
pub(crate) fn rfc3339(moment: Timestamp) -> String {
    // A year has four digits by then, which is all that can go wrong here.
    to_sql_time(moment).format(&Rfc3339).unwrap_or_default()
}

/// The same to the second, for people.
pub(crate) fn short(moment: Timestamp) -> String {
    let second = moment.seconds().saturating_mul(1_000_000);
    rfc3339(Timestamp::from_micros(second))
}

/// Reads a moment in any offset.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    let parsed = OffsetDateTime::parse(text, &Rfc3339).ok();
    parsed.map(from_sql_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_and_read_in_rfc_3339() {
        let moment = Timestamp::from_micros(1_700_000_000_123_456);
        assert_eq!(rfc3339(moment), "2023-11-14T22:13:20.123456Z");
        assert_eq!(short(moment), "2023-11-14T22:13:20Z");
        assert_eq!(parse(&rfc3339(moment)), Some(moment));
        assert_eq!(parse("2023-11-14"), None);
    }
}
