//! Packed holds, asked directly: `ledger.apply_<day>` does not trust its caller.

use sqlx::Row as _;
use sqlx::postgres::PgRow;
use trunkline_ledger::accounts::{self, Period};
use trunkline_ledger::admission::{BatchState, Rejection, WalletBalances};
use trunkline_ledger::{NodeEpoch, Wallets, recovery};
use trunkline_testkit::random_bytes;
use trunkline_types::{AccountId, NodeId, RequestId};

use crate::test_ledger::{TestLedger, nanos, request};

/// A ledger that is asked in SQL, as a lane asks it.
struct Direct {
    harness: TestLedger,
    epoch: NodeEpoch,
    terms: i32,
}

/// One list of arguments in SQL.
fn list<T: ToString>(values: &[T]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    format!("'{{{}}}'", values.join(","))
}

fn ids(requests: &[RequestId]) -> String {
    list(&requests.iter().map(|call| call.uuid()).collect::<Vec<_>>())
}

impl Direct {
    async fn new() -> Self {
        let harness = TestLedger::new().await;
        let node = NodeId::new("n1").unwrap();
        let (epoch, _) = recovery::register(&harness.data, &node).await.unwrap();
        let mut session = harness.data.session().await.unwrap();
        let terms = sqlx::query_scalar(
            "INSERT INTO ledger.call_terms (model, endpoint, group_name, price_version)
             VALUES ('model', 'chat', 'default', sha256('prices')) RETURNING id",
        )
        .fetch_one(&mut *session)
        .await
        .unwrap();
        drop(session);
        Self {
            harness,
            epoch,
            terms,
        }
    }

    /// Applies a batch under a sequence; `more` names further arguments.
    async fn apply(&self, seq: i64, accounts: &[AccountId], more: &str) -> Result<PgRow, String> {
        let numbers: Vec<i64> = accounts.iter().map(|account| account.number()).collect();
        let mut session = self.harness.data.session().await.unwrap();
        let function: String = sqlx::query_scalar(
            "SELECT 'ledger.apply_' || to_char((app.now() AT TIME ZONE 'UTC')::date, 'YYYYMMDD')",
        )
        .fetch_one(&mut *session)
        .await
        .unwrap();
        let revisions: Vec<i64> = sqlx::query_scalar(
            "SELECT revision FROM ledger.account WHERE id = ANY ($1) ORDER BY id",
        )
        .bind(&numbers)
        .fetch_all(&mut *session)
        .await
        .unwrap();
        let (more, revisions) = if more.contains("a_revisions") {
            (more.to_owned(), String::new())
        } else {
            let revisions = format!("a_revisions => {}, ", list(&revisions));
            (more.to_owned(), revisions)
        };
        let text = format!(
            "SELECT * FROM {function}(by_node => 'n1', by_epoch => {}, by_lane => 0::smallint, by_seq => {seq},
                 of_epoch => NULL, of_lane => NULL, may_notify => true, a_ids => {}, {revisions}{more})",
            self.epoch.epoch,
            list(&numbers),
        );
        sqlx::query(sqlx::AssertSqlSafe(text))
            .fetch_one(&mut *session)
            .await
            .map_err(|error| error.to_string())
    }

    /// Arguments of reservations, each of the account at a place.
    fn reserves(&self, calls: &[(RequestId, i32, i64)]) -> String {
        let count = calls.len();
        let each = |value: &str| format!("'{{{}}}'", vec![value; count].join(","));
        format!(
            "r_requests => {}, r_accounts => {}, r_keys => {}, r_amounts => {}, r_paid_only => {},
             r_terms => {}, r_lifetimes => {}",
            ids(&calls.iter().map(|call| call.0).collect::<Vec<_>>()),
            list(&calls.iter().map(|call| call.1).collect::<Vec<_>>()),
            each("NULL"),
            list(&calls.iter().map(|call| call.2).collect::<Vec<_>>()),
            each("false"),
            each(&self.terms.to_string()),
            each("3600000"),
        )
    }

    /// Arguments of settlements: the call, its account's place, its sequence and position, the amount.
    fn settles(&self, calls: &[(RequestId, i32, i64, i32, i64)]) -> String {
        let count = calls.len();
        let each = |value: &str| format!("'{{{}}}'", vec![value; count].join(","));
        format!(
            "s_requests => {}, s_accounts => {}, s_seqs => {}, s_positions => {},
             s_amounts => {}, s_outcomes => {}, s_units => {}, s_measured => {}, s_estimated => {}, s_tiers => {},
             s_costs => {}, s_resales => {}, s_attempts => {}, s_warnings => {}, s_unpaid_reasons => {},
             s_unpaid_sales => {}",
            ids(&calls.iter().map(|call| call.0).collect::<Vec<_>>()),
            list(&calls.iter().map(|call| call.1).collect::<Vec<_>>()),
            list(&calls.iter().map(|call| call.2).collect::<Vec<_>>()),
            list(&calls.iter().map(|call| call.3).collect::<Vec<_>>()),
            list(&calls.iter().map(|call| call.4).collect::<Vec<_>>()),
            each("complete"),
            each("\"{}\""),
            each("\"{}\""),
            each("false"),
            each("NULL"),
            each("NULL"),
            each("NULL"),
            each("\"[]\""),
            each("\"\""),
            each("NULL"),
            each("NULL"),
        )
    }
}

