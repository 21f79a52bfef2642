//! Many tasks in flight, the same number of questions a second. The tasks are rows written in bulk, all
//! copies of one that was really made, and all of them ask for its job, which never ends; everything
//! else is the product's own way: `take_video_jobs`, the call to the simulator, and what is written.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::json;
use tokio::time::{Instant, sleep};
use trunkline_gateway::{Services, Settings, VideoJob, VideoSettings};

use crate::growth::meter::{self, Sums};
use crate::response::GatewayResponse;
use crate::test_gateway::{ChannelOptions, TestGateway};

/// What a question may cost at the most tasks against the fewest.
const MOST_GROWTH: f64 = 1.3;
/// The same for the buffers of the short form, which is no proof of the limit above: small tables were
/// seen to grow by 1.4 (500 to 5,000 tasks), why is not known. A scan would grow by ten, and is caught.
const MOST_SHORT_GROWTH: f64 = 2.0;
/// Between two looks at an empty list, as workers do.
const LOOK: Duration = Duration::from_millis(200);
/// Of what is offered, so much must be taken: with less, it was a standstill that was measured. A busy
/// machine takes less than is offered; what one poll costs it does not change.
const LEAST_TAKEN: f64 = 0.5;
/// Until tasks that waited for the trigger are taken.
const SETTLED: Duration = Duration::from_secs(2);
const MODEL: &str = "wan2.7-t2v";
const CATALOG: &str = r#"
[models."wan2.7-t2v"]
groups = ["default"]
endpoints = ["openai-video"]
specs = { type = "video", video_family = "a_text", resolutions = ["720P", "1080P"], max_duration_seconds = 15, min_duration_seconds = 2 }
[models."wan2.7-t2v".prices]
billing_unit = "per_second"
standard = { video_second = 100000000000 }
"#;

/// How much is offered, and for how long.
#[derive(Debug, Clone, Copy)]
struct Load {
    per_second: u64,
    most_buffer_growth: f64,
    warm: Duration,
    window: Duration,
}

/// What one question cost.
#[derive(Debug)]
struct Cost {
    tasks: u64,
    per_second: f64,
    buffers: f64,
    statements: f64,
    own_millis: f64,
    postgres_millis: f64,
    lag_median_millis: f64,
    lag_p99_millis: f64,
}

/// A gateway whose tasks are asked for so often that all of them together make the load.
async fn harness(tasks: u64, load: Load) -> TestGateway {
    let pause = Duration::from_millis(tasks * 1_000 / load.per_second);
    let settings = Settings {
        video: VideoSettings {
            poll_first: pause,
            poll_most: pause,
            polls_per_second: 1_000_000,
            ..VideoSettings::default()
        },
        ..Settings::default()
    };
    let harness = TestGateway::with(settings, 1_000_000_000_000, 0).await;
    harness.sell(CATALOG).await;
    let base = format!("http://{}/api/v1", harness.simulator.address());
    let options = ChannelOptions {
        provider: Some("dashscope_native"),
        ..ChannelOptions::default()
    };
    harness
        .channel_with("videos", &base, &[(MODEL, MODEL)], options)
        .await;
    harness
}

/// One real task whose job never ends, and as many copies of its row as are asked for, due one after
/// the other.
async fn fill(harness: &TestGateway, tasks: u64, load: Load) {
    let body =
        json!({ "model": MODEL, "prompt": "a cat [[job:wait_ms:0]][[job:stuck]]" }).to_string();
    let made = harness
        .send(Method::POST, "/v1/videos", Bytes::from(body))
        .await;
    let made = GatewayResponse::read(made).await;
    assert_eq!(made.status, 200, "{}", made.text());
    let per_second = load.per_second;
    let copies = format!(
        "INSERT INTO app.video_task SELECT copy.*
         FROM app.video_task AS t, generate_series(1, {tasks}) AS n,
             LATERAL jsonb_populate_record(t, jsonb_build_object('state', 'running', 'id',
                 overlay(app.uuid_v7_floor(app.now() - n * interval '3 ms')::text
                     PLACING lpad(to_hex(n), 12, '0') FROM 25))) AS copy
         WHERE t.state = 'submitted'"
    );
    let places = format!(
        "INSERT INTO app.video_schedule (task_id, account_id, job, due_at)
         SELECT id, account_id, 'poll',
             app.now() + row_number() OVER (ORDER BY md5(id::text)) * interval '1 second' / {per_second}
         FROM app.video_task WHERE state = 'running'"
    );
    for statement in [
        copies.as_str(),
        "DELETE FROM app.video_schedule",
        &places,
        "VACUUM ANALYZE app.video_task",
        "VACUUM ANALYZE app.video_schedule",
    ] {
        harness.db.ask(statement).await;
    }
    let written = "SELECT count(*)::text FROM app.video_schedule";
    assert_eq!(harness.db.ask(written).await, [tasks.to_string()]);
}

/// What a worker does, until it is told to stop.
async fn work(gateway: &Arc<Services>, stop: &Cell<bool>) {
    while !stop.get() {
        if trunkline_gateway::claim_video_jobs(gateway, VideoJob::Poll)
            .await
            .unwrap()
            == 0
        {
            sleep(LOOK).await;
        }
    }
}

