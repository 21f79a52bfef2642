//! Rows P: PostgreSQL fails under a running gateway, beneath calls of every format.

use std::fs::File;
use std::io::Write as _;
use std::time::Duration;

use tokio::time::Instant;
use trunkline_testkit::{OwnSettings, all_at_once, privileged};

use super::{Scene, all_end};
use crate::faults::client_view::{ClientView, reported};
use crate::faults::formats::Pair;
use crate::faults::process_harness::{CHARGES, ProcessHarness};
use crate::operator_page::{Page, nothing};
use crate::runbook;

/// How long an answer that is done waits for its charge to be written, and a little more.
const SETTLEMENT: Duration = Duration::from_secs(10);
const LITTLE: Duration = Duration::from_secs(3);
/// A call is refused within this while the database is away.
const REFUSED_WITHIN: Duration = Duration::from_millis(1_800);
const AWAY: &str = "temporarily_unavailable";

impl Scene {
    /// New calls are refused, soon, and as what it is.
    async fn refuses(&self) {
        let ways = Pair::neighbours().map(|pair| [(pair, true), (pair, false)]);
        let calls = ways.into_iter().flatten().map(|(pair, stream)| async move {
            let began = Instant::now();
            let mut answer = self.call(pair, "[[id:refused]] hi", stream).await.unwrap();
            let waited = began.elapsed();
            assert!(waited < REFUSED_WITHIN, "{pair}: {waited:?}");
            assert_eq!(answer.status, 503, "{pair}");
            assert!(answer.headers.contains_key("retry-after"), "{pair}");
            let body = answer.whole(10_000).await.unwrap();
            let reported = reported(pair.caller, 503, stream, &body);
            assert_eq!(reported, ClientView::Failed(AWAY.to_owned()), "{pair}");
        });
        all_at_once(calls.collect()).await;
        assert!(self.served("refused").is_empty());
    }
}

// row: P1
#[tokio::test]
async fn a_database_restart_only_delays_a_stream() {
    for kill in [true, false] {
        let scene = Scene::new(ProcessHarness::wired().await);
        let streams = scene.streams("[[tokens:60]] [[pace:20]]").await;
        if kill {
            scene.harness.postgres.kill_9_postmaster();
        } else {
            scene.harness.postgres.stop_immediate();
        }
        scene.until_all_served().await;
        scene.harness.postgres.start();
        all_end(streams, &ClientView::Complete).await;
        scene.spent(scene.price_of_all()).await;
        scene.all_are_charged().await;
    }
}

// row: P1
// covers: D-2-60, D-2-61
#[tokio::test]
async fn a_database_outage_ends_streams_uncharged_after_10s_and_refuses_calls() {
    let scene = Scene::new(ProcessHarness::wired().await);
    let streams = scene.streams("[[tokens:60]] [[pace:20]]").await;
    let calls = streams.len();
    scene.harness.postgres.stop_immediate();
    scene.until_all_served().await;
    let done = Instant::now();
    scene.refuses().await;
    all_end(streams, &ClientView::Failed(AWAY.to_owned())).await;
    let waited = done.elapsed();
    assert!(waited > SETTLEMENT - LITTLE, "{waited:?}");
    assert!(waited < SETTLEMENT + LITTLE, "{waited:?}");
    scene.harness.postgres.start();
    let spent = scene.serves_again("b").await;
    scene.spent(spent).await;
    let usage = scene.usage().await;
    let free = usage.iter().filter(|it| it.ends_with(" 0")).count();
    assert_eq!((free, usage.len()), (calls, calls + 1), "{usage:?}");
    // What the upstream will bill is ours to bear, and written down.
    super::reached("the losses are noted", async || {
        scene.losses().await.len() == calls
    })
    .await;
    assert_eq!(scene.losses().await, vec!["database_away"; calls]);
}

// row: P4
// row: P5
#[tokio::test]
async fn a_full_disk_refuses_calls_loses_nothing_and_heals_when_there_is_space() {
    if !privileged().await {
        return;
    }
    let small = [("max_wal_size", "8MB"), ("min_wal_size", "2MB")];
    let settings = OwnSettings {
        disk_limit_mb: Some(160),
        extra_config: small
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ..OwnSettings::default()
    };
    let scene = Scene::new(ProcessHarness::with(settings, true).await);
    let mut spent = scene.serves_again("before").await;
    let ballast = scene.harness.postgres.folder().join("ballast");
    let mut file = File::create(&ballast).unwrap();
    while file.write_all(&[7; 65_536]).is_ok() {}
    drop(file);
    // Calls go on until the log is full; then they fail, and none is charged.
    let mut failed = None;
    for number in 0..4_000 {
        let marker = format!("full{number}");
        let prompt = format!("[[id:{marker}]] [[tokens:3]]");
        match scene.reported(Pair::numbered(number), &prompt, true).await {
            ClientView::Complete => spent += scene.price(&marker),
            other @ (ClientView::Failed(_)
            | ClientView::Left
            | ClientView::Unknown
            | ClientView::Nonsense(_)) => {
                failed = Some(other);
                break;
            }
        }
    }
    assert_eq!(failed, Some(ClientView::Failed(AWAY.to_owned())));
    let (page, postgres) = (Page::open("runbook/full-disk.md"), &scene.harness.postgres);
    let mut operator = runbook::shell(&scene.harness, postgres);
    operator.replace(
        "/var/lib/postgresql",
        postgres.folder().display().to_string(),
    );
    operator.run(page.block("df -h"), nothing).await;
    let start = page.block("sudo systemctl start postgresql");
    operator
        .run(start, async |request| {
            assert_eq!(request, "systemctl start postgresql");
            if !postgres.runs() {
                postgres.start();
            }
        })
        .await;
    super::reached("it serves", async || {
        let prompt = "[[id:probe]] [[fault:status:500]]";
        scene.reported(Pair::CHAT, prompt, false).await
            == ClientView::Failed("upstream_error".to_owned())
    })
    .await;
    operator
        .run(page.block("curl -sS --retry 60"), nothing)
        .await;
    operator
        .run(page.block("sudo -u postgres psql"), nothing)
        .await;
    page.is_run();
    spent += scene.serves_again("after").await;
    scene.spent(spent).await;
}

