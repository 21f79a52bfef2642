//! Margins with a tenth of the calls and with all of them: the same buffers, never long, and equal to SQL over the
//! calls to the nano-dollar. `just margins-growth` compares 2 and 20 million rows.

use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};
use trunkline_db::{Database, PoolSettings, Role};
use trunkline_ledger::margins::{
    self, CallsSearch, MarginFilter, MarginGrouping, MarginOrder, MarginTotals,
};
use trunkline_ledger::usage_report;
use trunkline_testkit::{OwnSettings, Postgres};
use trunkline_types::AccountId;

/// Days that the rows lie in, at both sizes.
const DAYS: i64 = 10;
const LONGEST: Duration = Duration::from_millis(300);
/// Each calls two models through three channels.
const ACCOUNTS: i64 = 997;
/// Calls of a page.
const LISTED: u32 = 50;

struct Bench {
    server: Postgres,
    superuser: PgConnection,
    /// One connection, so that its counts can be asked for.
    data: Database,
}

async fn run(superuser: &mut PgConnection, statement: String) {
    sqlx::raw_sql(AssertSqlSafe(statement))
        .execute(superuser)
        .await
        .unwrap();
}

impl Bench {
    async fn new() -> Self {
        let server = Postgres::own(OwnSettings {
            extra_config: vec![
                ("shared_buffers".to_owned(), "1GB".to_owned()),
                ("max_wal_size".to_owned(), "8GB".to_owned()),
                ("autovacuum".to_owned(), "off".to_owned()),
            ],
            ..OwnSettings::default()
        })
        .await;
        let mut settings = PoolSettings::named("margins");
        settings.max_connections = 1;
        let data = server.connect_with(Role::Data, settings).await;
        let mut superuser = PgConnection::connect(server.superuser_url().reveal())
            .await
            .unwrap();
        let days = format!(
            "SELECT ledger.make_partitions((app.now() AT TIME ZONE 'UTC')::date - {DAYS}, {DAYS} + 1)"
        );
        run(&mut superuser, days).await;
        Self {
            server,
            superuser,
            data,
        }
    }

    /// Calls of many accounts, one in fifty of unknown cost and one in a thousand below it, summed up as they are.
    async fn fill(&mut self, rows: i64) {
        let calls = format!(
            "TRUNCATE ledger.usage; TRUNCATE ledger.usage_day; TRUNCATE ledger.margin_day;
             INSERT INTO ledger.usage (request_id, account_id, key_id, node, epoch, model, endpoint, group_name, units,
                 measured, estimated, price_version, paid, trial, cost, attempts, warnings, outcome, opened_at, settled_at)
             SELECT overlay(app.uuid_v7_floor(at)::text PLACING lpad(to_hex(n), 12, '0') FROM 25)::uuid,
                 5000 + n % {ACCOUNTS}, 1, 'n', 1, 'model-' || (n % {ACCOUNTS} + n / {ACCOUNTS} % 2) % 10, 'chat',
                 CASE WHEN n % {ACCOUNTS} % 7 = 0 THEN 'vip' ELSE 'default' END, '{{\"input\":1000}}', '{{}}',
                 n % 70 = 0, '\\x{version}', 100 + n % 900, 0,
                 CASE WHEN n % 50 = 0 THEN NULL WHEN n % 1000 = 3 THEN 2000 ELSE 50 + n % 50 END,
                 jsonb_build_array(jsonb_build_object('channel', 1 + (n % {ACCOUNTS} + n / {ACCOUNTS} % 3) % 8)), '{{}}',
                 'complete', at, at
             FROM (SELECT n, app.now() - interval '{DAYS} days' + interval '1 day' * {DAYS} * n / {rows} AS at
                   FROM generate_series(0::bigint, {rows}::bigint - 1) AS n) AS calls",
            version = "07".repeat(32),
        );
        run(&mut self.superuser, calls).await;
        // Batches as settlements leave them.
        let noted = "INSERT INTO ledger.usage_unsummed (request_ids, account_ids)
             SELECT array_agg(b.request_id), array_agg(b.account_id)
             FROM (SELECT u.request_id, u.account_id, row_number() OVER () / 20000 AS batch FROM ledger.usage AS u) AS b
             GROUP BY b.batch";
        run(&mut self.superuser, noted.to_owned()).await;
        // As the superuser: the data plane's statements have a time limit.
        loop {
            let summed: i32 = sqlx::query_scalar("SELECT ledger.sum_up(20)")
                .fetch_one(&mut self.superuser)
                .await
                .unwrap();
            if summed == 0 {
                break;
            }
        }
        run(&mut self.superuser, "VACUUM ANALYZE".to_owned()).await;
        // A sum that was changed ten times has moved within its table, up to twice as many pages as one written once. That
        // it stops there is the work of autovacuum, which is off; how many sums a page reads is what is compared.
        let rewritten = "VACUUM (FULL, ANALYZE) ledger.margin_day";
        run(&mut self.superuser, rewritten.to_owned()).await;
    }

