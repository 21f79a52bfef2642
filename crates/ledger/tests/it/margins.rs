//! Margins are the ledger's own, to the nano-dollar, at every moment.

use std::collections::BTreeMap;

use serde_json::json;
use sqlx::{Connection as _, PgConnection, Row as _};
use trunkline_db::Role;
use trunkline_ledger::margins::{
    self, BelowCost, CallsSearch, MarginFilter, MarginGrouping, MarginKey, MarginOrder,
    MarginReport, MarginTotals,
};
use trunkline_ledger::{Ledger, Outcome, RefundAnswer, RefundKind, usage_report};
use trunkline_testkit::random_bytes;
use trunkline_types::{AccountId, Money, RequestId};

use crate::test_ledger::{TestLedger, nanos, refund, request, reserve, settle, void};

const BY_ALL: MarginGrouping = MarginGrouping {
    day: true,
    channel: true,
    model: true,
    account: true,
    group: true,
};

async fn today(harness: &TestLedger) -> MarginFilter {
    let today = usage_report::today(&harness.data).await.unwrap();
    MarginFilter {
        from: today,
        to: today,
        channel: None,
        model: None,
        account: None,
        group: None,
    }
}

async fn read(harness: &TestLedger, filter: &MarginFilter, by: MarginGrouping) -> MarginReport {
    let order = MarginOrder::Margin;
    margins::read(&harness.data, filter, by, order, None, margins::MAX_LINES)
        .await
        .unwrap()
}

/// A call that is charged and costs something, or whose cost is not known.
#[derive(Clone, Copy)]
struct Sold {
    channel: i64,
    model: &'static str,
    group: &'static str,
    charged: i64,
    cost: Option<i64>,
    estimated: bool,
}

async fn sell(ledger: &Ledger, account: AccountId, sold: Sold) -> RequestId {
    let call = request();
    let mut held = reserve(call, account, sold.charged.max(1));
    held.model = sold.model.to_owned();
    held.group = sold.group.to_owned();
    ledger.reserve(held).await.unwrap();
    let mut charge = settle(call, account, sold.charged);
    charge.detail.cost = sold.cost.map(Money::from_nanos);
    charge.detail.estimated = sold.estimated;
    charge.detail.attempts = json!([
        { "channel": 99, "status": 503, "error": "status", "ms": 1 },
        { "channel": sold.channel, "status": 200, "error": null, "ms": 2 },
    ]);
    ledger.settle(charge).await.unwrap();
    call
}

async fn give_back(ledger: &Ledger, account: AccountId, call: RequestId, amount: i64) {
    let mut back = refund(call, account);
    back.kind = RefundKind::SettlementAdjustment;
    back.amount = Some(nanos(amount));
    let answer = ledger.refund(back).await.unwrap();
    assert!(matches!(answer, RefundAnswer::Done { .. }), "{answer:?}");
}

type Key = (i64, String, i64, String);

/// The same by SQL over usage and transfers: revenue, cost, and the revenue of calls of unknown cost.
async fn by_sql(harness: &TestLedger) -> BTreeMap<Key, [i64; 4]> {
    let auditor = harness.db.connect(Role::Audit).await;
    let mut session = auditor.session().await.unwrap();
    let rows = sqlx::query(
        "SELECT COALESCE((u.attempts -> -1 ->> 'channel')::bigint, 0) AS channel, u.model, u.account_id, u.group_name,
             count(*) AS calls, sum(m.revenue)::bigint AS revenue, COALESCE(sum(u.cost), 0)::bigint AS cost,
             COALESCE(sum(m.revenue) FILTER (WHERE u.cost IS NULL), 0)::bigint AS uncosted
         FROM ledger.usage AS u
         CROSS JOIN LATERAL (
             SELECT COALESCE(sum(CASE t.kind WHEN 'charge' THEN t.amount ELSE -t.amount END), 0) AS revenue
             FROM ledger.posting AS t WHERE t.request_id = u.request_id) AS m
         GROUP BY 1, 2, 3, 4",
    )
    .fetch_all(&mut *session)
    .await
    .unwrap();
    rows.iter()
        .map(|row| {
            let key = (row.get(0), row.get(1), row.get(2), row.get(3));
            (key, [row.get(4), row.get(5), row.get(6), row.get(7)])
        })
        .collect()
}

fn lines(report: &MarginReport) -> BTreeMap<Key, [i64; 4]> {
    let line = |line: &margins::MarginLine| {
        let MarginKey {
            channel,
            model,
            account,
            group,
            ..
        } = line.key.clone();
        ((channel, model, account, group), four(&line.totals))
    };
    report.lines.iter().map(line).collect()
}

