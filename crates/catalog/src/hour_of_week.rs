//! Hours of the week in a time zone, for prices that follow the wall clock.
use jiff::tz::TimeZone;
use trunkline_types::Timestamp;

const HOURS_A_DAY: u8 = 24;
const HOURS_A_WEEK: u8 = 168;

/// One hour of the week, 0 (Monday 00:00) to 167 (Sunday 23:00).
pub(crate) type HourOfWeek = u8;

/// A set of hours of the week, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WeekHours([bool; 168]);

// === impl WeekHours ===

impl WeekHours {
    /// Every hour.
    pub(crate) const ALWAYS: Self = Self([true; 168]);

    /// The hours that lie on one of the ISO weekdays (1 is Monday) and in one of the hours of the
    /// day. Values out of range are the caller's to refuse and match nothing here.
    pub(crate) fn on(weekdays: &[u8], hours: &[u8]) -> Self {
        let mut set = [false; 168];
        for (place, hour) in set.iter_mut().zip(all_hours()) {
            let weekday = hour.div_euclid(HOURS_A_DAY).saturating_add(1);
            let hour_of_day = hour.rem_euclid(HOURS_A_DAY);
            *place = weekdays.contains(&weekday) && hours.contains(&hour_of_day);
        }
        Self(set)
    }

    /// True if the hour is in the set.
    pub(crate) fn contains(&self, hour: HourOfWeek) -> bool {
        self.0.get(usize::from(hour)).copied().unwrap_or(false)
    }

    /// Hours that are in both.
    pub(crate) fn both(self, other: Self) -> Self {
        let mut set = [false; 168];
        for (place, (left, right)) in set.iter_mut().zip(self.0.iter().zip(other.0)) {
            *place = *left && right;
        }
        Self(set)
    }

    /// True if every hour of this set is in the other.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.0
            .iter()
            .zip(other.0)
            .all(|(here, there)| !here || there)
    }
}

/// All hours of the week in order.
pub(crate) fn all_hours() -> impl Iterator<Item = HourOfWeek> {
    0..HOURS_A_WEEK
}

/// The hour of the week that people in a time zone read off the wall at a moment.
///
/// Daylight saving needs no rule of its own: the hour that is skipped is never read, the hour that
/// comes twice is read twice.
pub(crate) fn hour_of_week(zone: &TimeZone, at: Timestamp) -> Option<HourOfWeek> {
    let instant = jiff::Timestamp::from_microsecond(at.micros()).ok()?;
    let local = zone.to_datetime(instant);
    let days = u8::try_from(local.weekday().to_monday_zero_offset()).ok()?;
    let hours = u8::try_from(local.hour()).ok()?;
    days.checked_mul(HOURS_A_DAY)?.checked_add(hours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_knows_monday_to_sunday_as_1_to_7() {
        let monday_morning = WeekHours::on(&[1], &[0, 1]);
        assert!(monday_morning.contains(0) && monday_morning.contains(1));
        assert!(!monday_morning.contains(2) && !monday_morning.contains(24));
        let sunday_night = WeekHours::on(&[7], &[23]);
        assert!(sunday_night.contains(167) && !sunday_night.contains(143));
        assert_eq!(
            WeekHours::on(&[1, 2, 3, 4, 5, 6, 7], &(0..24).collect::<Vec<_>>()),
            WeekHours::ALWAYS
        );
        assert!(!WeekHours::on(&[0, 8], &[0, 24]).contains(0));
        assert!(!WeekHours::ALWAYS.contains(168));
    }

    #[test]
    fn sets_meet_and_contain_each_other() {
        let mornings = WeekHours::on(&[1, 2], &[8, 9]);
        let monday = WeekHours::on(&[1], &[8, 9, 10]);
        let both = mornings.both(monday);
        assert_eq!(both, WeekHours::on(&[1], &[8, 9]));
        assert!(both.is_within(&mornings) && both.is_within(&monday));
        assert!(!mornings.is_within(&monday) && mornings.is_within(&WeekHours::ALWAYS));
    }
}
