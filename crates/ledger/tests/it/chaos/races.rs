//! Two processes, sixty-four clients, every operation, duplicates from both: no account overspends.

use std::sync::Arc;

use tokio::task::JoinSet;
use trunkline_db::Role;
use trunkline_ledger::accounts::{self, Period};
use trunkline_types::{AccountId, Money};

use crate::chaos::checker::{judge, judge_payments};
use crate::chaos::child_process::{Holds, Limits, Plan};
use crate::chaos::config::race_time;
use crate::chaos::history::History;
use crate::chaos::process::{Folder, Process};
use crate::chaos::tables::{self, Sampler, Samples};
use crate::test_ledger::TestLedger;

const USD: i64 = 1_000_000_000;
const CLIENTS: &str = "load 32";
const NODES: [&str; 2] = ["left", "right"];
/// Of the requests of each node.
const HOLDS: [Holds; 2] = [Holds::Packed, Holds::Rows];
const DAY: i64 = 86_400;

struct Race {
    accounts: Vec<AccountId>,
    key: Option<i64>,
    largest: i64,
}

struct Finish {
    samples: Samples,
    histories: Vec<History>,
}

// === impl Race ===

impl Race {
    /// Runs it and judges it. `meanwhile` is done in the middle.
    async fn run(&self, harness: &TestLedger, meanwhile: impl AsyncFnOnce()) -> Finish {
        let folder = Folder::new();
        let url = |role| harness.db.url(role).reveal().to_owned();
        let seed = u64::from_be_bytes(trunkline_testkit::random_bytes());
        let mut processes: Vec<Process> = NODES
            .iter()
            .zip(HOLDS)
            .zip(1..)
            .map(|((node, holds), salt)| {
                Process::start(&Plan {
                    node: (*node).to_owned(),
                    data: url(Role::Data),
                    direct: url(Role::Data),
                    console: url(Role::Console),
                    diary: folder.path().join(node),
                    accounts: self
                        .accounts
                        .iter()
                        .map(|account| account.number())
                        .collect(),
                    key: self.key,
                    shared_seed: Some(seed),
                    salt: seed ^ salt,
                    largest: self.largest,
                    limits: Limits::FOR_RACES,
                    holds,
                })
            })
            .collect();
        for process in &mut processes {
            process.done("open").await;
        }
        let sampler = Sampler::start(harness.db.owner().await);
        for process in &mut processes {
            process.done(CLIENTS).await;
        }
        tokio::time::sleep(race_time() / 2).await;
        meanwhile().await;
        tokio::time::sleep(race_time() / 2).await;
        for process in &mut processes {
            process.quit().await;
        }
        let samples = sampler.stop().await;
        let histories: Vec<History> = processes.into_iter().map(History::of).collect();
        judge_all(harness, &histories).await;
        report(&samples, &histories);
        Finish { samples, histories }
    }
}

async fn judge_all(harness: &TestLedger, histories: &[History]) {
    let nodes = NODES.map(str::to_owned);
    assert_eq!(
        tables::open_holds(&harness.data, &nodes).await,
        0,
        "nothing is stuck"
    );
    let all: Vec<&History> = histories.iter().collect();
    let mut wrong = judge(&all, &tables::facts(&harness.data, &nodes).await);
    wrong.extend(judge_payments(&all, &tables::payments(&harness.data).await));
    assert!(
        wrong.is_empty(),
        "{} wrong: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(20)]
    );
    harness.audit().await;
}

fn report(samples: &Samples, histories: &[History]) {
    println!(
        "race | {} samples | least free {:?} | least budget left {:?} | {} calls made by both",
        samples.count,
        samples.least_free,
        samples.least_budget_left,
        made_by_both(histories)
    );
    for history in histories {
        println!("race | {:?}", history.counts());
    }
}

/// Calls that both processes made.
fn made_by_both(histories: &[History]) -> usize {
    let mut requests = histories.iter().map(History::requests);
    let first = requests.next().unwrap_or_default();
    requests.fold(first, |both, next| &both & &next).len()
}

