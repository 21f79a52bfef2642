//! One connection that follows events. It goes by its own two numbers: whatever the hub hints, what goes
//! out is the next number, or a gap.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::time::Instant;
use trunkline_db::DbError;
use trunkline_db::events::{self, Page, SYSTEM_ACCOUNT};
use trunkline_types::AccountId;

use super::params::Filter;
use crate::event_hub::{
    CloseReason, ConnectionPermit, Counts, Cursor, Notification, Side, SseFrame, Subscriber, frames,
};
use crate::state::AccountApi;

/// Events that are read at once.
const PAGE_ROWS: u32 = 100;
/// Until the table is asked again after it did not answer.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// How long the last frame may take.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Frames that wait for the connection.
pub(crate) const QUEUE: usize = 4;

pub(crate) struct Reader {
    api: Arc<AccountApi>,
    seat: ConnectionPermit,
    filter: Filter,
    cursor: Cursor,
    /// The place that the reader was told last.
    sent_cursor: Option<Cursor>,
    /// What was purged before its beginning is no gap to a reader of all that is stored.
    from_stored: [bool; 2],
    spoken: Instant,
    pieces: mpsc::Sender<Bytes>,
}

struct Gone;

// === impl Reader ===

impl Reader {
    pub(crate) fn new(
        api: Arc<AccountApi>,
        seat: ConnectionPermit,
        cursor: Cursor,
        filter: Filter,
        from_stored: bool,
        pieces: mpsc::Sender<Bytes>,
    ) -> Self {
        Self {
            api,
            seat,
            filter,
            cursor,
            sent_cursor: None,
            from_stored: [from_stored; 2],
            spoken: Instant::now(),
            pieces,
        }
    }

    /// Follows until the connection or its right to be here ends. What was missed before `newest` is
    /// read first.
    pub(crate) async fn run(mut self, hears: Subscriber, newest: Cursor) {
        let Subscriber {
            mut account,
            mut system,
            away,
        } = hears;
        let output = self.pieces.clone();
        let follow = async {
            self.begin(newest).await?;
            loop {
                let silent = self.api.settings.events.heartbeat;
                let beat = self.spoken.checked_add(silent);
                let beat = beat.unwrap_or_else(Instant::now);
                tokio::select! {
                    news = account.recv() => self.hear(Side::Account, news).await?,
                    news = system.recv() => self.hear(Side::System, news).await?,
                    () = tokio::time::sleep_until(beat) => self.beat().await?,
                }
            }
        };
        let reason = tokio::select! {
            Ok(reason) = away => Some(reason),
            () = output.closed() => None,
            gone = follow => {
                let _ended: Result<std::convert::Infallible, Gone> = gone;
                None
            }
        };
        let last_frame = match reason {
            Some(CloseReason::Stopping) => frames::STOPPING,
            Some(CloseReason::KeyOver) => frames::KEY_OVER,
            None => return,
        };
        let last_frame = Bytes::from_static(last_frame.as_bytes());
        // A client that does not take it is cut off without.
        drop(output.send_timeout(last_frame, LAST_WORDS).await);
    }

    async fn begin(&mut self, newest: Cursor) -> Result<(), Gone> {
        self.send(Bytes::from_static(frames::BEGINNING.as_bytes()))
            .await?;
        for side in [Side::Account, Side::System] {
            if self.cursor.of(side) < newest.of(side) {
                self.catch_up(side).await?;
            }
        }
        self.send_cursor().await
    }

    async fn hear(
        &mut self,
        side: Side,
        news: Result<Notification, RecvError>,
    ) -> Result<(), Gone> {
        let at = self.cursor.of(side);
        match news {
            Ok(Notification::Event(frame)) if frame.seq <= at => Ok(()),
            Ok(Notification::Event(frame)) if at.checked_add(1) == Some(frame.seq) => {
                self.tell(side, &frame).await
            }
            Ok(Notification::Event(_)) => self.catch_up(side).await,
            Ok(Notification::Look(newest)) if newest <= at => Ok(()),
            Ok(Notification::Look(_)) => self.catch_up(side).await,
            Ok(Notification::Channel(frame)) => {
                if self.filter.lets(&frame.topic, frame.task) {
                    self.send(frame.without_cursor()).await?;
                }
                Ok(())
            }
            Err(RecvError::Lagged(_)) => {
                let counts = &self.api.event_hub.counts;
                Counts::add(&counts.lagged, 1);
                self.catch_up(side).await
            }
            // The entry is there as long as this reader's permit.
            Err(RecvError::Closed) => Err(Gone),
        }
    }

