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
use trunkline_store::keys::KeyHash;
use trunkline_types::{AccountId, Topic};

use crate::event_hub::{CloseReason, CopyStatus, Counts, Notification, SseFrame};
use crate::key_table::{Found, KeyStatus};
use crate::services::Services;

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
pub async fn run_event_hub(services: Arc<Services>, stop: watch::Receiver<bool>) {
    tokio::join!(
        follow_events(&services, stop.clone()),
        watch_readers(&services, stop.clone()),
        refresh_when_revoked(&services, stop),
    );
}

async fn follow_events(services: &Services, mut stop: watch::Receiver<bool>) {
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut checked_at: Option<Instant> = None;
    let mut ears: Option<Subscriber> = None;
    loop {
        if ears.is_none() {
            ears = subscribe(services).await;
        }
        tokio::select! {
            _ = stop.changed() => return,
            message = next(&mut ears) => match message {
                Some(message) => on_message(services, message).await,
                None => {
                    ears = None;
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            },
            _ = tick.tick() => {
                let settings = &services.settings.events;
                let every = match services.bus.health() {
                    Health::Up => settings.look_beside_copies,
                    Health::Local | Health::Down => settings.look,
                };
                if checked_at.is_none_or(|at| at.elapsed() >= every) {
                    checked_at = Some(Instant::now());
                    if let Err(error) = read_new_events(services).await {
                        tracing::warn!(%error, "event subscription: query failed");
                    }
                }
            }
        }
    }
}

async fn subscribe(services: &Services) -> Option<Subscriber> {
    match services.bus.subscribe().await {
        Ok(ears) => Some(ears),
        Err(error) => {
            tracing::warn!(%error, "NATS subscription failed; events are read from the table");
            tokio::time::sleep(RETRY_DELAY).await;
            None
        }
    }
}

async fn on_message(services: &Services, message: Incoming) {
    match message {
        Incoming::Live(news) => {
            services
                .event_hub
                .tell_live(news.account(), SseFrame::of_news(&news));
        }
        Incoming::Event(parcel) => {
            Counts::add(&services.event_hub.counts.copies, 1);
            if parcel.topic.as_deref() == Some(Topic::KeyRevoked.name()) {
                services.event_hub.revoked.notify_one();
            }
            if services.event_hub.follows(parcel.account) {
                take_message(services, &parcel).await;
            }
        }
    }
}

/// The next one is told as it is; after a jump the table is read; what was told is dropped.
async fn take_message(services: &Services, parcel: &RawEvent) {
    let copy = match parcel.decode() {
        Ok(copy) if copy.account() == parcel.account => copy,
        Ok(_) => return,
        Err(error) => {
            tracing::warn!(%error, "NATS event message could not be decoded");
            return;
        }
    };
    let hub = &services.event_hub;
    match hub.standing(parcel.account, copy.seq) {
        CopyStatus::NoSubscriber | CopyStatus::Old => {}
        CopyStatus::Next => {
            let notification = Notification::Event(Arc::new(SseFrame::of_copy(&copy)));
            hub.tell(parcel.account, copy.seq, vec![notification]);
        }
        CopyStatus::Jump(last) => {
            // A copy comes after its event was written, so the number is true.
            if let Err(error) = deliver(services, parcel.account, last, copy.seq).await {
                tracing::warn!(%error, "event subscription: reading missed events failed");
            }
        }
    }
}

/// Compares what readers know with the table.
pub(crate) async fn read_new_events(services: &Services) -> Result<(), DbError> {
    let followed = services.event_hub.followed();
    for some in followed.chunks(MAX_ASKED) {
        let mut session = services.data.session().await?;
        let newest = events::newest(&mut session, some).await?;
        drop(session);
        let newest: HashMap<AccountId, i64> = newest.into_iter().collect();
        for account in some {
            // An account without events is at 0; to know that makes the first one the next one.
            let (account, newest) = (*account, newest.get(account).copied().unwrap_or(0));
            match services.event_hub.standing(account, newest) {
                CopyStatus::NoSubscriber | CopyStatus::Old => {}
                CopyStatus::Next => {
                    let last = newest.saturating_sub(1);
                    deliver(services, account, Some(last), newest).await?;
                }
                CopyStatus::Jump(last) => deliver(services, account, last, newest).await?,
            }
        }
    }
    Ok(())
}

/// Tells readers of an account what is between two numbers, or that there is something.
async fn deliver(
    services: &Services,
    account: AccountId,
    last: Option<i64>,
    newest: i64,
) -> Result<(), DbError> {
    let few = last.filter(|last| newest.saturating_sub(*last) <= BURST);
    let Some(last) = few else {
        let look = vec![Notification::Look(newest)];
        services.event_hub.tell(account, newest, look);
        return Ok(());
    };
    let rows = u32::try_from(BURST.saturating_mul(2)).unwrap_or(1);
    // Not in the line of the readers, which may be many.
    let mut session = services.data.session().await?;
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
    services.event_hub.tell(account, known, news);
    Ok(())
}

/// Sends readers away whose key is over, or all of them when this node stops.
async fn watch_readers(services: &Services, mut stop: watch::Receiver<bool>) {
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut checked_at: Option<Instant> = None;
    loop {
        tokio::select! {
            _ = stop.changed() => {
                services.event_hub.send_away(CloseReason::Stopping, |_| true);
                return;
            }
            _ = tick.tick() => {}
        }
        if services.is_draining() {
            services
                .event_hub
                .send_away(CloseReason::Stopping, |_| true);
        } else if checked_at.is_none_or(|at| at.elapsed() >= KEYS) {
            checked_at = Some(Instant::now());
            check_readers(services);
        }
    }
}

/// Compares keys at once when a node reports that one was revoked.
async fn refresh_when_revoked(services: &Services, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = stop.changed() => return,
            () = services.event_hub.revoked.notified() => {}
        }
        match services.refresh_keys().await {
            Ok(()) => check_readers(services),
            Err(error) => tracing::warn!(%error, "key table refresh failed"),
        }
    }
}

fn check_readers(services: &Services) {
    let is_over = |key: &KeyHash| {
        match services.edge.find_key(key) {
            Found::Known(_, standing, account) => {
                standing != KeyStatus::Live || account.closed_at.is_some()
            }
            Found::Unknown => true,
            // The key's state is unknown; its connection stays until it is known.
            Found::TooOld => false,
        }
    };
    services.event_hub.send_away(CloseReason::KeyOver, is_over);
}

/// Open connections that follow events, for tests and figures.
#[must_use]
pub fn event_readers(services: &Services) -> usize {
    services.event_hub.size().0
}

/// Frames that were handed to connections that follow events.
#[must_use]
pub fn events_sent(services: &Services) -> u64 {
    services.event_hub.counts.frames.load(Ordering::Relaxed)
}

async fn next(ears: &mut Option<Subscriber>) -> Option<Incoming> {
    match ears {
        Some(ears) => ears.next().await,
        None => std::future::pending().await,
    }
}