fn four(totals: &MarginTotals) -> [i64; 4] {
    [
        totals.calls,
        totals.sale().nanos(),
        totals.cost.nanos(),
        totals.uncosted_sale.nanos(),
    ]
}

fn random_call() -> Sold {
    let [channel, model, charged, cost, dice] = random_bytes::<5>();
    Sold {
        channel: i64::from(channel % 3) + 1,
        model: ["small", "large"][usize::from(model % 2)],
        group: ["default", "vip"][usize::from(dice % 2)],
        charged: i64::from(charged) + 1,
        cost: (dice % 5 > 0).then(|| i64::from(cost)),
        estimated: dice % 7 == 0,
    }
}

#[tokio::test]
async fn an_operator_reads_margins_that_equal_sql_over_the_ledger_before_and_after_they_are_summed()
{
    let harness = TestLedger::new().await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let accounts = [
        harness.account(1_000_000, 3_000).await,
        harness.account(1_000_000, 0).await,
    ];
    let filter = today(&harness).await;
    for round in 0..3 {
        for number in 0..30 {
            let account = accounts[number % 2];
            let sold = random_call();
            let call = sell(&ledger, account, sold).await;
            match number % 5 {
                0 => give_back(&ledger, account, call, sold.charged / 2 + 1).await,
                1 => {
                    ledger.refund(refund(call, account)).await.unwrap();
                }
                _ => {}
            }
            if number % 6 == 0 {
                let failed = request();
                ledger.reserve(reserve(failed, account, 5)).await.unwrap();
                ledger.void(void(failed, account)).await.unwrap();
            }
            if number % 8 == round {
                usage_report::sum_up(&harness.data).await.unwrap();
            }
        }
        let expected = by_sql(&harness).await;
        assert_eq!(lines(&read(&harness, &filter, BY_ALL).await), expected);
        let all = expected.values().fold([0; 4], |sum, part| {
            [0, 1, 2, 3].map(|place| sum[place] + part[place])
        });
        // Each grouping comes to the same total, with customers or from the rows of all of them.
        for words in [
            "day",
            "channel",
            "model",
            "customer",
            "group",
            "channel,model",
            "customer,model",
        ] {
            let by = MarginGrouping::parse(words).unwrap();
            let report = read(&harness, &filter, by).await;
            assert_eq!(four(&report.totals), all, "{words}");
            assert_eq!(report.count, i64::try_from(report.lines.len()).unwrap());
        }
        harness.audit().await;
    }
}

#[tokio::test]
async fn margins_are_paged_from_the_smallest_and_narrowed_by_every_dimension() {
    let harness = TestLedger::new().await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let account = harness.account(1_000_000, 0).await;
    let other = harness.account(1_000_000, 0).await;
    for number in 0..12 {
        let mut sold = random_call();
        sold.channel = number % 4;
        sell(&ledger, if number % 3 == 0 { other } else { account }, sold).await;
    }
    let filter = today(&harness).await;
    let whole = read(&harness, &filter, BY_ALL).await;
    let margins_of = |report: &MarginReport| -> Vec<i64> {
        report
            .lines
            .iter()
            .map(|line| line.totals.margin().nanos())
            .collect()
    };
    assert!(margins_of(&whole).is_sorted());
    for order in [MarginOrder::Margin, MarginOrder::Group] {
        let mut after: Option<MarginKey> = None;
        let mut seen = Vec::new();
        loop {
            let data = &harness.data;
            let page = margins::read(data, &filter, BY_ALL, order, after.as_ref(), 3)
                .await
                .unwrap();
            let Some(last) = page.lines.last() else { break };
            after = Some(last.key.clone());
            seen.extend(page.lines);
        }
        assert_eq!(seen.len(), whole.lines.len());
        assert!(seen.is_sorted_by_key(|line| line.key.clone()));
    }
    let line = &whole.lines[0];
    let narrow = MarginFilter {
        channel: Some(line.key.channel),
        model: Some(line.key.model.clone()),
        account: Some(AccountId::new(line.key.account)),
        group: Some(line.key.group.clone()),
        ..filter
    };
    for by in [BY_ALL, MarginGrouping::parse("day").unwrap()] {
        let found = read(&harness, &narrow, by).await;
        assert_eq!((found.count, found.totals), (1, line.totals));
    }
}

