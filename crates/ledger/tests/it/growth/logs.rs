//! Searches of calls, with a tenth of the rows and with all of them: the same buffers, and never long.
//! `just logs-growth` compares 200,000 and 2 million rows of one account, then 2 and 20 million. The rows end
//! now, so that the result does not depend on the hour of the day.

use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use trunkline_db::{Database, PoolSettings, Role, SystemClock};
use trunkline_ledger::accounts::{self, AccountKind};
use trunkline_ledger::call_search::{self, IdPrefix, OutcomeFilter, Page, Search};
use trunkline_ledger::journal::{self, JournalQuery};
use trunkline_ledger::{Outcome, usage_report};
use trunkline_testkit::{OwnSettings, Postgres};
use trunkline_types::{AccountId, Clock as _, KeyId, Money, RequestId};

/// Days that the rows lie in, at both sizes.
const DAYS: i64 = 10;
const LONGEST: Duration = Duration::from_millis(300);
const PAGE: u32 = 50;
/// Rows that few filters lead to, as many at both sizes.
const NEEDLES: i64 = 100;
const BUSY_KEY: i64 = 1;
const RARE_KEY: i64 = 2;

/// What a question touched and how long it took.
#[derive(Debug, Clone, Copy)]
struct Cost {
    buffers: i64,
    took: Duration,
}

struct Bench {
    server: Postgres,
    superuser: PgConnection,
    /// One connection, so that its counts can be asked for.
    data: Database,
    account: AccountId,
}

impl Bench {
    async fn new() -> Self {
        let server = Postgres::own(OwnSettings {
            extra_config: vec![
                ("shared_buffers".to_owned(), "1GB".to_owned()),
                ("max_wal_size".to_owned(), "8GB".to_owned()),
                ("autovacuum".to_owned(), "off".to_owned()),
                ("maintenance_work_mem".to_owned(), "512MB".to_owned()),
                // Tables that were emptied in the same transaction are then written without a log.
                ("wal_level".to_owned(), "minimal".to_owned()),
                ("max_wal_senders".to_owned(), "0".to_owned()),
            ],
            ..OwnSettings::default()
        })
        .await;
        let mut settings = PoolSettings::named("logs");
        settings.max_connections = 1;
        let data = server.connect_with(Role::Data, settings).await;
        let console = server.connect(Role::Console).await;
        let mut superuser = PgConnection::connect(server.superuser_url().reveal())
            .await
            .unwrap();
        let mut tx = console.begin().await.unwrap();
        let account = accounts::create_account(&mut tx, AccountKind::Live)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        let age = format!(
            "SELECT ledger.make_partitions((app.now() AT TIME ZONE 'UTC')::date - {DAYS}, {DAYS} + 1);
             UPDATE ledger.account SET created_at = app.now() - interval '{DAYS} days'"
        );
        run(&mut superuser, age).await;
        Self {
            server,
            superuser,
            data,
            account,
        }
    }

    /// Writes calls of the account and, to each four, one of others, spread over the days. Of the
    /// account's calls a hundredth failed and a thousandth was dear.
    async fn fill(&mut self, rows: i64) {
        let account = self.account.number();
        let statement = format!(
            "TRUNCATE ledger.usage;
             INSERT INTO ledger.usage (request_id, account_id, key_id, node, epoch, model, endpoint, group_name,
                 units, measured, estimated, price_version, paid, trial, attempts, warnings, outcome, opened_at,
                 settled_at)
             SELECT overlay(app.uuid_v7_floor(at)::text PLACING lpad(to_hex(n), 12, '0') FROM 25)::uuid,
                 CASE WHEN n % 5 = 4 THEN 5000 + n % 997 ELSE {account} END,
                 CASE WHEN n % 20 = 0 THEN 10 + n % 1000 ELSE {BUSY_KEY} END, 'n', 1,
                 CASE WHEN n % 10 < 7 THEN 'usual-model' ELSE 'other-model-' || n % 10 END, 'chat', 'default',
                 '{{\"input\":1000,\"output\":200}}', '{{\"plain_input\":1000,\"plain_output\":200}}', false,
                 '\\x{version}', CASE WHEN n % 100 = 1 THEN 0 WHEN n % 1000 = 2 THEN 20000000 ELSE 100 + n % 900 END,
                 0, '[{{\"channel\":1,\"status\":200,\"error\":null,\"ms\":812}}]', '{{}}',
                 CASE WHEN n % 100 = 1 THEN 'upstream_failed' ELSE 'complete' END, at, at + interval '1 second'
             FROM (SELECT n, app.now() - interval '{DAYS} days' + interval '1 day' * {DAYS} * n / {rows} AS at
                   FROM generate_series(0::bigint, {rows}::bigint - 1) AS n) AS calls",
            version = "07".repeat(32),
        );
        run(&mut self.superuser, statement).await;
    }