// row: P6
#[tokio::test]
async fn a_frozen_database_only_delays_the_end_of_a_stream() {
    const TOKENS: usize = 60;
    let scene = Scene::new(ProcessHarness::wired().await);
    let mut streams = scene.streams("[[tokens:60]] [[pace:20]]").await;
    scene.harness.postgres.pause();
    scene.refuses().await;
    // Every piece of an answer comes while the database stands still; the last word may come in one
    // frame with the end.
    for stream in &mut streams {
        stream.read_words(TOKENS - 1).await;
    }
    scene.harness.postgres.resume();
    all_end(streams, &ClientView::Complete).await;
    let spent = scene.price_of_all() + scene.serves_again("b").await;
    scene.spent(spent).await;
}

// row: P7
#[tokio::test]
async fn calls_wait_for_taken_connections_and_the_pool_keeps_its_size() {
    const MINE: &str = "SELECT count(*)::text FROM pg_stat_activity WHERE usename = 'test_data'";
    let scene = Scene::new(ProcessHarness::wired().await);
    let mut spent = scene.serves_again("a").await;
    scene
        .harness
        .postgres
        .ask("ALTER ROLE test_data CONNECTION LIMIT 0")
        .await;
    scene.harness.postgres.wire().cut();
    scene.refuses().await;
    scene
        .harness
        .postgres
        .ask("ALTER ROLE test_data CONNECTION LIMIT -1")
        .await;
    super::reached("it serves", async || {
        let prompt = "[[id:probe]] [[fault:status:500]]";
        scene.reported(Pair::CHAT, prompt, false).await
            == ClientView::Failed("upstream_error".to_owned())
    })
    .await;
    let calls = (0..64).map(|number| {
        let prompt = format!("[[id:many{number}]] [[tokens:3]]");
        let scene = &scene;
        async move { scene.reported(Pair::numbered(number), &prompt, true).await }
    });
    for reported in all_at_once(calls.collect()).await {
        assert_eq!(reported, ClientView::Complete);
    }
    let open: usize = scene.harness.postgres.ask(MINE).await[0].parse().unwrap();
    // The gateway's pool, and the one of this test.
    assert!(open <= 2 * 20, "{open} connections");
    spent += (0..64)
        .map(|number| scene.price(&format!("many{number}")))
        .sum::<i64>();
    scene.spent(spent).await;
}

// row: P8
#[tokio::test]
async fn a_commit_with_a_lost_answer_is_submitted_again_and_charges_once() {
    let scene = Scene::new(ProcessHarness::wired().await);
    let mut spent = 0;
    for (pair, lost_before) in Pair::neighbours()
        .into_iter()
        .flat_map(|pair| [(pair, true), (pair, false)])
    {
        let marker = format!("{pair}-{lost_before}");
        let prompt = format!("[[id:{marker}]] [[tokens:4]] [[pace:100]]");
        let stream = scene.stream(pair, &prompt).await;
        let wire = scene.harness.postgres.wire();
        wire.only_of(CHARGES);
        let before = wire.strikes();
        if lost_before {
            wire.cut_before_commit();
        } else {
            wire.cut_after_commit();
        }
        assert_eq!(stream.ends().await, (pair, ClientView::Complete));
        scene.until_struck(before).await;
        spent += scene.price(&marker);
        scene.spent(spent).await;
        let charged = format!("complete {}", scene.price(&marker));
        assert_eq!(scene.usage().await.pop(), Some(charged));
    }
    assert_eq!(scene.usage().await.len(), 8);
}

// row: P9
#[tokio::test]
async fn a_charge_waits_for_a_held_lock_and_is_written_once() {
    let scene = Scene::new(ProcessHarness::wired().await);
    let streams = scene.streams("[[tokens:60]] [[pace:20]]").await;
    let locked = "BEGIN; SELECT 1::text FROM ledger.account FOR UPDATE; \
                  SELECT pg_sleep(3)::text; COMMIT";
    tokio::join!(
        all_end(streams, &ClientView::Complete),
        scene.harness.postgres.ask(locked)
    );
    scene.spent(scene.price_of_all()).await;
    scene.all_are_charged().await;
}
