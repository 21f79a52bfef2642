//! Moments as this interface writes them: RFC 3339, UTC.

use time::format_description::well_known::Rfc3339;
use trunkline_db::to_sql_time;
use trunkline_types::Timestamp;

pub(crate) fn rfc3339(moment: Timestamp) -> String {
    to_sql_time(moment).format(&Rfc3339).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_in_utc() {
        let moment = Timestamp::from_micros(1_800_000_000_000_000);
        assert_eq!(rfc3339(moment), "2027-01-15T08:00:00Z");
        let precise = Timestamp::from_micros(1_800_000_000_000_001);
        assert_eq!(rfc3339(precise), "2027-01-15T08:00:00.000001Z");
    }
}
