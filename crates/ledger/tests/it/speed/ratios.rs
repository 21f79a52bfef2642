//! Interleaved rounds of the ledger, the bare loop and one UPDATE per call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use trunkline_db::{Database, PoolSettings, Role, connect};
use trunkline_ledger::accounts::{self, AccountKind, TopUp, TopUpAnswer, Wallet};
use trunkline_ledger::{Ledger, LedgerSettings, NodeEpoch, ReserveAnswer, SettleAnswer};
use trunkline_testkit::{OwnSettings, Postgres};
use trunkline_types::{AccountId, Money, NodeId};

use crate::speed::bare::{Ready, bare_loop, one_update_per_call};
use crate::test_ledger::{request, reserve, settle};

/// Rounds of each contender; the middle one counts, so that a hiccup of the machine does not.
const ROUNDS: usize = 5;
const SECONDS: f64 = 2.0;
/// Callers at once: enough to keep full batches coming.
const CALLERS: usize = 2_048;

/// Times one UPDATE per call. The goal is 5; what was reached, and why not more where a flush costs
/// next to nothing, is in docs/dev/ledger.md. This is where it must not get worse unseen.
const LEAST_GAIN: f64 = 1.5;

/// What is measured.
struct Scene {
    name: &'static str,
    accounts: usize,
    lanes: usize,
}

struct Bench {
    lanes: usize,
    server: Postgres,
    data: Database,
    accounts: Vec<AccountId>,
}

struct Figures {
    ledger: f64,
    words_a_commit: f64,
    bare: f64,
    update: f64,
}

impl Bench {
    async fn new(scene: &Scene) -> Self {
        let server = Postgres::own(OwnSettings {
            durable: true,
            extra_config: vec![
                ("max_wal_size".to_owned(), "4GB".to_owned()),
                ("shared_buffers".to_owned(), "256MB".to_owned()),
            ],
            ..OwnSettings::default()
        })
        .await;
        let mut settings = PoolSettings::named("speed");
        settings.max_connections = 4;
        // Past the breakable line, which would cost more than the ledger does.
        let pool = async |role| {
            let url = server.direct_url(role);
            connect(&url, role, settings.clone()).await.unwrap()
        };
        let (data, console) = (pool(Role::Data).await, pool(Role::Console).await);
        let mut made = Vec::new();
        let mut tx = console.begin().await.unwrap();
        for number in 0..scene.accounts {
            let account = accounts::create_account(&mut tx, AccountKind::Live)
                .await
                .unwrap();
            let money = TopUp {
                request: request(),
                account,
                wallet: Wallet::Paid,
                amount: Money::from_nanos(1_000_000_000_000),
                provider: "speed".to_owned(),
                event: number.to_string(),
            };
            assert_eq!(
                accounts::top_up(&mut tx, &money).await.unwrap(),
                TopUpAnswer::Done
            );
            made.push(account);
        }
        tx.commit().await.unwrap();
        Self {
            lanes: scene.lanes,
            server,
            data,
            accounts: made,
        }
    }

