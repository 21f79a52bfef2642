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