/// A list of the answer, or of what was noted of the batch.
fn amounts(row: &PgRow, name: &str) -> Vec<Option<i64>> {
    match row.try_get::<Option<Vec<Option<i64>>>, _>(name) {
        Ok(list) => list.unwrap_or_default(),
        Err(_) => {
            let noted: Option<serde_json::Value> = row.get("answers");
            let list = noted.map(|noted| noted[name].clone()).unwrap_or_default();
            serde_json::from_value::<Option<_>>(list)
                .unwrap()
                .unwrap_or_default()
        }
    }
}

/// Codes of operations; those of reservations are noted only if one was refused.
fn codes(row: &PgRow, name: &str) -> Vec<i16> {
    if let Ok(codes) = row.try_get::<Option<Vec<i16>>, _>(name) {
        return codes.unwrap_or_default();
    }
    let noted = amounts(row, name);
    if name == "r_codes" && noted.is_empty() {
        return vec![0; amounts(row, "r_paid").len()];
    }
    let code = |code: Option<i64>| i16::try_from(code.unwrap()).unwrap();
    noted.into_iter().map(code).collect()
}

#[tokio::test]
async fn a_settlement_names_a_hold_that_was_written_or_moves_nothing() {
    let direct = Direct::new().await;
    let rich = direct.harness.account(1_000, 0).await;
    let other = direct.harness.account(1_000, 0).await;
    let both = [rich, other];
    let (call, never) = (request(), request());
    let reserved = direct.reserves(&[(call, 1, 100)]);
    let row = direct.apply(1, &both, &reserved).await.unwrap();
    assert_eq!(codes(&row, "r_codes"), [0]);
    // A sequence that was never committed, another position, another account, another call.
    for (seq, wrong) in [
        (2, (call, 1, 9, 1, 50)),
        (3, (call, 1, 1, 2, 50)),
        (4, (call, 2, 1, 1, 50)),
        (5, (never, 1, 1, 1, 50)),
    ] {
        let settles = direct.settles(&[wrong]);
        let row = direct.apply(seq, &both, &settles).await.unwrap();
        assert_eq!(codes(&row, "s_codes"), [2], "{wrong:?}");
    }
    assert_eq!(direct.harness.wallets(rich).await, [1_000, 100, 0, 0]);
    assert_eq!(direct.harness.wallets(other).await, [1_000, 0, 0, 0]);
    let settles = direct.settles(&[(call, 1, 1, 1, 150)]);
    let row = direct.apply(6, &both, &settles).await.unwrap();
    assert_eq!(
        amounts(&row, "s_paid"),
        [Some(100)],
        "never more than its hold"
    );
    assert_eq!(direct.harness.wallets(rich).await, [900, 0, 0, 0]);
    direct.harness.audit().await;
}

