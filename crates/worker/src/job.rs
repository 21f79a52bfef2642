//! A job and the loop around it: run, then wait until there may be something to do again.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::watch;
use trunkline_blobs::Media;
use trunkline_db::{Database, PollInterval, Signal};
use trunkline_gateway::Services;
use trunkline_ledger::partitions;
use trunkline_mail::MailWorker;
use trunkline_payments::Payments;

use crate::jobs::alarms::Alarms;

/// The shortest wait after a failure.
const AWAY: Duration = Duration::from_secs(1);

/// What jobs work with.
pub struct JobContext {
    pub gateway: Arc<Services>,
    pub data: Database,
    pub mail: MailWorker,
    pub media: Media,
    pub retention: Retention,
    /// None where no payment provider is configured.
    pub payments: Option<PaymentJobs>,
    pub alarms: Alarms,
}

/// What jobs of payments work with.
pub struct PaymentJobs {
    pub payments: Payments,
    /// Under the role console: the data plane brings no money in.
    pub database: Database,
}

/// How long data is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// What was sent to the vendor of a video, after its verdict.
    pub prompts: Duration,
    pub media: Duration,
    /// Days of the usage log and of its sums.
    pub usage_days: i32,
}

/// What one run of a job came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// There may be more to do at once.
    More,
    /// Nothing is left to do now. What comes next is due then, as far as is known.
    Idle(Option<Duration>),
}

pub(crate) type JobError = Box<dyn Error + Send + Sync>;
pub(crate) type JobResult = Result<Progress, JobError>;

/// A row of the table of jobs.
pub(crate) struct Job {
    pub(crate) name: &'static str,
    /// Between two runs that find nothing to do.
    pub(crate) period: Duration,
    /// What wakes it while notifications are received.
    pub(crate) wake: Option<Wake>,
    pub(crate) run: fn(&JobContext) -> BoxFuture<'_, JobResult>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Wake {
    pub(crate) signal: Signal,
    /// The period while notifications are received, in case that one was lost.
    pub(crate) fallback: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        let week = Duration::from_secs(7 * 86_400);
        Self {
            prompts: week,
            media: week,
            usage_days: partitions::USAGE_DAYS_KEPT,
        }
    }
}

impl Progress {
    /// More, if something was found.
    pub(crate) const fn of(found: u64) -> Self {
        match found {
            0 => Self::Idle(None),
            _ => Self::More,
        }
    }
}

impl Job {
    /// How long it waits after a run.
    fn interval(&self, run: Result<Progress, ()>) -> PollInterval {
        match run {
            Ok(Progress::More) => fixed(Duration::ZERO),
            Ok(Progress::Idle(next)) => match self.wake {
                None => fixed(self.period),
                Some(wake) => PollInterval {
                    min: self.period,
                    polling: self.period,
                    listening: next
                        .unwrap_or(wake.fallback)
                        .clamp(self.period, wake.fallback),
                },
            },
            Err(()) => fixed(self.period.max(AWAY)),
        }
    }

    /// Runs it again and again until it is stopped.
    pub(crate) async fn repeat(
        &'static self,
        context: Arc<JobContext>,
        mut stop: watch::Receiver<bool>,
    ) {
        let notifications = context.data.notifications();
        let mut subscription = self.wake.map(|wake| notifications.subscribe(wake.signal));
        loop {
            let run = (self.run)(&context).await.map_err(|error| {
                tracing::warn!(%error, job.name = self.name, "job failed; it will be run again");
            });
            let interval = self.interval(run);
            let wait = async {
                match &mut subscription {
                    Some(subscription) => subscription.wait(interval).await,
                    None => tokio::time::sleep(interval.min).await,
                }
            };
            tokio::select! {
                () = wait => {}
                _ = stop.changed() => return,
            }
        }
    }
}

/// A fixed interval, regardless of notifications.
const fn fixed(pause: Duration) -> PollInterval {
    PollInterval {
        min: pause,
        polling: pause,
        listening: pause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(200);
    const FALLBACK: Duration = Duration::from_secs(5);

    // covers: D-5-17
    #[test]
    fn prompts_and_media_are_kept_for_seven_days_and_usage_for_400_unless_the_operator_says_otherwise()
     {
        let retention = Retention::default();
        assert_eq!(retention.prompts, Duration::from_secs(604_800));
        assert_eq!(retention.media, Duration::from_secs(604_800));
        assert_eq!(retention.usage_days, 400);
    }

    fn job(wake: Option<Wake>) -> Job {
        Job {
            name: "test",
            period: PERIOD,
            wake,
            run: |_| Box::pin(async { Ok(Progress::Idle(None)) }),
        }
    }

    #[test]
    fn a_job_that_is_woken_waits_for_what_is_due_between_its_period_and_its_fallback() {
        let woken = job(Some(Wake {
            signal: Signal::Video,
            fallback: FALLBACK,
        }));
        let listening = |next| woken.interval(Ok(Progress::Idle(next))).listening;
        assert_eq!(listening(None), FALLBACK);
        assert_eq!(listening(Some(Duration::ZERO)), PERIOD);
        assert_eq!(listening(Some(2 * AWAY)), 2 * AWAY);
        assert_eq!(listening(Some(60 * AWAY)), FALLBACK);
        let idle = woken.interval(Ok(Progress::Idle(None)));
        assert_eq!((idle.min, idle.polling), (PERIOD, PERIOD));
    }

    #[test]
    fn a_job_with_more_to_do_runs_at_once_and_one_that_failed_waits() {
        let timed = job(None);
        assert_eq!(timed.interval(Ok(Progress::More)).min, Duration::ZERO);
        assert_eq!(timed.interval(Ok(Progress::Idle(None))).min, PERIOD);
        assert_eq!(timed.interval(Err(())).min, AWAY);
        let rare = Job {
            period: FALLBACK,
            ..job(None)
        };
        assert_eq!(rare.interval(Err(())).min, FALLBACK);
    }
}
