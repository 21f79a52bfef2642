//! Runs the streams of HTTP/2 connections, each with a watch on its reader: a stream whose reader takes
//! nothing is dropped, which resets it and frees what it keeps.

use std::sync::Arc;
use std::time::Duration;

use hyper::rt::Executor;
use hyper_util::rt::TokioExecutor;

use crate::paced_body::Progress;

tokio::task_local! {
    static PROGRESS: Arc<Progress>;
}

#[derive(Debug, Clone)]
pub(crate) struct StreamExecutor {
    /// A reader that takes nothing for so long has gone.
    pub(crate) reader_wait: Duration,
}

/// The progress of the stream that this task runs; none over HTTP/1.
pub(crate) fn progress() -> Option<Arc<Progress>> {
    PROGRESS.try_with(Arc::clone).ok()
}

impl<F> Executor<F> for StreamExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let progress = Arc::new(Progress::default());
        let (watched, wait) = (Arc::clone(&progress), self.reader_wait);
        let run = async move {
            tokio::select! {
                () = stream => {}
                () = watched.is_stalled(wait) => {
                    tracing::debug!("connection: stream reset, its reader takes nothing");
                }
            }
        };
        TokioExecutor::new().execute(PROGRESS.scope(progress, run));
    }
}