impl Finish {
    /// The race was one: there were refusals and duplicates, and the sampler looked.
    fn was_a_race(&self) {
        let total = |name: &str| -> u64 {
            let counts = self.histories.iter().map(History::counts);
            counts
                .map(|counts| counts.get(name).copied().unwrap_or(0))
                .sum()
        };
        for answer in [
            "Reserve Done",
            "Extend Done",
            "Settle Done",
            "Settle Before { charged: true }",
            "Void Done",
            "Refund Done",
            "Refund Before { charged: false }",
            "Adjust Done",
            "TopUp Done",
            "TopUp Before { charged: false }",
        ] {
            assert!(total(answer) > 0, "no client got {answer}");
        }
        assert!(self.samples.count > 100, "{:?}", self.samples);
        assert!(made_by_both(&self.histories) > 20, "they hardly met");
    }

    fn refusals(&self) -> u64 {
        let counts = self.histories.iter().map(History::counts);
        counts
            .map(|counts| counts.get("Reserve Refused").copied().unwrap_or(0))
            .sum()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_with_one_dollar_is_never_overspent_by_two_racing_processes() {
    let harness = TestLedger::new().await;
    let race = Race {
        accounts: vec![harness.account(USD, 0).await],
        key: None,
        largest: USD / 20,
    };
    let finish = race.run(&harness, async || {}).await;
    finish.was_a_race();
    assert!(finish.refusals() > 0, "the money was scarce");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_with_a_daily_budget_is_never_overspent_while_midnight_passes() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000 * USD, 0).await;
    let key = harness.key(account, 1, None).await;
    let mut tx = harness.console.begin().await.unwrap();
    let limit = Some(Money::from_nanos(USD));
    let set = accounts::set_budget(&mut tx, account, Some(key), Period::Daily, "UTC", limit).await;
    assert_eq!(set, Ok(true));
    tx.commit().await.unwrap();
    // Midnight comes by itself in the first half, and a whole day later in the second.
    let quarter = i64::try_from(race_time().as_secs() / 4).unwrap();
    harness
        .db
        .shift_clock(until_midnight(&harness).await - quarter)
        .await;
    let race = Race {
        accounts: vec![account],
        key: Some(key.number()),
        largest: USD / 20,
    };
    let finish = race
        .run(&harness, async || harness.db.shift_clock(DAY).await)
        .await;
    finish.was_a_race();
    assert!(finish.refusals() > 0, "the budget was scarce");
    let mut session = harness.data.session().await.unwrap();
    let days: i64 = sqlx::query_scalar("SELECT count(*) FROM ledger.budget_period WHERE used > 0")
        .fetch_one(&mut *session)
        .await
        .unwrap();
    assert_eq!(days, 3, "before midnight, after it, and the day after that");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_accounts_are_never_overspent_by_two_racing_processes() {
    let harness = Arc::new(TestLedger::new().await);
    let mut made = JoinSet::new();
    for _ in 0..8 {
        let harness = Arc::clone(&harness);
        made.spawn(async move {
            let mut accounts = Vec::new();
            for _ in 0..125 {
                accounts.push(harness.account(USD / 50, 0).await);
            }
            accounts
        });
    }
    let accounts = made.join_all().await.concat();
    assert_eq!(accounts.len(), 1_000);
    let race = Race {
        accounts,
        key: None,
        largest: USD / 40,
    };
    let finish = race.run(&harness, async || {}).await;
    finish.was_a_race();
    assert!(finish.refusals() > 0, "the money was scarce");
}

async fn until_midnight(harness: &TestLedger) -> i64 {
    let mut session = harness.data.session().await.unwrap();
    sqlx::query_scalar(
        "SELECT extract(epoch FROM date_trunc('day', app.now(), 'UTC') + interval '1 day' - app.now())::bigint",
    )
    .fetch_one(&mut *session)
    .await
    .unwrap()
}