    /// Takes the indexes away, lets something be written, and makes them anew: many rows are written in a
    /// third of the time.
    async fn without_indexes(&mut self, rows: i64) {
        let indexes: Vec<(String, String)> = sqlx::query_as(
            "SELECT indexrelid::regclass::text, replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ')
             FROM pg_index WHERE indrelid = 'ledger.usage'::regclass AND NOT indisprimary",
        )
        .fetch_all(&mut self.superuser)
        .await
        .unwrap();
        assert!(indexes.len() >= 4, "{indexes:?}");
        for (name, _) in &indexes {
            run(&mut self.superuser, format!("DROP INDEX {name}")).await;
        }
        self.fill(rows).await;
        self.hide_needles().await;
        for (_, made) in indexes {
            run(&mut self.superuser, made).await;
        }
        run(
            &mut self.superuser,
            "VACUUM ANALYZE ledger.usage".to_owned(),
        )
        .await;
    }

    /// The same few needles, whatever the size.
    async fn hide_needles(&mut self) {
        let account = self.account.number();
        let statement = format!(
            "INSERT INTO ledger.usage (request_id, account_id, key_id, node, epoch, model, endpoint, group_name,
                 units, measured, estimated, price_version, paid, trial, attempts, warnings, outcome, opened_at,
                 settled_at)
             SELECT overlay(app.uuid_v7_floor(at)::text PLACING lpad(to_hex(n), 12, 'f') FROM 25)::uuid, {account},
                 {RARE_KEY}, 'n', 1, 'rare-model', 'chat', 'default', '{{}}', '{{}}', false, '\\x{version}', 0, 0,
                 '[]', '{{}}', 'no_result', at, at
             FROM (SELECT n, app.now() - interval '{DAYS} days' + interval '1 day' * {DAYS} * n / {NEEDLES} AS at
                   FROM generate_series(0, {NEEDLES} - 1) AS n) AS calls",
            version = "07".repeat(32),
        );
        run(&mut self.superuser, statement).await;
    }

    /// Buffers of the ledger's tables and indexes, hit or read, so far.
    async fn buffers(&mut self) -> i64 {
        let mut session = self.data.session().await.unwrap();
        // The connection that worked tells its counts now and not a second later.
        sqlx::raw_sql("SELECT pg_stat_force_next_flush()")
            .execute(&mut *session)
            .await
            .unwrap();
        drop(session);
        sqlx::query_scalar(
            "SELECT sum(heap_blks_hit + heap_blks_read + COALESCE(idx_blks_hit + idx_blks_read, 0)
                 + COALESCE(toast_blks_hit + toast_blks_read + tidx_blks_hit + tidx_blks_read, 0))::bigint
             FROM pg_statio_all_tables WHERE schemaname = 'ledger'",
        )
        .fetch_one(&mut self.superuser)
        .await
        .unwrap()
    }

    async fn cost<T>(&mut self, query: impl AsyncFn(&Database) -> T) -> (T, Cost) {
        // The first one warms what a gateway keeps warm.
        query(&self.data).await;
        let before = self.buffers().await;
        let began = Instant::now();
        let found = query(&self.data).await;
        let took = began.elapsed();
        let buffers = self.buffers().await - before;
        (found, Cost { buffers, took })
    }

    /// Every common question, by name, with what it cost.
    async fn costs(&mut self) -> Vec<(&'static str, Cost)> {
        let mut costs = Vec::new();
        for (name, search, is_full) in searches(self.account) {
            let query = async |data: &Database| call_search::search(data, &search).await.unwrap();
            let (found, cost) = self.cost(query).await;
            check(name, &search, &found, is_full);
            costs.push((name, cost));
        }
        let account = self.account;
        let query = async |data: &Database| {
            let query = JournalQuery {
                account,
                kind: None,
                from: None,
                until: None,
                after: None,
                limit: PAGE,
            };
            journal::read(data, &query).await.unwrap()
        };
        let (page, cost) = self.cost(query).await;
        assert_eq!(page.entries.len(), usize::try_from(PAGE).unwrap());
        costs.push(("lines of the wallet", cost));
        costs
    }
}