#[tokio::test]
async fn a_repeated_batch_is_answered_as_before_and_one_with_other_members_is_refused() {
    let direct = Direct::new().await;
    let account = direct.harness.account(100, 20).await;
    let (first, second) = (request(), request());
    let reserves = direct.reserves(&[(first, 1, 90), (second, 1, 90)]);
    let answers = |row: &PgRow| {
        (
            codes(row, "r_codes"),
            amounts(row, "r_paid"),
            amounts(row, "r_trial"),
            amounts(row, "r_fits"),
        )
    };
    let once = answers(&direct.apply(1, &[account], &reserves).await.unwrap());
    assert_eq!(once.0, [0, 1], "the second does not fit");
    assert_eq!(
        answers(&direct.apply(1, &[account], &reserves).await.unwrap()),
        once
    );
    assert_eq!(direct.harness.wallets(account).await, [100, 70, 20, 20]);
    let settles = direct.settles(&[(first, 1, 1, 1, 90)]);
    for _ in 0..2 {
        let row = direct.apply(2, &[account], &settles).await.unwrap();
        assert_eq!(codes(&row, "s_codes"), [0]);
        assert_eq!(amounts(&row, "s_trial"), [Some(20)]);
        assert_eq!(direct.harness.wallets(account).await, [30, 0, 0, 0]);
    }
    let row = direct.apply(3, &[account], &settles).await.unwrap();
    assert_eq!(codes(&row, "s_codes"), [1], "another batch finds it done");
    for others in [
        direct.reserves(&[(first, 1, 90)]),
        direct.reserves(&[(first, 1, 90), (second, 1, 91)]),
        direct.reserves(&[(second, 1, 90), (first, 1, 90)]),
    ] {
        let refused = direct.apply(1, &[account], &others).await.unwrap_err();
        assert!(refused.contains("other operations"), "{refused}");
    }
    direct.harness.audit().await;
}

#[tokio::test]
async fn a_batch_that_is_wrongly_called_new_is_refused_and_moves_nothing() {
    let direct = Direct::new().await;
    let account = direct.harness.account(1_000, 0).await;
    let call = request();
    let reserves = direct.reserves(&[(call, 1, 100)]);
    direct.apply(1, &[account], &reserves).await.unwrap();
    let settles = direct.settles(&[(call, 1, 1, 1, 40)]);
    for batch in [&reserves, &settles] {
        let new = format!("may_be_applied => false, {batch}");
        let refused = direct.apply(1, &[account], &new).await.unwrap_err();
        assert!(refused.contains("duplicate key"), "{refused}");
    }
    assert_eq!(direct.harness.wallets(account).await, [1_000, 100, 0, 0]);
    direct.apply(2, &[account], &settles).await.unwrap();
    assert_eq!(direct.harness.wallets(account).await, [960, 0, 0, 0]);
    direct.harness.audit().await;
}

#[tokio::test]
async fn a_repeated_end_of_a_hold_that_is_a_row_is_sent_to_it_again() {
    let direct = Direct::new().await;
    let account = direct.harness.account(1_000, 0).await;
    let call = request();
    let reserves = direct.reserves(&[(call, 1, 100)]);
    direct.apply(1, &[account], &reserves).await.unwrap();
    let mut tx = direct.harness.data.begin().await.unwrap();
    let moved = "SELECT ledger.move_long_holds('n1', $1, 0::smallint, interval '-1 minute', 10)";
    sqlx::query(moved)
        .bind(direct.epoch.epoch)
        .execute(&mut *tx)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let settles = direct.settles(&[(call, 1, 1, 1, 40)]);
    for _ in 0..2 {
        let row = direct.apply(2, &[account], &settles).await.unwrap();
        assert_eq!(codes(&row, "s_codes"), [3]);
    }
    assert_eq!(direct.harness.wallets(account).await, [1_000, 100, 0, 0]);
    direct.harness.audit().await;
}