#[tokio::test]
async fn calls_below_cost_are_counted_listed_and_named_for_the_alarm() {
    let harness = TestLedger::new().await;
    let (ledger, _tasks) = harness.ledger("n1").await;
    let account = harness.account(1_000_000, 0).await;
    let even = Sold {
        channel: 7,
        model: "small",
        group: "default",
        charged: 100,
        cost: Some(100),
        estimated: false,
    };
    sell(&ledger, account, even).await;
    let unknown = Sold { cost: None, ..even };
    sell(&ledger, account, unknown).await;
    let below = Sold {
        cost: Some(101),
        estimated: true,
        ..even
    };
    let call = sell(&ledger, account, below).await;
    // A refund afterwards is no sale below cost.
    let refunded = sell(&ledger, account, even).await;
    give_back(&ledger, account, refunded, 60).await;
    for _ in 0..2 {
        let found = margins::below_cost_today(&harness.data).await.unwrap();
        let expected = BelowCost {
            channel: 7,
            model: "small".to_owned(),
            calls: 1,
            loss: nanos(1),
        };
        assert_eq!(found, [expected]);
        let filter = today(&harness).await;
        let totals = read(&harness, &filter, BY_ALL).await.totals;
        assert_eq!(
            (totals.uncosted_calls, totals.uncosted_sale),
            (1, nanos(100))
        );
        assert_eq!(
            (totals.estimated_calls, totals.estimated_cost),
            (1, nanos(101))
        );
        assert_eq!(
            (totals.below_cost_calls, totals.below_cost_loss),
            (1, nanos(1))
        );
        assert_eq!(totals.margin(), nanos(300 - 60 - 301));
        let mut search = CallsSearch {
            filter,
            below_cost: true,
            before: None,
            limit: 2,
        };
        let listed = margins::calls(&harness.data, &search).await.unwrap();
        let ids: Vec<RequestId> = listed.calls.iter().map(|one| one.request).collect();
        assert_eq!((ids, listed.next), (vec![call], None));
        assert_eq!(listed.calls[0].margin(), Some(nanos(-1)));
        search.below_cost = false;
        let first = margins::calls(&harness.data, &search).await.unwrap();
        search.before = first.next;
        let second = margins::calls(&harness.data, &search).await.unwrap();
        assert_eq!(
            (first.calls.len(), second.calls.len(), second.next),
            (2, 2, None)
        );
        assert_eq!(first.calls[0].request, refunded);
        assert_eq!(first.calls[0].refunded, nanos(60));
        let unknown = &second.calls[0];
        assert_eq!((unknown.cost, unknown.margin()), (None, None));
        usage_report::sum_up(&harness.data).await.unwrap();
    }
    let one = margins::one_call(&harness.data, call)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (one.channel, one.estimated, one.outcome.as_str()),
        (7, true, Outcome::Complete.as_str())
    );
    assert_eq!(
        margins::one_call(&harness.data, request()).await.unwrap(),
        None
    );
}

#[tokio::test]
async fn an_operator_pages_through_sparse_calls_without_a_gap_or_a_repeat() {
    let harness = TestLedger::new().await;
    // One call in a hundred is of the model that is looked for; more calls than a page looks at.
    let calls = "INSERT INTO ledger.usage (request_id, account_id, key_id, node, epoch, model, endpoint, group_name, units,
             measured, estimated, price_version, paid, trial, cost, attempts, warnings, outcome, opened_at, settled_at)
         SELECT overlay(app.uuid_v7_floor(app.now())::text PLACING lpad(to_hex(n), 12, '0') FROM 25)::uuid, 5, 1, 'n', 1,
             CASE WHEN n % 100 = 7 THEN 'rare' ELSE 'common' END, 'chat', 'default', '{}', '{}', false,
             decode(repeat('07', 32), 'hex'), 100, 0, 50,
             '[]', '{}', 'complete', app.now(), app.now()
         FROM generate_series(1, 10300) AS n";
    let mut superuser = PgConnection::connect(harness.db.superuser_url().reveal())
        .await
        .unwrap();
    sqlx::query(calls).execute(&mut superuser).await.unwrap();
    for (limit, pages) in [(50, 3), (200, 2)] {
        let mut search = CallsSearch {
            filter: MarginFilter {
                model: Some("rare".to_owned()),
                ..today(&harness).await
            },
            below_cost: false,
            before: None,
            limit,
        };
        let mut found = Vec::new();
        let mut read = 0;
        loop {
            let page = margins::calls(&harness.data, &search).await.unwrap();
            read += 1;
            found.extend(page.calls.iter().map(|call| call.request));
            search.before = page.next;
            if page.next.is_none() {
                break;
            }
            // Either the page is full or it says how far it looked.
            let full = page.calls.len() == usize::try_from(limit).unwrap();
            assert_ne!(full, page.searched_to.is_some());
        }
        assert_eq!((read, found.len()), (pages, 103), "{limit} a page");
        assert!(found.is_sorted_by(|newer, older| newer.uuid() > older.uuid()));
    }
}