async fn run(superuser: &mut PgConnection, statement: String) {
    sqlx::raw_sql(AssertSqlSafe(statement))
        .execute(superuser)
        .await
        .unwrap();
}

/// The common filters, alone and together with a time, and whether each fills its page.
fn searches(account: AccountId) -> Vec<(&'static str, Search, bool)> {
    let all = || Search::of(account, PAGE);
    let now = SystemClock.now();
    let days_ago = |days: i64| now.plus_seconds(-days * 86_400);
    let in_the_middle = RequestId::new(days_ago(5), [0; 10]);
    let key = |number: i64| Some(KeyId::new(number));
    let some = |text: &str| Some(text.to_owned());
    let usd = |text: &str| text.parse::<Money>().ok();
    vec![
        ("none", all(), true),
        (
            "a page in the middle",
            Search {
                before: Some(in_the_middle),
                ..all()
            },
            true,
        ),
        (
            "one old day",
            Search {
                from: Some(days_ago(8)),
                until: Some(days_ago(7)),
                ..all()
            },
            true,
        ),
        (
            "a busy key",
            Search {
                key: key(BUSY_KEY),
                ..all()
            },
            true,
        ),
        (
            "a rare key",
            Search {
                key: key(RARE_KEY),
                ..all()
            },
            true,
        ),
        (
            "an unused key",
            Search {
                key: key(3),
                ..all()
            },
            false,
        ),
        (
            "a rare key, some days",
            Search {
                key: key(RARE_KEY),
                from: Some(days_ago(7)),
                until: Some(days_ago(1)),
                ..all()
            },
            true,
        ),
        (
            "a usual model",
            Search {
                model: some("usual-model"),
                ..all()
            },
            true,
        ),
        (
            "a rare model",
            Search {
                model: some("rare-model"),
                ..all()
            },
            true,
        ),
        (
            "an unknown model",
            Search {
                model: some("no-model"),
                ..all()
            },
            false,
        ),
        (
            "failed",
            Search {
                outcome: Some(OutcomeFilter::Failed),
                ..all()
            },
            true,
        ),
        (
            "failed, one old day",
            Search {
                outcome: Some(OutcomeFilter::Failed),
                from: Some(days_ago(8)),
                until: Some(days_ago(7)),
                ..all()
            },
            true,
        ),
        (
            "upstream_failed",
            Search {
                outcome: Some(OutcomeFilter::As(Outcome::UpstreamFailed)),
                ..all()
            },
            true,
        ),
        (
            "complete",
            Search {
                outcome: Some(OutcomeFilter::As(Outcome::Complete)),
                ..all()
            },
            true,
        ),
        (
            "charged",
            Search {
                outcome: Some(OutcomeFilter::Charged),
                ..all()
            },
            true,
        ),
        (
            "a cent and more",
            Search {
                min_charge: usd("0.01"),
                ..all()
            },
            true,
        ),
        (
            "half a cent and more",
            Search {
                min_charge: usd("0.005"),
                ..all()
            },
            false,
        ),
        (
            "a busy key that failed",
            Search {
                key: key(BUSY_KEY),
                outcome: Some(OutcomeFilter::Failed),
                ..all()
            },
            true,
        ),
        (
            "a busy key and a rare model",
            Search {
                key: key(BUSY_KEY),
                model: some("rare-model"),
                ..all()
            },
            false,
        ),
        (
            "another interface",
            Search {
                endpoint: some("speech"),
                ..all()
            },
            false,
        ),
    ]
}

