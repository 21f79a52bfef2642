//! Pages of calls and of movements: bounded in days and in rows, and whole when they are put together.

use std::collections::BTreeSet;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use trunkline_ledger::accounts::Wallet;
use trunkline_ledger::call_search::{self, MAX_SCANNED_ROWS, OutcomeFilter, Page, Search};
use trunkline_ledger::journal::{self, EntryKind, JournalQuery};
use trunkline_ledger::{Outcome, usage_report};
use trunkline_types::{AccountId, KeyId, Money};

use crate::test_ledger::{TestLedger, refund, request, reserve, settle, void};

/// Writes calls of the past, so many a day ago each, as settlements left them.
async fn past(harness: &TestLedger, account: AccountId, days_ago: &[i64], each: i64, key: i64) {
    let mut superuser = PgConnection::connect(harness.db.superuser_url().reveal())
        .await
        .unwrap();
    for days in days_ago {
        let statement = format!(
            "SELECT ledger.make_partitions((app.now() AT TIME ZONE 'UTC')::date - {days}, 1);
             UPDATE ledger.account SET created_at = least(created_at, app.now() - interval '{days} days')
                 WHERE id = {account};
             INSERT INTO ledger.usage (request_id, account_id, key_id, node, epoch, model, endpoint, group_name, units,
                 measured, estimated, price_version, paid, trial, attempts, warnings, outcome, opened_at, settled_at)
             SELECT overlay(app.uuid_v7_floor(at)::text PLACING lpad(to_hex({key} * 100000 + n), 12, '0') FROM 25)::uuid,
                 {account}, {key}, 'n', 1, 'model', 'chat', 'default', '{{}}', '{{}}', false, '\\x{version}', 10, 0, '[]',
                 '{{}}', 'complete', at, at
             FROM (SELECT n, date_trunc('day', app.now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
                       - interval '{days} days' + interval '1 millisecond' * n AS at
                   FROM generate_series(1, {each}) AS n) AS calls",
            version = "07".repeat(32),
        );
        sqlx::raw_sql(AssertSqlSafe(statement))
            .execute(&mut superuser)
            .await
            .unwrap();
    }
}

async fn search(harness: &TestLedger, query: &Search) -> Page {
    call_search::search(&harness.data, query).await.unwrap()
}

/// All pages of a search: how many there were, and the calls.
async fn all(harness: &TestLedger, mut query: Search) -> (usize, Vec<call_search::Call>) {
    let mut calls = Vec::new();
    for pages in 1..1_000 {
        let found = search(harness, &query).await;
        calls.extend(found.calls);
        let Some(next) = found.next else {
            return (pages, calls);
        };
        query.before = Some(next);
    }
    panic!("it does not end");
}

#[tokio::test]
async fn a_page_looks_at_62_days_and_the_next_one_goes_on() {
    let harness = TestLedger::new().await;
    let account = harness.account(0, 0).await;
    past(&harness, account, &[0, 3, 40, 100, 200], 1, 7).await;
    let first = search(&harness, &Search::of(account, 50)).await;
    assert_eq!(first.calls.len(), 3);
    let looked_to = first.searched_to.unwrap();
    let now = usage_report::today(&harness.data)
        .await
        .unwrap()
        .starts_at();
    let days = (now.seconds() - looked_to.seconds()) / 86_400;
    assert!((59..=62).contains(&days), "{days}");
    let (pages, calls) = all(&harness, Search::of(account, 50)).await;
    assert_eq!((pages, calls.len()), (4, 5));
    let (_, keyed) = all(
        &harness,
        Search {
            key: Some(KeyId::new(7)),
            ..Search::of(account, 2)
        },
    )
    .await;
    assert_eq!(keyed, calls, "the same by another index, in smaller pages");
    let narrow = Search {
        from: Some(now.plus_seconds(-101 * 86_400)),
        until: Some(now.plus_seconds(-39 * 86_400)),
        ..Search::of(account, 50)
    };
    let (_, some) = all(&harness, narrow).await;
    assert_eq!(some.len(), 2);
}

#[tokio::test]
async fn a_page_looks_at_so_many_rows_and_says_how_far_it_came() {
    let harness = TestLedger::new().await;
    let account = harness.account(0, 0).await;
    let rows = i64::from(MAX_SCANNED_ROWS) + 100;
    past(&harness, account, &[1], rows, 7).await;
    past(&harness, account, &[2], 1, 8).await;
    let other = Search {
        endpoint: Some("speech".to_owned()),
        ..Search::of(account, 50)
    };
    let first = search(&harness, &other).await;
    assert!(first.calls.is_empty());
    assert!(first.next.is_some() && first.searched_to.is_some());
    let (pages, none) = all(&harness, other).await;
    assert_eq!((pages, none.len()), (2, 0));
    // What leads is not looked past: the needle is found at once.
    let needle = Search {
        key: Some(KeyId::new(8)),
        ..Search::of(account, 50)
    };
    let found = search(&harness, &needle).await;
    assert_eq!((found.calls.len(), found.next), (1, None));
    // Exactly as many as a page looks at end it, too, and the next one is empty.
    let (_, every) = all(&harness, Search::of(account, 200)).await;
    let ids: BTreeSet<_> = every.iter().map(|call| call.request).collect();
    assert_eq!(ids.len(), every.len());
    assert_eq!(every.len(), usize::try_from(rows).unwrap() + 1);
}

#[tokio::test]
async fn an_account_that_is_not_there_has_nothing() {
    let harness = TestLedger::new().await;
    let unknown = AccountId::new(987_654);
    let found = search(&harness, &Search::of(unknown, 50)).await;
    assert!(found.calls.is_empty() && found.next.is_none());
    let query = JournalQuery {
        account: unknown,
        kind: None,
        from: None,
        until: None,
        after: None,
        limit: 50,
    };
    let page = journal::read(&harness.data, &query).await.unwrap();
    assert!(page.entries.is_empty() && page.next.is_none());
    assert!(
        !usage_report::has_called(&harness.data, unknown)
            .await
            .unwrap()
    );
    let uses = usage_report::of_keys(&harness.data, unknown, &[KeyId::new(1)]).await;
    assert!(uses.unwrap().is_empty());
}

#[tokio::test]
async fn lines_of_many_days_come_to_the_balance_in_pages_of_any_size() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000, 300).await;
    let (ledger, tasks) = harness.ledger("a").await;
    for number in 0..12 {
        let call = request();
        ledger.reserve(reserve(call, account, 60)).await.unwrap();
        if number % 4 == 3 {
            ledger.void(void(call, account)).await.unwrap();
            continue;
        }
        ledger.settle(settle(call, account, 50)).await.unwrap();
        if number % 3 == 0 {
            ledger.refund(refund(call, account)).await.unwrap();
        }
    }
    drop(ledger);
    tasks.finish().await;
    let mut query = JournalQuery {
        account,
        kind: None,
        from: None,
        until: None,
        after: None,
        limit: 1_000,
    };
    let whole = journal::read(&harness.data, &query).await.unwrap();
    assert_eq!(whole.next, None);
    for limit in [1, 2, 3, 5] {
        query.limit = limit;
        query.after = None;
        let mut paged = Vec::new();
        loop {
            let page = journal::read(&harness.data, &query).await.unwrap();
            assert!(page.entries.len() <= usize::try_from(limit).unwrap());
            paged.extend(page.entries);
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
        assert_eq!(paged, whole.entries, "pages of {limit}");
    }
    let balance = harness.balance(account).await;
    for (wallet, has) in [(Wallet::Paid, balance.paid), (Wallet::Trial, balance.trial)] {
        let own = whole.entries.iter().filter(|line| line.id.wallet == wallet);
        let sum: i64 = own.map(|line| line.amount.nanos()).sum();
        assert_eq!(sum, has.nanos(), "{wallet:?}");
    }
    let charges = whole.entries.iter();
    let charges = charges.filter(|line| line.id.kind == EntryKind::Charge);
    assert!(charges.clone().count() >= 9);
    assert!(charges.clone().all(|line| line.amount < Money::ZERO));
}