#[tokio::test]
async fn one_id_is_not_held_twice_or_charged_under_two_accounts() {
    let direct = Direct::new().await;
    let one = direct.harness.account(1_000, 0).await;
    let two = direct.harness.account(1_000, 0).await;
    let both = [one, two];
    let call = request();
    let twice = direct.reserves(&[(call, 1, 10), (call, 2, 10)]);
    let refused = direct.apply(1, &both, &twice).await.unwrap_err();
    assert!(refused.contains("one request twice"), "{refused}");
    direct
        .apply(1, &both, &direct.reserves(&[(call, 1, 10)]))
        .await
        .unwrap();
    direct
        .apply(2, &both, &direct.reserves(&[(call, 2, 10)]))
        .await
        .unwrap();
    let held_twice = "SELECT holds::text FROM ledger.audit_request_held_twice";
    assert_eq!(
        direct.harness.db.ask(held_twice).await,
        ["2"],
        "the audit names it"
    );
    direct
        .apply(3, &both, &direct.settles(&[(call, 1, 1, 1, 10)]))
        .await
        .unwrap();
    let row = direct
        .apply(4, &both, &direct.settles(&[(call, 2, 2, 1, 10)]))
        .await
        .unwrap();
    assert_eq!(
        codes(&row, "s_codes"),
        [2],
        "the id is charged, to the first"
    );
    assert_eq!(
        direct.harness.wallets(two).await,
        [1_000, 0, 0, 0],
        "what the second held is free again"
    );
    let row = direct
        .apply(5, &both, &direct.reserves(&[(call, 2, 10)]))
        .await
        .unwrap();
    assert_eq!(
        codes(&row, "r_codes"),
        [7],
        "what became of another account's request is not told"
    );
}

/// Both copies of a machine that was copied while it ran write under one name and epoch.
#[tokio::test]
async fn a_node_starts_although_its_last_epoch_holds_one_request_twice() {
    let direct = Direct::new().await;
    let one = direct.harness.account(1_000, 0).await;
    let two = direct.harness.account(1_000, 0).await;
    let call = request();
    for (seq, account) in [(1, 1), (2, 2)] {
        let reserves = direct.reserves(&[(call, account, 10)]);
        direct.apply(seq, &[one, two], &reserves).await.unwrap();
    }
    let node = NodeId::new("n1").unwrap();
    let (_, voided) = recovery::register(&direct.harness.data, &node)
        .await
        .unwrap();
    assert_eq!(voided, 1, "the other is released");
    for account in [one, two] {
        assert_eq!(direct.harness.wallets(account).await, [1_000, 0, 0, 0]);
    }
}

#[tokio::test]
async fn an_account_without_money_is_refused_alone_and_the_others_are_held() {
    let direct = Direct::new().await;
    let rich = direct.harness.account(1_000, 0).await;
    let poor = direct.harness.account(5, 0).await;
    let (first, second, third) = (request(), request(), request());
    let reserves = direct.reserves(&[(first, 1, 100), (second, 2, 100), (third, 1, 100)]);
    let row = direct.apply(1, &[rich, poor], &reserves).await.unwrap();
    assert_eq!(codes(&row, "r_codes"), [0, 1, 0]);
    assert_eq!(amounts(&row, "r_fits"), [None, Some(5), None]);
    assert_eq!(direct.harness.wallets(rich).await, [1_000, 200, 0, 0]);
    assert_eq!(direct.harness.wallets(poor).await, [5, 0, 0, 0]);
    // Positions count what is held.
    let settles = direct.settles(&[(third, 1, 1, 2, 100)]);
    let row = direct.apply(2, &[rich, poor], &settles).await.unwrap();
    assert_eq!(codes(&row, "s_codes"), [0]);
    direct.harness.audit().await;
}

