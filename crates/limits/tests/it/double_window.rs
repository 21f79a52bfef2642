//! No window has more than the limit, wherever it begins: alone, and over nodes on a real Redis.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use trunkline_limits::{Limits, RedisSettings};
use trunkline_testkit::Redis;

use crate::suite::{MINUTE, Node, TAG, requests};

/// A call that was given, and the times before and after.
struct Given {
    before: Instant,
    after: Instant,
}

/// Takes in bursts for some windows, and checks every window that begins with a call.
async fn no_window_has_more_than_its_limit(nodes: &[Limits], window: Duration) {
    const LIMIT: u64 = 40;
    let wants = [requests(1, LIMIT)];
    let (began, mut given) = (Instant::now(), Vec::new());
    let most = usize::try_from(LIMIT * 3).unwrap();
    // Until the windows after the first have given too, however slow the machine is.
    while began.elapsed() < window * 4 || given.len() < most {
        assert!(began.elapsed() < MINUTE, "{} of {most}", given.len());
        for limits in nodes {
            let before = Instant::now();
            if limits.take(TAG, wants.to_vec()).await.is_ok() {
                let after = Instant::now();
                given.push(Given { before, after });
            }
        }
        // Bursts at all times of a window, and pauses in between.
        let pause = if given.len() % 7 == 0 { 90 } else { 3 };
        sleep(Duration::from_millis(pause)).await;
    }
    for (index, first) in given.iter().enumerate() {
        let ends = first.before + window;
        let inside = given[index..].iter().filter(|call| call.after < ends);
        let inside = u64::try_from(inside.count()).unwrap();
        assert!(inside <= LIMIT, "{inside} of {LIMIT} in one window");
    }
}

// A minute in small: the window is a setting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_window_has_more_than_its_limit_over_a_boundary() {
    let window = Duration::from_secs(3);
    let redis = Redis::start().await;
    let settings = |name| RedisSettings {
        window,
        ..Node::settings(&redis, name)
    };
    let (first, second) = (
        Node::with(settings("n1")).await,
        Node::with(settings("n2")).await,
    );
    first.limits.set_nodes(2);
    second.limits.set_nodes(2);
    let both = [first.limits.clone(), second.limits.clone()];
    let alone = [Limits::local_within(window)];
    tokio::join!(
        no_window_has_more_than_its_limit(&alone, window),
        no_window_has_more_than_its_limit(&both, window)
    );
}

// What is drawn and not spent when a part of the window ends goes back, whether the next call or the sync task sees
// the end first. It was lost if a call did: a key that is used now and then lost an eighth of its limit each time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_used_now_and_then_has_its_whole_limit() {
    const LIMIT: u64 = 800;
    let window = Duration::from_secs(3);
    let redis = Redis::start().await;
    let node = Node::with(RedisSettings {
        window,
        ..Node::settings(&redis, "n1")
    })
    .await;
    let began = Instant::now();
    let mut calls = 0;
    // Parts of a tenth of a second, and calls at all times of them; all within one window.
    while calls < 150 && began.elapsed() < window - Duration::from_millis(200) {
        let grant = node.limits.take(TAG, vec![requests(1, LIMIT)]).await;
        let grant = grant.unwrap();
        calls += 1;
        let (_, state) = grant.states().next().unwrap();
        assert_eq!(state.remaining, LIMIT - calls, "after {calls} calls");
        sleep(Duration::from_millis(17)).await;
    }
}