/// Questions that the vendor was asked.
fn poll_count(harness: &TestGateway) -> f64 {
    let jobs = harness.simulator.video_jobs();
    let [job] = jobs.as_slice() else {
        panic!("{} jobs", jobs.len());
    };
    f64::from(u32::try_from(job.polls).unwrap())
}

/// How late tasks are taken, in milliseconds. A trigger writes it down: it costs, so it is not there
/// while costs are measured.
async fn lag(harness: &TestGateway, load: Load) -> [f64; 2] {
    for statement in [
        "CREATE TABLE public.lag (millis float8 NOT NULL)",
        "CREATE FUNCTION public.note_lag() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $note$ BEGIN
             INSERT INTO public.lag VALUES (extract(epoch FROM app.now() - OLD.due_at) * 1000);
             RETURN NULL;
         END $note$",
        "CREATE TRIGGER note_lag AFTER UPDATE ON app.video_schedule
             FOR EACH ROW WHEN (NEW.tries > OLD.tries) EXECUTE FUNCTION public.note_lag()",
    ] {
        harness.db.ask(statement).await;
    }
    // All workers stood still while the trigger was made; that is not what is measured.
    sleep(SETTLED).await;
    harness.db.ask("DELETE FROM public.lag").await;
    sleep(load.window).await;
    let part = async |part: &str| -> f64 {
        let query = format!(
            "SELECT (percentile_cont({part}) WITHIN GROUP (ORDER BY millis))::text FROM public.lag"
        );
        harness.db.ask(&query).await[0].parse().unwrap()
    };
    [part("0.5").await, part("0.99").await]
}

async fn measured(tasks: u64, load: Load) -> Cost {
    let harness = harness(tasks, load).await;
    fill(&harness, tasks, load).await;
    let stop = Cell::new(false);
    // Sums are read while the work goes on: backends tell theirs about a second late, at both ends.
    let watched = async {
        sleep(load.warm).await;
        let (before, polls_before) = (meter::read(&harness.db).await, poll_count(&harness));
        let began = Instant::now();
        sleep(load.window).await;
        let used: Sums = meter::read(&harness.db).await - before;
        let polls = poll_count(&harness) - polls_before;
        let took = began.elapsed().as_secs_f64();
        let [lag_median_millis, lag_p99_millis] = lag(&harness, load).await;
        stop.set(true);
        Cost {
            tasks,
            per_second: polls / took,
            buffers: used.buffers / polls,
            statements: used.statements / polls,
            own_millis: used.own_millis / polls,
            postgres_millis: used.postgres_millis / polls,
            lag_median_millis,
            lag_p99_millis,
        }
    };
    let (cost, ()) = tokio::join!(watched, work(&harness.gateway, &stop));
    cost
}

async fn measure(sizes: &[u64], load: Load) {
    let mut costs = Vec::new();
    for tasks in sizes {
        let cost = Box::pin(measured(*tasks, load)).await;
        println!(
            "{:>7} tasks: {:.0} polls a second; each {:.1} buffers, {:.2} statements, {:.2} ms CPU of the process, \
             {:.2} ms of PostgreSQL; lag {:.0} ms median, {:.0} ms p99",
            cost.tasks,
            cost.per_second,
            cost.buffers,
            cost.statements,
            cost.own_millis,
            cost.postgres_millis,
            cost.lag_median_millis,
            cost.lag_p99_millis
        );
        costs.push(cost);
    }
    let [first, .., last] = costs.as_slice() else {
        panic!("two sizes at least");
    };
    for cost in &costs {
        let least = f64::from(u32::try_from(load.per_second).unwrap()) * LEAST_TAKEN;
        assert!(cost.per_second >= least, "too slow to measure: {cost:?}");
    }
    for (name, small, large, most) in [
        (
            "buffers",
            first.buffers,
            last.buffers,
            load.most_buffer_growth,
        ),
        ("statements", first.statements, last.statements, MOST_GROWTH),
    ] {
        let growth = large / small;
        println!("{name} grow {growth:.2} times");
        assert!(
            growth <= most,
            "{name} of a poll: {small:.1} at {} tasks, {large:.1} at {}",
            first.tasks,
            last.tasks
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_times_the_tasks_in_flight_do_not_cost_ten_times_by_the_poll() {
    let load = Load {
        per_second: 100,
        most_buffer_growth: MOST_SHORT_GROWTH,
        warm: Duration::from_secs(3),
        window: Duration::from_secs(8),
    };
    // With fewer, an index is a single page, and everything behind it costs more than that.
    measure(&[500, 5_000], load).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes and both cores: just video-growth"]
async fn a_hundred_times_the_tasks_in_flight_cost_the_same_by_the_poll() {
    let load = Load {
        per_second: 300,
        most_buffer_growth: MOST_GROWTH,
        warm: Duration::from_secs(8),
        window: Duration::from_secs(20),
    };
    measure(&[1_000, 10_000, 100_000], load).await;
}
