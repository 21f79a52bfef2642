//! How many jobs of video tasks run at once.

use std::sync::Arc;

use tokio::sync::Semaphore;
use trunkline_store::tasks::Job;

/// What a worker does for tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VideoJob {
    /// Sends tasks that wait, and finds out what became of those whose sender died.
    Submit,
    /// Asks how far jobs are.
    Poll,
    Mirror,
}

impl VideoJob {
    pub const ALL: [Self; 3] = [Self::Submit, Self::Poll, Self::Mirror];

    pub(crate) const fn stored(self) -> Job {
        match self {
            Self::Submit => Job::Submit,
            Self::Poll => Job::Poll,
            Self::Mirror => Job::Mirror,
        }
    }
}

/// A semaphore for each kind of job: long downloads keep no poll waiting.
#[derive(Debug)]
pub(crate) struct JobSlots {
    submit: Arc<Semaphore>,
    poll: Arc<Semaphore>,
    mirror: Arc<Semaphore>,
}

impl JobSlots {
    pub(crate) fn new(at_once: usize) -> Self {
        let slots = || Arc::new(Semaphore::new(at_once));
        Self {
            submit: slots(),
            poll: slots(),
            mirror: slots(),
        }
    }

    pub(crate) const fn of(&self, job: VideoJob) -> &Arc<Semaphore> {
        match job {
            VideoJob::Submit => &self.submit,
            VideoJob::Poll => &self.poll,
            VideoJob::Mirror => &self.mirror,
        }
    }
}
