//! What feeds the hub: copies from other nodes, and polls of the table. It also closes connections whose
//! key is over.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};
use trunkline_db::bus::{Health, Incoming, RawEvent, Subscriber};
use trunkline_db::{DbError, events};
use trunkline_edge::key_table::{Found, KeyStatus};
use trunkline_store::keys::KeyHash;
use trunkline_types::{AccountId, Topic};

use crate::event_hub::{CloseReason, CopyStatus, Counts, Notification, SseFrame};
use crate::state::AccountApi;

/// How often it is asked whether a look at the table is due, and whether readers may stay.
const TICK: Duration = Duration::from_millis(250);
/// How often the keys of readers are looked at.
const KEYS: Duration = Duration::from_millis(500);
/// Until the way is listened to again after it ended.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// Events of one account that are read for its readers. A reader that misses more reads for itself.
const BURST: i64 = 16;
/// Accounts that one question is about.
const MAX_ASKED: usize = 5_000;

/// Feeds readers of events, and closes those whose key is over, until it is told to stop.
pub async fn run_event_hub(api: Arc<AccountApi>, stop: watch::Receiver<bool>) {
    tokio::join!(
        follow_events(&api, stop.clone()),
        watch_readers(&api, stop.clone()),
        refresh_when_revoked(&api, stop),
    );
}