    /// Reads on in the table until there is nothing newer.
    async fn catch_up(&mut self, side: Side) -> Result<(), Gone> {
        loop {
            let account = match side {
                Side::Account => self.seat.account,
                Side::System => SYSTEM_ACCOUNT,
            };
            let after = self.cursor.of(side);
            let page = read_events(&self.api, account, after, PAGE_ROWS).await;
            let page = match page {
                Ok(page) => page,
                Err(error) => {
                    tracing::debug!(%error, "event stream: reading the event table failed; retrying");
                    tokio::time::sleep(RETRY_DELAY).await;
                    if self.spoken.elapsed() >= self.api.settings.events.heartbeat {
                        self.beat().await?;
                    }
                    continue;
                }
            };
            let is_all = page.events.len() < usize::try_from(PAGE_ROWS).unwrap_or(usize::MAX);
            for event in &page.events {
                self.bridge(side, event.seq.saturating_sub(1)).await?;
                self.tell(side, &SseFrame::of_event(event)).await?;
            }
            if is_all {
                return self.bridge(side, page.newest).await;
            }
        }
    }

    /// Everything up to this number was told, or is gone.
    async fn bridge(&mut self, side: Side, number: i64) -> Result<(), Gone> {
        let at = self.cursor.of(side);
        let from_stored = match side {
            Side::Account => &mut self.from_stored[0],
            Side::System => &mut self.from_stored[1],
        };
        let is_beginning = std::mem::take(from_stored);
        if number <= at {
            return Ok(());
        }
        self.cursor.set(side, number);
        if is_beginning {
            return Ok(());
        }
        self.sent_cursor = Some(self.cursor);
        let first = at.saturating_add(1);
        self.send(frames::gap(side, first, number, self.cursor))
            .await
    }

    async fn tell(&mut self, side: Side, frame: &SseFrame) -> Result<(), Gone> {
        self.cursor.set(side, frame.seq);
        if !self.filter.lets(&frame.topic, frame.task) {
            return Ok(());
        }
        self.sent_cursor = Some(self.cursor);
        self.send(frame.at(self.cursor)).await
    }

    /// A sign of life, and the place, if it has moved by events that are not wanted.
    async fn beat(&mut self) -> Result<(), Gone> {
        self.send(Bytes::from_static(frames::HEARTBEAT.as_bytes()))
            .await?;
        self.send_cursor().await
    }

    async fn send_cursor(&mut self) -> Result<(), Gone> {
        if self.sent_cursor == Some(self.cursor) {
            return Ok(());
        }
        self.sent_cursor = Some(self.cursor);
        self.send(frames::cursor_frame(self.cursor)).await
    }

    /// Sends one whole frame. A client that takes nothing for long has gone.
    async fn send(&mut self, frame: Bytes) -> Result<(), Gone> {
        let wait = self.api.settings.reader_wait;
        let sent = self.pieces.send_timeout(frame, wait).await;
        sent.map_err(|_| Gone)?;
        self.spoken = Instant::now();
        let counts = &self.api.event_hub.counts;
        counts.frames.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Events of an account after a number. Few read at once.
pub(super) async fn read_events(
    api: &AccountApi,
    account: AccountId,
    after: i64,
    rows: u32,
) -> Result<Page, DbError> {
    let hub = Arc::clone(&api.event_hub);
    // It is never closed.
    let _turn = hub.reads.acquire().await;
    Counts::add(&hub.counts.pages, 1);
    let mut session = api.data.session().await?;
    events::page(&mut session, account, after, rows).await
}
