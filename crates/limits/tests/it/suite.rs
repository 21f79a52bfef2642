//! What every way of counting must do, alone and by Redis; and what only several nodes can show.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use trunkline_limits::{
    CounterCost, CounterGroup, CounterKey, CounterKind, Grant, LimitExceeded, Limits, Mode,
    RedisSettings, ScopeId, SyncTask,
};
use trunkline_testkit::{FaultProxy, Redis};
use trunkline_types::Secret;

pub(crate) const TAG: CounterGroup = CounterGroup::new("account", 7);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
/// Long enough for a slow machine; what a slow Redis does is tested with the real one.
const PATIENT: Duration = Duration::from_secs(5);
const SLICES: u64 = 8;

fn want(kind: CounterKind, number: i64, limit: u64, amount: u64) -> CounterCost {
    CounterCost {
        key: CounterKey {
            scope: "key",
            id: ScopeId::Number(number),
            kind,
        },
        limit,
        amount,
    }
}

pub(crate) fn requests(number: i64, limit: u64) -> CounterCost {
    want(CounterKind::Requests, number, limit, 1)
}

fn at_once(number: i64, limit: u64) -> CounterCost {
    want(CounterKind::Concurrent, number, limit, 1)
}

/// One node. Its keeper runs until it is dropped.
pub(crate) struct Node {
    pub(crate) limits: Limits,
    stop: watch::Sender<bool>,
}

impl Node {
    pub(crate) fn settings(redis: &Redis, name: &str) -> RedisSettings {
        RedisSettings {
            timeout: PATIENT,
            ..RedisSettings::new(Secret::new(redis.url()), name)
        }
    }

    async fn start(redis: &Redis, name: &str) -> Self {
        Self::with(Self::settings(redis, name)).await
    }

    pub(crate) async fn with(settings: RedisSettings) -> Self {
        let (limits, keeper) = Limits::redis(settings).unwrap();
        let node = Self::keep(limits, keeper);
        node.becomes(Mode::Shared).await;
        node
    }

    pub(crate) fn keep(limits: Limits, keeper: SyncTask) -> Self {
        let (stop, stopped) = watch::channel(false);
        #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
        tokio::spawn(keeper.run(stopped));
        Self { limits, stop }
    }

    async fn becomes(&self, mode: Mode) {
        until(&format!("the mode is {}", mode.as_str()), async || {
            self.limits.mode() == mode
        })
        .await;
    }

    async fn take(&self, wants: &[CounterCost]) -> Result<Grant, LimitExceeded> {
        self.limits.take(TAG, wants.to_vec()).await
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

/// Waits for a condition, with a bound.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < MINUTE, "waited in vain until {what}");
        sleep(Duration::from_millis(10)).await;
    }
}

/// How many of so many tries succeed.
async fn given(limits: &Limits, wants: &[CounterCost], tries: u64) -> u64 {
    let mut given = 0;
    for _ in 0..tries {
        given += u64::from(limits.take(TAG, wants.to_vec()).await.is_ok());
    }
    given
}

/// What holds for both.
async fn holds_for(limits: &Limits) {
    a_window_gives_its_limit_and_says_what_is_left(limits).await;
    one_call_takes_of_all_its_limits_or_of_none(limits).await;
    tokens_are_corrected_when_they_are_known(limits).await;
    things_at_once_come_back(limits).await;
}

async fn a_window_gives_its_limit_and_says_what_is_left(limits: &Limits) {
    for taken in 1..=20_u64 {
        let grant = limits.take(TAG, vec![requests(1, 20)]).await.unwrap();
        let (_, standing) = grant.states().next().unwrap();
        assert_eq!((standing.limit, standing.remaining), (20, 20 - taken));
        assert!(standing.resets_in <= MINUTE && !standing.resets_in.is_zero());
    }
    for _ in 0..3 {
        let refused = limits.take(TAG, vec![requests(1, 20)]).await.unwrap_err();
        assert_eq!((refused.index, refused.states[0].remaining), (0, 0));
        assert!(refused.retry_after <= MINUTE && !refused.retry_after.is_zero());
    }
    // A higher limit holds at once.
    sleep(Duration::from_millis(150)).await;
    assert_eq!(given(limits, &[requests(1, 25)], 10).await, 5);
    let other = CounterGroup::new("account", 8);
    assert!(limits.take(other, vec![requests(1, 20)]).await.is_ok());
}