async fn follow_events(api: &AccountApi, mut stop: watch::Receiver<bool>) {
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut checked_at: Option<Instant> = None;
    let mut ears: Option<Subscriber> = None;
    loop {
        if ears.is_none() {
            ears = subscribe(api).await;
        }
        tokio::select! {
            _ = stop.changed() => return,
            message = next(&mut ears) => match message {
                Some(message) => on_message(api, message).await,
                None => {
                    ears = None;
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            },
            _ = tick.tick() => {
                let settings = &api.settings.events;
                let every = match api.bus.health() {
                    Health::Up => settings.look_beside_copies,
                    Health::Local | Health::Down => settings.look,
                };
                if checked_at.is_none_or(|at| at.elapsed() >= every) {
                    checked_at = Some(Instant::now());
                    if let Err(error) = read_new_events(api).await {
                        tracing::warn!(%error, "event subscription: query failed");
                    }
                }
            }
        }
    }
}

async fn subscribe(api: &AccountApi) -> Option<Subscriber> {
    match api.bus.subscribe().await {
        Ok(ears) => Some(ears),
        Err(error) => {
            tracing::warn!(%error, "NATS subscription failed; events are read from the table");
            tokio::time::sleep(RETRY_DELAY).await;
            None
        }
    }
}

async fn on_message(api: &AccountApi, message: Incoming) {
    match message {
        Incoming::Live(news) => {
            api.event_hub
                .tell_live(news.account(), SseFrame::of_news(&news));
        }
        Incoming::Event(parcel) => {
            Counts::add(&api.event_hub.counts.copies, 1);
            if parcel.topic.as_deref() == Some(Topic::KeyRevoked.name()) {
                api.event_hub.revoked.notify_one();
            }
            if api.event_hub.follows(parcel.account) {
                take_message(api, &parcel).await;
            }
        }
    }
}

/// The next one is told as it is; after a jump the table is read; what was told is dropped.
async fn take_message(api: &AccountApi, parcel: &RawEvent) {
    let copy = match parcel.decode() {
        Ok(copy) if copy.account() == parcel.account => copy,
        Ok(_) => return,
        Err(error) => {
            tracing::warn!(%error, "NATS event message could not be decoded");
            return;
        }
    };
    let hub = &api.event_hub;
    match hub.standing(parcel.account, copy.seq) {
        CopyStatus::NoSubscriber | CopyStatus::Old => {}
        CopyStatus::Next => {
            let notification = Notification::Event(Arc::new(SseFrame::of_copy(&copy)));
            hub.tell(parcel.account, copy.seq, vec![notification]);
        }
        CopyStatus::Jump(last) => {
            // A copy comes after its event was written, so the number is true.
            if let Err(error) = deliver(api, parcel.account, last, copy.seq).await {
                tracing::warn!(%error, "event subscription: reading missed events failed");
            }
        }
    }
}

/// Compares what readers know with the table.
pub(crate) async fn read_new_events(api: &AccountApi) -> Result<(), DbError> {
    let followed = api.event_hub.followed();
    for some in followed.chunks(MAX_ASKED) {
        let mut session = api.data.session().await?;
        let newest = events::newest(&mut session, some).await?;
        drop(session);
        let newest: HashMap<AccountId, i64> = newest.into_iter().collect();
        for account in some {
            // An account without events is at 0; to know that makes the first one the next one.
            let (account, newest) = (*account, newest.get(account).copied().unwrap_or(0));
            match api.event_hub.standing(account, newest) {
                CopyStatus::NoSubscriber | CopyStatus::Old => {}
                CopyStatus::Next => {
                    let last = newest.saturating_sub(1);
                    deliver(api, account, Some(last), newest).await?;
                }
                CopyStatus::Jump(last) => deliver(api, account, last, newest).await?,
            }
        }
    }
    Ok(())
}

/// Tells readers of an account what is between two numbers, or that there is something.
async fn deliver(
    api: &AccountApi,
    account: AccountId,
    last: Option<i64>,
    newest: i64,
) -> Result<(), DbError> {
    let few = last.filter(|last| newest.saturating_sub(*last) <= BURST);
    let Some(last) = few else {
        let look = vec![Notification::Look(newest)];
        api.event_hub.tell(account, newest, look);
        return Ok(());
    };
    let rows = u32::try_from(BURST.saturating_mul(2)).unwrap_or(1);
    // Not in the line of the readers, which may be many.
    let mut session = api.data.session().await?;
    let page = events::page(&mut session, account, last, rows).await?;
    drop(session);
    let mut news: Vec<Notification> = Vec::with_capacity(page.events.len());
    let mut known = last;
    for event in &page.events {
        known = event.seq;
        news.push(Notification::Event(Arc::new(SseFrame::of_event(event))));
    }
    // More than a page, or something forgotten: each reader finds out for itself.
    if known < page.newest {
        known = page.newest;
        news.push(Notification::Look(page.newest));
    }
    api.event_hub.tell(account, known, news);
    Ok(())
}

/// Sends readers away whose key is over, or all of them when this node stops.
async fn watch_readers(api: &AccountApi, mut stop: watch::Receiver<bool>) {
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut checked_at: Option<Instant> = None;
    loop {
        tokio::select! {
            _ = stop.changed() => {
                api.event_hub.send_away(CloseReason::Stopping, |_| true);
                return;
            }
            _ = tick.tick() => {}
        }
        if api.edge.is_draining() {
            api.event_hub.send_away(CloseReason::Stopping, |_| true);
        } else if checked_at.is_none_or(|at| at.elapsed() >= KEYS) {
            checked_at = Some(Instant::now());
            check_readers(api);
        }
    }
}

/// Compares keys at once when a node reports that one was revoked.
async fn refresh_when_revoked(api: &AccountApi, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = stop.changed() => return,
            () = api.event_hub.revoked.notified() => {}
        }
        match api.refresh_keys().await {
            Ok(()) => check_readers(api),
            Err(error) => tracing::warn!(%error, "key table refresh failed"),
        }
    }
}

fn check_readers(api: &AccountApi) {
    let is_over = |key: &KeyHash| {
        match api.edge.find_key(key) {
            Found::Known(_, standing, account) => {
                standing != KeyStatus::Live
                    || account.closed_at.is_some()
                    || account.suspended_at.is_some()
            }
            Found::Unknown => true,
            // The key's state is unknown; its connection stays until it is known.
            Found::TooOld => false,
        }
    };
    api.event_hub.send_away(CloseReason::KeyOver, is_over);
}

/// Open connections that follow events, for tests and figures.
#[must_use]
pub fn event_readers(api: &AccountApi) -> usize {
    api.event_hub.size().0
}

/// Frames that were handed to connections that follow events.
#[must_use]
pub fn events_sent(api: &AccountApi) -> u64 {
    api.event_hub.counts.frames.load(Ordering::Relaxed)
}

async fn next(ears: &mut Option<Subscriber>) -> Option<Incoming> {
    match ears {
        Some(ears) => ears.next().await,
        None => std::future::pending().await,
    }
}