#[tokio::test]
async fn a_reservation_under_a_stale_revision_takes_nothing() {
    let direct = Direct::new().await;
    let account = direct.harness.account(1_000, 0).await;
    let reserves = direct.reserves(&[(request(), 1, 100)]);
    let old = format!("a_revisions => '{{0}}', {reserves}");
    let mut tx = direct.harness.console.begin().await.unwrap();
    let limit = Some(nanos(1_000));
    let set = accounts::set_budget(&mut tx, account, None, Period::Daily, "UTC", limit).await;
    assert_eq!(set, Ok(true));
    tx.commit().await.unwrap();
    let row = direct.apply(1, &[account], &old).await.unwrap();
    assert_eq!(codes(&row, "r_codes"), [8]);
    assert_eq!(direct.harness.wallets(account).await, [1_000, 0, 0, 0]);
}

#[tokio::test]
async fn a_hold_is_not_extended_once_it_has_ended() {
    let direct = Direct::new().await;
    let account = direct.harness.account(1_000, 0).await;
    let call = request();
    direct
        .apply(1, &[account], &direct.reserves(&[(call, 1, 100)]))
        .await
        .unwrap();
    let raise = |total: i64| {
        format!(
            "e_requests => {}, e_accounts => '{{1}}', e_seqs => '{{1}}', e_positions => '{{1}}', e_totals => '{{{total}}}'",
            ids(&[call])
        )
    };
    let row = direct.apply(2, &[account], &raise(150)).await.unwrap();
    assert_eq!(
        (codes(&row, "e_codes"), amounts(&row, "e_held")),
        (vec![0], vec![Some(150)])
    );
    let row = direct.apply(3, &[account], &raise(5_000)).await.unwrap();
    assert_eq!(
        (codes(&row, "e_codes"), amounts(&row, "e_held")),
        (vec![1], vec![Some(1_000)])
    );
    let row = direct
        .apply(4, &[account], &direct.settles(&[(call, 1, 1, 1, 700)]))
        .await
        .unwrap();
    assert_eq!(
        amounts(&row, "s_paid"),
        [Some(700)],
        "out of the hold and its extensions"
    );
    let row = direct.apply(5, &[account], &raise(6_000)).await.unwrap();
    assert_eq!(codes(&row, "e_codes"), [3]);
    assert_eq!(direct.harness.wallets(account).await, [300, 0, 0, 0]);
    direct.harness.audit().await;
}

/// The function and the pure model take the same from the same wallets, whatever the order.
#[tokio::test]
async fn the_function_splits_reservations_over_wallets_as_the_model_does() {
    let direct = Direct::new().await;
    for round in 0..12_i64 {
        let [one, two, three, four, ..]: [u8; 10] = random_bytes();
        let (paid, trial) = (i64::from(one) + 1, i64::from(two) + 1);
        let account = direct.harness.account(paid, trial).await;
        let mut state = BatchState::default();
        let balances = WalletBalances {
            paid_posted: paid,
            trial_posted: trial,
            topped_up: true,
            ..WalletBalances::default()
        };
        state.balances.insert(account, balances);
        let sizes: Vec<i64> = [one, three, two, four]
            .map(|size| i64::from(size) / 2)
            .to_vec();
        let calls: Vec<(RequestId, i32, i64)> =
            sizes.iter().map(|size| (request(), 1, *size)).collect();
        let row = direct
            .apply(round + 1, &[account], &direct.reserves(&calls))
            .await
            .unwrap();
        let (codes, paid, trial, fits) = (
            codes(&row, "r_codes"),
            amounts(&row, "r_paid"),
            amounts(&row, "r_trial"),
            amounts(&row, "r_fits"),
        );
        for (place, size) in sizes.iter().enumerate() {
            match state.take(account, Wallets::TrialFirst, *size, &[], None) {
                Ok(split) => assert_eq!(
                    (codes[place], paid[place], trial[place]),
                    (0, Some(split.paid), Some(split.trial)),
                    "{sizes:?}"
                ),
                Err(Rejection::TooLittle(_, most, _)) => {
                    assert_eq!((codes[place], fits[place]), (1, Some(most)), "{sizes:?}");
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    }
    direct.harness.audit().await;
}