    async fn measure(&self) -> Figures {
        let mut rounds = Vec::new();
        for round in 0..ROUNDS {
            let (ledger, words_a_commit) = self.ledger_round(round).await;
            let bare = self.bare_round(round, words_a_commit).await;
            let url = self.server.direct_url(Role::Data);
            let update = one_update_per_call(url.reveal(), &self.accounts, 32, SECONDS).await;
            rounds.push(Figures {
                ledger,
                words_a_commit,
                bare,
                update,
            });
        }
        let middle = |value: fn(&Figures) -> f64| {
            let mut values: Vec<f64> = rounds.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        Figures {
            ledger: middle(|round| round.ledger),
            words_a_commit: middle(|round| round.words_a_commit),
            bare: middle(|round| round.bare),
            update: middle(|round| round.update),
        }
    }

    async fn ledger_round(&self, round: usize) -> (f64, f64) {
        let node = NodeId::new(&format!("ledger-{round}")).unwrap();
        let settings = LedgerSettings {
            lanes: self.lanes,
            admission_wait: Duration::from_secs(30),
            settlement_wait: Duration::from_secs(30),
            ..LedgerSettings::default()
        };
        let (ledger, tasks) = Ledger::open(self.data.clone(), &node, settings)
            .await
            .unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let words = Arc::new(AtomicUsize::new(0));
        let began = Instant::now();
        let mut callers = tokio::task::JoinSet::new();
        for number in 0..CALLERS {
            let (ledger, stop, words) = (ledger.clone(), Arc::clone(&stop), Arc::clone(&words));
            let account = self.accounts[number % self.accounts.len()];
            callers.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let call = request();
                    let held = ledger.reserve(reserve(call, account, 2)).await.unwrap();
                    assert!(matches!(held, ReserveAnswer::Held { .. }));
                    let charged = ledger.settle(settle(call, account, 1)).await.unwrap();
                    assert!(matches!(charged, SettleAnswer::Done { .. }));
                    words.fetch_add(2, Ordering::Relaxed);
                }
            });
        }
        tokio::time::sleep(Duration::from_secs_f64(SECONDS)).await;
        stop.store(true, Ordering::Relaxed);
        while let Some(done) = callers.join_next().await {
            done.unwrap();
        }
        let seconds = began.elapsed().as_secs_f64();
        let counts = ledger.counts();
        drop(ledger);
        tasks.finish().await;
        let words = words.load(Ordering::Relaxed) as f64;
        (
            words / seconds,
            counts.operations as f64 / counts.batches as f64,
        )
    }

    /// The same number of words in a commit, and of lanes, as the ledger had.
    async fn bare_round(&self, round: usize, words_a_commit: f64) -> f64 {
        let node = NodeId::new(&format!("bare-{round}")).unwrap();
        let (author, _): (NodeEpoch, u64) = trunkline_ledger::recovery::register(&self.data, &node)
            .await
            .unwrap();
        let calls = ((words_a_commit / 2.0) as usize).max(1);
        let mut lanes = tokio::task::JoinSet::new();
        for lane in 0..self.lanes {
            let own = self.accounts.iter().skip(lane).step_by(self.lanes);
            let accounts: Vec<AccountId> = own.copied().collect();
            let batches: Vec<Ready> = (0..(30_000 / calls).max(4))
                .map(|number| Ready::new(&accounts, number * calls, calls))
                .collect();
            let (data, author) = (self.data.clone(), author.clone());
            lanes.spawn(async move { bare_loop(&data, &author, &batches).await });
        }
        let speeds = lanes.join_all().await;
        speeds.into_iter().sum()
    }
}

async fn show(scene: &Scene) -> Figures {
    let figures = Bench::new(scene).await.measure().await;
    println!(
        "{}: ledger {:.0} words/s ({:.0} words a commit), bare loop {:.0} words/s, \
         one UPDATE per call {:.0} words/s; ratios {:.2} of bare, {:.1} x update",
        scene.name,
        figures.ledger,
        figures.words_a_commit,
        figures.bare,
        figures.update,
        figures.ledger / figures.bare,
        figures.ledger / figures.update
    );
    figures
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes of a quiet machine: just ledger-speed"]
async fn batched_commits_match_bare_statements_and_beat_single_updates() {
    let scene = |name, accounts, lanes| Scene {
        name,
        accounts,
        lanes,
    };
    for scene in [
        scene("one hot account", 1, 1),
        scene("1,000 accounts", 1_000, 2),
    ] {
        let name = scene.name;
        let figures = show(&scene).await;
        assert!(
            figures.ledger >= 0.8 * figures.bare,
            "{name}: below 0.8 of the bare loop"
        );
        assert!(
            figures.ledger >= LEAST_GAIN * figures.update,
            "{name}: below {LEAST_GAIN} times one UPDATE per call"
        );
    }
}
