//! Limits and waits of video tasks.

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct VideoSettings {
    /// Until the first question about a job.
    pub poll_first: Duration,
    /// Between two questions about a job that takes long.
    pub poll_most: Duration,
    /// Questions a second about the jobs of one channel, of this node.
    pub polls_per_second: u32,
    /// After this a task ends, whatever its upstream does.
    pub deadline: Duration,
    /// How long a task may wait for an upstream with capacity.
    pub queue: Duration,
    /// Until a task is offered again to upstreams that had no capacity.
    pub queue_pause: Duration,
    /// Longest call to submit or to ask.
    pub call_wait: Duration,
    /// A task whose sender is silent for so long is taken over.
    pub lease: Duration,
    /// Longest wait of a long poll.
    pub most_wait: Duration,
    /// Jobs of a worker at once, of each kind.
    pub at_once: usize,
    /// How long a link to a file works.
    pub link_life: Duration,
}

impl Default for VideoSettings {
    fn default() -> Self {
        Self {
            poll_first: Duration::from_secs(2),
            poll_most: Duration::from_secs(15),
            polls_per_second: 20,
            deadline: Duration::from_secs(86_400),
            queue: Duration::from_secs(7_200),
            queue_pause: Duration::from_secs(5),
            call_wait: Duration::from_secs(60),
            lease: Duration::from_secs(90),
            most_wait: Duration::from_secs(30),
            at_once: 256,
            link_life: Duration::from_secs(86_400),
        }
    }
}
