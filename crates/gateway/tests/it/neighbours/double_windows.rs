//! I-10: a client that sends at the end of a window and at the beginning of the next has no second limit.

use std::time::Duration;

use tokio::time::Instant;
use trunkline_edge::settings::{AcceptSettings, LimitSettings};
use trunkline_gateway::Settings;
use trunkline_limits::Limits;

use crate::options::OtherEngines;
use crate::test_gateway::{TestGateway, TestOptions, ask};

/// A minute in small.
const WINDOW: Duration = Duration::from_secs(2);
const LIMIT: u64 = 20;
const LONGEST: Duration = Duration::from_secs(120);

/// A call that was accepted: between these two moments.
struct Accepted {
    before: Instant,
    after: Instant,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_window_has_more_calls_than_the_limit_wherever_it_begins() {
    let settings = Settings {
        accept: AcceptSettings {
            limits: LimitSettings {
                requests_per_minute: LIMIT,
                ..LimitSettings::default()
            },
            ..AcceptSettings::default()
        },
        ..Settings::default()
    };
    // Without money a call is refused after its limits: cheap, and counted all the same.
    let harness = TestGateway::build(TestOptions {
        settings,
        paid: 0,
        has_usual_limits: true,
        limits: Limits::local_within(WINDOW),
        engines: OtherEngines::None,
        ..TestOptions::default()
    });
    let harness = harness.await;
    let most = usize::try_from(LIMIT).unwrap();
    let (began, mut accepted) = (Instant::now(), Vec::new());
    // One call begins a window; the others come around its end, and for some windows after it.
    while accepted.len() < most * 4 {
        assert!(began.elapsed() < LONGEST, "{} accepted", accepted.len());
        let before = Instant::now();
        let got = harness.chat(&ask("hello")).await;
        if got.status == 402 {
            let after = Instant::now();
            accepted.push(Accepted { before, after });
        } else {
            assert_eq!(got.status, 429, "{}", got.text());
            let wait: u64 = got.header("retry-after").unwrap().parse().unwrap();
            assert!((1..=WINDOW.as_secs()).contains(&wait), "{wait}");
            let left = got.header("x-ratelimit-remaining-requests");
            assert_eq!(left.as_deref(), Some("0"));
        }
        if accepted.len() == 1 {
            tokio::time::sleep(WINDOW * 9 / 10).await;
        }
    }
    for (index, first) in accepted.iter().enumerate() {
        let ends = first.before + WINDOW;
        let inside = accepted[index..].iter().filter(|call| call.after < ends);
        let inside = inside.count();
        assert!(inside <= most, "{inside} of {most} in one window");
    }
}