async fn one_call_takes_of_all_its_limits_or_of_none(limits: &Limits) {
    let both = [requests(2, 10), requests(3, 4)];
    assert_eq!(given(limits, &both, 20).await, 4);
    let refused = limits.take(TAG, both.to_vec()).await.unwrap_err();
    assert_eq!(refused.index, 1);
    assert_eq!(
        given(limits, &[requests(2, 10)], 20).await,
        6,
        "nothing was lost"
    );
}

async fn tokens_are_corrected_when_they_are_known(limits: &Limits) {
    let guess = |amount| vec![want(CounterKind::Tokens, 4, 1_000, amount)];
    let left = |grant: &Grant| grant.states().next().unwrap().1.remaining;
    let mut first = limits.take(TAG, guess(100)).await.unwrap();
    assert_eq!(left(&first), 900);
    first.used(400);
    first.used(1);
    let mut second = limits.take(TAG, guess(100)).await.unwrap();
    assert_eq!(left(&second), 500);
    second.used(0);
    let mut third = limits.take(TAG, guess(100)).await.unwrap();
    assert_eq!(left(&third), 500);
    // More than there is: the window is empty, and no more than that.
    third.used(5_000);
    let refused = limits.take(TAG, guess(1)).await.unwrap_err();
    assert_eq!(refused.states[0].remaining, 0);
    // One that is larger than the limit takes a fresh window.
    let large = vec![want(CounterKind::Tokens, 5, 1_000, 3_000)];
    assert!(limits.take(TAG, large.clone()).await.is_ok());
    assert!(limits.take(TAG, large).await.is_err());
}

async fn things_at_once_come_back(limits: &Limits) {
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(limits.take(TAG, vec![at_once(6, 5)]).await.unwrap());
    }
    let refused = limits.take(TAG, vec![at_once(6, 5)]).await.unwrap_err();
    assert_eq!(refused.retry_after, Duration::from_secs(1));
    held.pop();
    assert_eq!(
        given(limits, &[at_once(6, 5)], 10).await,
        10,
        "each comes back"
    );
    // What is refused for another limit holds no seat.
    let both = [at_once(6, 5), requests(7, 1)];
    assert_eq!(given(limits, &both, 3).await, 1);
    held.push(limits.take(TAG, vec![at_once(6, 5)]).await.unwrap());
    assert!(limits.take(TAG, vec![at_once(6, 5)]).await.is_err());
}

#[tokio::test]
async fn alone_limits_hold() {
    let limits = Limits::local();
    assert_eq!(limits.mode(), Mode::Local);
    holds_for(&limits).await;
    assert_eq!(limits.counts().requests, 0);
}

#[tokio::test]
async fn by_redis_limits_hold() {
    let redis = Redis::start().await;
    let node = Node::start(&redis, "n1").await;
    holds_for(&node.limits).await;
    assert_eq!(node.limits.counts().decided_locally, 0);
}

/// Tasks of every node take as fast as they can until no task is given anything.
async fn hammer(nodes: &[Arc<Node>], wants: &[CounterCost]) -> u64 {
    const CALLERS: usize = 8;
    const TRIES: usize = 200;
    let mut callers = tokio::task::JoinSet::new();
    for node in nodes {
        for _ in 0..CALLERS {
            let (node, wants) = (Arc::clone(node), wants.to_vec());
            callers.spawn(async move {
                let mut given = 0;
                for _ in 0..TRIES {
                    given += u64::from(node.take(&wants).await.is_ok());
                }
                given
            });
        }
    }
    callers.join_all().await.into_iter().sum()
}