fn check(name: &str, search: &Search, found: &Page, is_full: bool) {
    let full = usize::try_from(PAGE).unwrap();
    if is_full {
        assert_eq!(found.calls.len(), full, "{name}");
    } else {
        let more = found.next.is_some();
        assert!(found.calls.len() < full, "{name}: {}", found.calls.len());
        assert_eq!(found.searched_to.is_some(), more, "{name}");
    }
    for call in &found.calls {
        assert!(search.key.is_none_or(|key| call.key == Some(key)), "{name}");
        let model = search.model.as_ref();
        assert!(model.is_none_or(|model| call.model == *model), "{name}");
    }
}

async fn compare(rows: i64) {
    let mut bench = Bench::new().await;
    let began = Instant::now();
    bench.without_indexes(rows / 10).await;
    let small = bench.costs().await;
    bench.without_indexes(rows).await;
    let large = bench.costs().await;
    println!("{rows} rows and a tenth, in {:?}", began.elapsed());
    let mut worse = Vec::new();
    for ((name, small), (_, large)) in small.iter().zip(&large) {
        println!(
            "{name:30} {:6} and {:6} buffers, {:7.1?} and {:7.1?}",
            small.buffers, large.buffers, small.took, large.took
        );
        // A level more of an index for each day that is looked into, and pages that are less dense.
        if large.buffers > small.buffers * 5 / 4 + 40 || large.took > LONGEST {
            worse.push((*name, *small, *large));
        }
    }
    assert!(worse.is_empty(), "{worse:#?}");
    let begins = one_by_its_id(&mut bench).await;
    assert!(begins.took < LONGEST, "{begins:?}");
    let (_, today) = bench
        .cost(async |data: &Database| usage_report::today(data).await.unwrap())
        .await;
    assert_eq!(today.buffers, 0, "the meter counts only what is asked");
    drop(bench.server);
}

/// The beginning of an id leads to its call.
async fn one_by_its_id(bench: &mut Bench) -> Cost {
    let rare = Search {
        key: Some(KeyId::new(RARE_KEY)),
        ..Search::of(bench.account, PAGE)
    };
    let found = call_search::search(&bench.data, &rare).await.unwrap();
    let expected = found.calls[20].request;
    let text = expected.to_string();
    for characters in [20, text.len()] {
        let search = Search {
            id_prefix: IdPrefix::parse(&text[..characters]),
            ..Search::of(bench.account, PAGE)
        };
        let found = call_search::search(&bench.data, &search).await.unwrap();
        assert!(found.calls.iter().any(|call| call.request == expected));
    }
    let search = Search {
        id_prefix: IdPrefix::parse(&text),
        ..Search::of(bench.account, PAGE)
    };
    let (found, cost) = bench
        .cost(async |data: &Database| call_search::search(data, &search).await.unwrap())
        .await;
    assert_eq!(found.calls.len(), 1);
    assert!(cost.buffers < 30, "{cost:?}");
    cost
}

#[tokio::test]
async fn ten_times_the_calls_are_searched_with_the_same_buffers() {
    compare(2_500_000).await;
}

#[tokio::test]
#[ignore = "writes twenty-five million rows: just logs-growth"]
async fn ten_times_two_million_calls_are_searched_with_the_same_buffers() {
    compare(25_000_000).await;
}