    /// Buffers of the ledger's tables and indexes, hit or read, so far. A session reports its own once a second unless it
    /// is told to, and the superuser's has read every call.
    async fn buffers(&mut self) -> i64 {
        const REPORT: &str = "SELECT pg_stat_force_next_flush()";
        run(&mut self.superuser, REPORT.to_owned()).await;
        let mut session = self.data.session().await.unwrap();
        sqlx::raw_sql(REPORT).execute(&mut *session).await.unwrap();
        drop(session);
        sqlx::query_scalar(
            "SELECT sum(heap_blks_hit + heap_blks_read + COALESCE(idx_blks_hit + idx_blks_read, 0))::bigint
             FROM pg_statio_all_tables WHERE schemaname = 'ledger'",
        )
        .fetch_one(&mut self.superuser)
        .await
        .unwrap()
    }

    async fn cost<T>(&mut self, query: impl AsyncFn(&Database) -> T) -> (T, i64, Duration) {
        // The first one warms what a console keeps warm.
        query(&self.data).await;
        let before = self.buffers().await;
        let began = Instant::now();
        let found = query(&self.data).await;
        let took = began.elapsed();
        let buffers = self.buffers().await - before;
        (found, buffers, took)
    }

    async fn month(&self) -> MarginFilter {
        let to = usage_report::today(&self.data).await.unwrap();
        MarginFilter {
            from: to.earlier(29),
            to,
            channel: None,
            model: None,
            account: None,
            group: None,
        }
    }

    /// Every page, by name, with what it cost.
    async fn costs(&mut self) -> Vec<(String, i64, Duration)> {
        let month = self.month().await;
        let expected = self.by_sql().await;
        let mut costs = Vec::new();
        for words in [
            "day",
            "channel",
            "model",
            "group",
            "customer",
            "channel,model",
        ] {
            let by = MarginGrouping::parse(words).unwrap();
            let query = async |data: &Database| {
                margins::read(data, &month, by, MarginOrder::Margin, None, 100)
                    .await
                    .unwrap()
            };
            let (found, buffers, took) = self.cost(query).await;
            assert_eq!(sums(&found.totals), expected, "{words}");
            costs.push((words.to_owned(), buffers, took));
        }
        let one = MarginFilter {
            account: Some(AccountId::new(5_003)),
            ..month.clone()
        };
        let by = MarginGrouping::parse("model,day").unwrap();
        let query = async |data: &Database| {
            margins::read(data, &one, by, MarginOrder::Margin, None, 100)
                .await
                .unwrap()
        };
        let (_, buffers, took) = self.cost(query).await;
        costs.push(("a customer's models".to_owned(), buffers, took));
        for below_cost in [false, true] {
            let search = CallsSearch {
                filter: month.clone(),
                below_cost,
                before: None,
                limit: LISTED,
            };
            let query = async |data: &Database| margins::calls(data, &search).await.unwrap();
            let (found, buffers, took) = self.cost(query).await;
            assert_eq!(found.calls.len(), 50);
            costs.push((format!("calls, below cost {below_cost}"), buffers, took));
        }
        costs
    }

    /// The same by SQL over the calls.
    async fn by_sql(&mut self) -> [i64; 4] {
        let row = sqlx::query(
            "SELECT sum(paid + trial)::bigint, sum(cost)::bigint,
                 sum(paid + trial) FILTER (WHERE cost IS NULL)::bigint, count(*) FILTER (WHERE cost > paid + trial)
             FROM ledger.usage",
        )
        .fetch_one(&mut self.superuser)
        .await
        .unwrap();
        [row.get(0), row.get(1), row.get(2), row.get(3)]
    }
}

fn sums(totals: &MarginTotals) -> [i64; 4] {
    [
        totals.sale().nanos(),
        totals.cost.nanos(),
        totals.uncosted_sale.nanos(),
        totals.below_cost_calls,
    ]
}

async fn compare(rows: i64) {
    let mut bench = Bench::new().await;
    bench.fill(rows / 10).await;
    let small = bench.costs().await;
    bench.fill(rows).await;
    let large = bench.costs().await;
    for ((name, few, _), (_, many, took)) in small.iter().zip(&large) {
        println!("{name}: {few} and {many} buffers, {took:?}");
        // A line more or less of a day that began meanwhile, and calls of a list that lie on pages of their own.
        assert!(
            *many <= few + few / 4 + 20 + 2 * i64::from(LISTED),
            "{name} grew from {few} to {many} buffers"
        );
        assert!(*took < LONGEST, "{name} took {took:?}");
    }
    drop(bench.server);
}

#[tokio::test]
#[ignore = "writes twenty-two million rows: just margins-growth"]
async fn ten_times_two_million_calls_have_their_margins_read_with_the_same_buffers() {
    compare(20_000_000).await;
}

#[tokio::test]
#[ignore = "writes two million rows: just margins-growth"]
async fn ten_times_the_calls_have_their_margins_read_with_the_same_buffers() {
    compare(2_000_000).await;
}