async fn nodes(redis: &Redis, count: u64) -> Vec<Arc<Node>> {
    let mut nodes = Vec::new();
    for number in 0..count {
        let node = Node::start(redis, &format!("n{number}")).await;
        node.limits.set_nodes(count);
        nodes.push(Arc::new(node));
    }
    nodes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn several_nodes_never_pass_a_limit_and_reach_it_but_for_a_slice_each() {
    let redis = Redis::start().await;
    for (count, limit, number) in [(2, 600, 1), (3, 600, 2), (3, 7, 3), (3, 1_000, 4)] {
        let nodes = nodes(&redis, count).await;
        let wants = [requests(number, limit), requests(number + 100, limit * 2)];
        let given = hammer(&nodes, &wants).await;
        let slice = limit / (SLICES * count) + 1;
        let least = limit - count * slice;
        assert!(
            (least..=limit).contains(&given),
            "{given} of {limit} by {count} nodes, at least {least}"
        );
        let decided: u64 = nodes
            .iter()
            .map(|node| node.limits.counts().decided_locally)
            .sum();
        assert_eq!(decided, 0, "Redis was there all the time");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn most_calls_wait_for_no_round_trip() {
    let redis = Redis::start().await;
    let node = Node::start(&redis, "n1").await;
    assert_eq!(
        given(&node.limits, &[requests(1, 1_000_000)], 5_000).await,
        5_000
    );
    let to_redis = node.limits.counts().requests;
    assert!(to_redis < 50, "{to_redis} questions for 5,000 calls");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_slice_that_a_node_does_not_use_goes_to_the_others() {
    let redis = Redis::start().await;
    let nodes = nodes(&redis, 2).await;
    let wants = [requests(1, 160)];
    assert!(nodes[0].take(&wants).await.is_ok());
    let first = given(&nodes[1].limits, &wants, 200).await;
    assert!((149..=159).contains(&first), "{first}");
    let began = Instant::now();
    let mut second = first;
    while second < 159 && began.elapsed() < Duration::from_secs(30) {
        second += given(&nodes[1].limits, &wants, 1).await;
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(second, 159, "all but the one that the first has spent");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn things_at_once_are_exact_over_nodes_and_those_of_a_dead_node_come_back() {
    let redis = Redis::start().await;
    let settings = |name| RedisSettings {
        lease: Duration::from_secs(3),
        ..Node::settings(&redis, name)
    };
    let wants = [at_once(1, 20)];
    let living = Node::with(settings("living")).await;
    let (dying, keeper) = Limits::redis(settings("dying")).unwrap();
    let (stop, stopped) = watch::channel(false);
    let mut keepers = tokio::task::JoinSet::new();
    keepers.spawn(keeper.run(stopped));
    until("the other node is there", async || {
        dying.mode() == Mode::Shared
    })
    .await;
    let (mut here, mut there) = (Vec::new(), Vec::new());
    until(
        "all seats are taken, slices that rest included",
        async || {
            here.extend(living.take(&wants).await.ok());
            there.extend(dying.take(TAG, wants.to_vec()).await.ok());
            assert!(here.len() + there.len() <= 20, "never more than the limit");
            here.len() + there.len() == 20
        },
    )
    .await;
    assert!(living.take(&wants).await.is_err());
    // It dies: its lease is neither renewed nor returned.
    drop(stop);
    keepers.shutdown().await;
    until("its seats are free", async || {
        here.extend(living.take(&wants).await.ok());
        here.len() == 20
    })
    .await;
    assert!(living.take(&wants).await.is_err());
    drop((there, dying));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_window_is_over_by_the_clock_of_redis() {
    let redis = Redis::start().await;
    let settings = RedisSettings {
        window: Duration::from_secs(3),
        ..Node::settings(&redis, "n1")
    };
    let node = Node::with(settings).await;
    let wants = [requests(1, 5)];
    assert_eq!(given(&node.limits, &wants, 6).await, 5);
    let refused = node.take(&wants).await.unwrap_err();
    // The wait is capped at the window; the part that Redis counts in ends a thirtieth of it later.
    sleep(refused.retry_after + Duration::from_millis(150)).await;
    assert!(node.take(&wants).await.is_ok(), "it said when");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_redis_that_lost_its_data_is_refilled_by_the_nodes() {
    let redis = Redis::start().await;
    let nodes = nodes(&redis, 2).await;
    let wants = [requests(1, 80)];
    let before = given(&nodes[0].limits, &wants, 60).await;
    assert_eq!(before, 60);
    redis.flush();
    // A node that knows the window reports it: no second limit begins.
    let after = given(&nodes[0].limits, &wants, 100).await;
    assert!((10..=20).contains(&after), "{after} more of 80");
    let other = given(&nodes[1].limits, &wants, 100).await;
    let sum = before + after + other;
    assert!((80 - 12..=80).contains(&sum), "{sum} of 80");
}

/// What is broken, and how it is mended.
struct Broken<'a> {
    what: &'a str,
    limits: Limits,
}

impl Broken<'_> {
    /// Calls go on within the share, without waiting.
    async fn goes_on(&self, number: i64) {
        let wants = [requests(number, 30)];
        let began = Instant::now();
        let given = given(&self.limits, &wants, 200).await;
        assert_eq!(given, 10, "{}: a third of the limit", self.what);
        assert_eq!(self.limits.mode(), Mode::Fallback, "{}", self.what);
        // One call waits for the timeout at most, the others do not wait.
        assert!(began.elapsed() < Duration::from_secs(20), "{}", self.what);
        let counts = self.limits.counts();
        assert!(counts.decided_locally > 0, "{}", self.what);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn without_redis_calls_go_on_by_the_share_and_it_comes_back_by_itself() {
    let redis = Redis::start().await;
    let wire: FaultProxy = redis.wire();
    let settings = RedisSettings {
        timeout: Duration::from_millis(500),
        ..RedisSettings::new(Secret::new(redis.url_through(&wire)), "n1")
    };
    let node = Node::with(settings).await;
    node.limits.set_nodes(3);
    let broken = |what| Broken {
        what,
        limits: node.limits.clone(),
    };
    let back = async |number| {
        node.becomes(Mode::Shared).await;
        let wants = [requests(number, 30)];
        // What was spent meanwhile was told, and the rest of the whole limit is there again.
        until("more than the share is there", async || {
            let Ok(taken) = node.take(&wants).await else {
                return false;
            };
            let (_, standing) = taken.states().next().unwrap();
            // Ten were spent, and this one; a slice may have been drawn whose answer never came.
            let lost = 30 / (SLICES * 3) + 1;
            let left = standing.remaining;
            assert!((19 - lost..=19).contains(&left), "{left}");
            true
        })
        .await;
    };
    wire.delay(Duration::from_secs(2));
    broken("slow").goes_on(1).await;
    wire.pass();
    back(1).await;
    wire.black_hole();
    broken("cut off").goes_on(2).await;
    wire.pass();
    back(2).await;
    wire.refuse();
    broken("refused").goes_on(3).await;
    wire.pass();
    back(3).await;
    redis.pause();
    broken("paused").goes_on(4).await;
    redis.resume();
    back(4).await;
    redis.kill_9();
    broken("killed").goes_on(5).await;
    redis.restart();
    back(5).await;
    assert!(node.limits.counts().failed >= 5);
}

#[tokio::test]
async fn a_call_never_waits_longer_than_the_timeout() {
    let redis = Redis::start().await;
    let wire = redis.wire();
    let settings = RedisSettings {
        timeout: Duration::from_millis(300),
        ..RedisSettings::new(Secret::new(redis.url_through(&wire)), "n1")
    };
    let node = Node::with(settings).await;
    wire.black_hole();
    let began = Instant::now();
    assert!(node.take(&[requests(1, 5)]).await.is_ok());
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
    // The next call does not wait at all.
    assert_eq!(node.limits.counts().failed, 1);
    assert_eq!(node.limits.mode(), Mode::Fallback);
}

#[test]
fn an_address_that_is_none_is_refused_and_not_repeated() {
    let settings = RedisSettings::new(Secret::new("psst://secret".to_owned()), "n1");
    let error = Limits::redis(settings).unwrap_err();
    assert!(!error.to_string().contains("secret"));
}
