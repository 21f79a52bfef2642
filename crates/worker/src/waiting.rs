//! How long a loop that found nothing waits.

use std::time::Duration;

use trunkline_db::{DbError, PollInterval};

/// Between two looks at an empty list, in case that a notification was lost.
pub(crate) const FALLBACK: Duration = Duration::from_secs(5);
/// After something was found.
pub(crate) const AT_ONCE: PollInterval = always(Duration::ZERO);
/// After the database did not answer.
pub(crate) const AWAY: PollInterval = always(Duration::from_secs(1));

/// A fixed interval, regardless of notifications.
const fn always(pause: Duration) -> PollInterval {
    PollInterval {
        min: pause,
        polling: pause,
        listening: pause,
    }
}

/// Polls every `look` without notifications; otherwise waits for a notification or the next due time.
pub(crate) fn until(look: Duration, next: Result<Option<Duration>, DbError>) -> PollInterval {
    let next = match next {
        Ok(next) => next.unwrap_or(FALLBACK),
        // Then the next look will say what is wrong.
        Err(_) => look,
    };
    PollInterval {
        min: look,
        polling: look,
        listening: next.clamp(look, FALLBACK),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_waits_for_the_next_due_job_up_to_its_polling_interval() {
        let look = Duration::from_millis(200);
        let most = |next| until(look, Ok(next)).listening;
        assert_eq!(most(None), FALLBACK);
        assert_eq!(most(Some(Duration::ZERO)), look);
        assert_eq!(most(Some(Duration::from_secs(2))), Duration::from_secs(2));
        assert_eq!(most(Some(Duration::from_secs(60))), FALLBACK);
    }
}
