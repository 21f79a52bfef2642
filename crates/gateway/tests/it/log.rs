//! The whole log of a test's process, at every level and from every library.

use std::io;
use std::sync::{Arc, Mutex, OnceLock};

use tracing_subscriber::filter::LevelFilter;

/// Everything that is logged, by whomever, at every level.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// The log of this process, from the first time on that it is asked for.
    pub(crate) fn capture() -> Self {
        static LOG: OnceLock<Log> = OnceLock::new();
        let log = LOG.get_or_init(|| {
            let log = Self::default();
            let writer = log.clone();
            // Lines of the `log` crate come here too.
            tracing_subscriber::fmt()
                .json()
                .with_max_level(LevelFilter::TRACE)
                .with_writer(move || writer.clone())
                .init();
            log
        });
        log.clone()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
