//! The time of a connection whose model is billed by it: held before it passes, charged when it has. A charge covers a
//! part of the connection, so that a node that fails loses no more than that.

use std::time::Duration;

use tokio::time::Instant;
use trunkline_catalog::FieldReport;
use trunkline_ledger::Outcome;
use trunkline_types::Money;

use super::connection::{Connection, Finish};
use super::request::{Realtime, TokenBound, TurnKind, time_used};
use super::turn::OpenChannel;
use super::turns::{Turn, Turns};
use crate::error::ApiError;

/// The part of a period before its end in which the next one is held, and the longest.
const AHEAD_PART: u32 = 4;
const LONGEST_AHEAD: Duration = Duration::from_secs(5);
/// Between two tries to hold what could not be held.
const PAUSE: Duration = Duration::from_millis(500);

/// The period that passes now.
pub(super) struct ChargedTime {
    turn: Turn,
    began: Instant,
    /// Seconds from the beginning of the connection to that of the period.
    before: u64,
}

// === impl ChargedTime ===

impl ChargedTime {
    /// Holds the first period.
    pub(super) async fn begin(
        turns: &Turns,
        model: &str,
        open: OpenChannel,
        transcribes: bool,
    ) -> Result<Self, ApiError> {
        let began = Instant::now();
        let kind = TurnKind::Time { transcribes };
        let operation = of_time(turns, model, kind, FieldReport::default());
        let begun = turns.begin(operation, Some(open)).await?;
        Ok(Self {
            turn: Turn::of(&begun),
            began,
            before: 0,
        })
    }

    /// Seconds to the end of the period, from the beginning of the connection.
    const fn after(&self) -> u64 {
        self.before.saturating_add(self.turn.covered.seconds)
    }

    fn ends(&self) -> Instant {
        let length = Duration::from_secs(self.after());
        self.began.checked_add(length).unwrap_or(self.began)
    }

    /// Seconds of the period that have passed; a part of a second counts as one.
    fn passed(&self) -> u64 {
        let passed = self.began.elapsed();
        let seconds = passed
            .as_secs()
            .saturating_add(u64::from(passed.subsec_nanos() > 0));
        seconds.min(self.after()).saturating_sub(self.before)
    }
}

fn of_time(turns: &Turns, model: &str, kind: TurnKind, report: FieldReport) -> Realtime {
    let period = turns.services.settings.realtime.charged_time;
    let bound = TokenBound {
        seconds: period.as_secs().max(1),
        ..TokenBound::default()
    };
    Realtime::turn(model, kind, bound, report)
}

// === impl Connection ===

impl Connection {
    /// Charges the time that passes, and ends when the next cannot be held. Never ends where time has no price.
    pub(super) async fn charge_time(&self) -> Finish {
        let period = self.turns.services.settings.realtime.charged_time;
        let ahead = period.checked_div(AHEAD_PART).unwrap_or_default();
        let ahead = ahead.min(LONGEST_AHEAD);
        loop {
            let time = self.state.lock().await.time.as_ref().map(ChargedTime::ends);
            let Some(ends) = time else {
                return std::future::pending().await;
            };
            tokio::time::sleep_until(ends.checked_sub(ahead).unwrap_or(ends)).await;
            let next = Box::pin(self.hold_time(ends)).await;
            tokio::time::sleep_until(ends).await;
            let settled = match next {
                Ok(next) => self.next_period(next).await,
                Err(error) => return error.into(),
            };
            if let Err(error) = settled {
                return error.into();
            }
        }
    }

    /// Holds the next period. What cannot be held is tried again as long as the time before it is paid.
    async fn hold_time(&self, ends: Instant) -> Result<Turn, ApiError> {
        loop {
            let report = self.state.lock().await.report.clone();
            let kind = TurnKind::Time {
                transcribes: self.transcribes,
            };
            let operation = of_time(&self.turns, &self.model, kind, report);
            let begun = self.turns.begin(operation, Some(self.open_channel())).await;
            match begun {
                Ok(begun) => return Ok(Turn::of(&begun)),
                Err(error) if ends.saturating_duration_since(Instant::now()) < PAUSE => {
                    return Err(error);
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Charges the period that has passed, and begins the next.
    async fn next_period(&self, next: Turn) -> Result<Money, ApiError> {
        let mut state = self.state.lock().await;
        let outcome = state.outcome;
        let Some(time) = &mut state.time else {
            return Ok(Money::ZERO);
        };
        let seconds = time.turn.covered.seconds;
        time.before = time.after();
        let passed = std::mem::replace(&mut time.turn, next);
        // Nothing may come between taking a turn and ending it.
        let settled = passed.end(Some(time_used(seconds)), false, outcome);
        drop(state);
        settled.await.map_err(|_| ApiError::unavailable())?
    }

    /// Charges what has passed of the last period.
    pub(super) async fn settle_time(&self) {
        let mut state = self.state.lock().await;
        let outcome = state.outcome;
        let Some(time) = state.time.take() else {
            return;
        };
        let settled = match time.passed() {
            0 => time.turn.end(None, false, Outcome::Cancelled),
            seconds => time.turn.end(Some(time_used(seconds)), false, outcome),
        };
        drop(state);
        drop(settled.await);
    }
}