#[tokio::test]
async fn failed_and_dear_calls_are_found_among_others() {
    let harness = TestLedger::new().await;
    let account = harness.account(1_000_000_000, 0).await;
    let (ledger, tasks) = harness.ledger("a").await;
    // The newest stands first, and of one millisecond whose id is greater.
    let mut ids = [request(), request(), request()];
    ids.sort();
    let [cheap, dear, failed] = ids;
    for (call, amount) in [(cheap, 9_999_999), (dear, 10_000_000)] {
        ledger
            .reserve(reserve(call, account, amount))
            .await
            .unwrap();
        ledger.settle(settle(call, account, amount)).await.unwrap();
    }
    ledger.reserve(reserve(failed, account, 10)).await.unwrap();
    ledger.void(void(failed, account)).await.unwrap();
    drop(ledger);
    tasks.finish().await;
    let ids = async |query: Search| {
        let found = search(&harness, &query).await;
        found
            .calls
            .iter()
            .map(|call| call.request)
            .collect::<Vec<_>>()
    };
    let least = |nanos| Search {
        min_charge: Some(Money::from_nanos(nanos)),
        ..Search::of(account, 10)
    };
    assert_eq!(
        ids(least(10_000_000)).await,
        [dear],
        "by the index of dear calls"
    );
    assert_eq!(
        ids(least(9_999_999)).await,
        [dear, cheap],
        "and below it without"
    );
    assert_eq!(ids(least(10_000_001)).await, []);
    let ended = |how| Search {
        outcome: Some(how),
        ..Search::of(account, 10)
    };
    assert_eq!(ids(ended(OutcomeFilter::Failed)).await, [failed]);
    assert_eq!(
        ids(ended(OutcomeFilter::As(Outcome::UpstreamFailed))).await,
        [failed]
    );
    assert_eq!(ids(ended(OutcomeFilter::As(Outcome::Refused))).await, []);
    assert_eq!(ids(ended(OutcomeFilter::Charged)).await, [dear, cheap]);
    let both = Search {
        outcome: Some(OutcomeFilter::Failed),
        min_charge: Some(Money::from_nanos(10_000_000)),
        ..Search::of(account, 10)
    };
    assert_eq!(ids(both).await, [], "a failure is free");
}
