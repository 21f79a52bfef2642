//! Edges in pairs: the last amount that is taken, the first that is not.

use super::*;

const DAY: BudgetWindowId = (7, 1);
const MONTH: BudgetWindowId = (8, 2);

fn payer() -> AccountId {
    AccountId::new(1_000)
}

/// 100 paid of which 30 are held, 20 trial of which 5 are held, two windows, one capacity.
fn state() -> BatchState {
    let balance = WalletBalances {
        paid_posted: 100,
        credit_limit: 0,
        paid_held: 30,
        trial_posted: 20,
        trial_held: 5,
        topped_up: true,
    };
    let window = |id, limit, used| BudgetWindow { id, limit, used };
    BatchState {
        balances: BTreeMap::from([(payer(), balance)]),
        windows: BTreeMap::from([(DAY, window(7, 50, 10)), (MONTH, window(8, 200, 140))]),
        capacity_left: BTreeMap::from([("p".to_owned(), 1)]),
    }
}

fn take(
    state: &mut BatchState,
    amount: i64,
    windows: &[BudgetWindowId],
) -> Result<WalletSplit, Rejection> {
    state.take(payer(), Wallets::TrialFirst, amount, windows, None)
}

#[test]
fn trial_money_is_taken_first_and_the_rest_out_of_the_paid_wallet() {
    for (amount, paid, trial) in [(0, 0, 0), (1, 0, 1), (15, 0, 15), (16, 1, 15), (85, 70, 15)] {
        let mut state = state();
        assert_eq!(
            take(&mut state, amount, &[]),
            Ok(WalletSplit { paid, trial })
        );
        let balance = state.balances[&payer()];
        assert_eq!(
            (balance.paid_held, balance.trial_held),
            (30 + paid, 5 + trial)
        );
        assert_eq!((balance.paid_posted, balance.trial_posted), (100, 20));
    }
}

#[test]
fn more_than_is_free_is_refused_with_what_would_fit_and_what_others_hold() {
    let mut state = state();
    let refused = Err(Rejection::TooLittle(Shortage::Wallet, 85, 35));
    assert_eq!(take(&mut state, 86, &[]), refused);
    let by_budget = Err(Rejection::TooLittle(Shortage::Wallet, 40, 35));
    assert_eq!(
        take(&mut state, 86, &[DAY]),
        by_budget,
        "what fits, fits everywhere"
    );
    assert_eq!(state.balances[&payer()].paid_held, 30, "nothing is taken");
}

#[test]
fn the_tightest_stretch_refuses_and_every_stretch_counts_what_is_taken() {
    let mut state = state();
    let refused = Err(Rejection::TooLittle(Shortage::Budget(7), 40, 35));
    assert_eq!(take(&mut state, 41, &[MONTH, DAY]), refused);
    assert_eq!(
        take(&mut state, 40, &[MONTH, DAY]),
        Ok(WalletSplit {
            paid: 25,
            trial: 15
        })
    );
    let used = |id| state.windows[id].used;
    assert_eq!((used(&DAY), used(&MONTH)), (50, 180));
    let full = Err(Rejection::TooLittle(Shortage::Budget(7), 0, 75));
    assert_eq!(take(&mut state, 1, &[MONTH, DAY]), full);
    let month = Err(Rejection::TooLittle(Shortage::Budget(8), 20, 75));
    assert_eq!(take(&mut state, 21, &[MONTH]), month);
}

#[test]
fn a_limit_lowered_below_its_use_leaves_zero_and_not_less() {
    let mut state = state();
    state.windows.insert(
        DAY,
        BudgetWindow {
            id: 7,
            limit: 5,
            used: 10,
        },
    );
    let refused = Err(Rejection::TooLittle(Shortage::Budget(7), 0, 35));
    assert_eq!(take(&mut state, 1, &[DAY]), refused);
    assert_eq!(
        take(&mut state, 0, &[DAY]),
        Ok(WalletSplit::default()),
        "free is free"
    );
}

#[test]
fn paid_only_needs_a_top_up_and_leaves_the_trial_wallet_alone() {
    let mut state = state();
    let mut paid_only = |amount| state.take(payer(), Wallets::PaidOnly, amount, &[], None);
    let refused = Err(Rejection::TooLittle(Shortage::Wallet, 70, 35));
    assert_eq!(paid_only(71), refused);
    assert_eq!(paid_only(70), Ok(WalletSplit { paid: 70, trial: 0 }));
    state.balances.entry(payer()).or_default().topped_up = false;
    let never = state.take(payer(), Wallets::PaidOnly, 0, &[], None);
    assert_eq!(never, Err(Rejection::NeverToppedUp));
    assert_eq!(
        take(&mut state, 15, &[]),
        Ok(WalletSplit { paid: 0, trial: 15 })
    );
}

#[test]
fn capacity_is_claimed_once_and_an_unknown_claim_does_not_exist() {
    let mut state = state();
    let mut placed = |name| state.take(payer(), Wallets::TrialFirst, 1, &[], Some(name));
    assert_eq!(placed("q"), Err(Rejection::CapacityReached));
    assert_eq!(placed("p"), Ok(WalletSplit { paid: 0, trial: 1 }));
    assert_eq!(placed("p"), Err(Rejection::CapacityReached));
    assert_eq!(state.capacity_left["p"], 0);
    assert_eq!(
        state.balances[&payer()].trial_held,
        6,
        "a refusal takes nothing"
    );
    state.capacity_left.insert("p".to_owned(), 2);
    let placed = state.take(payer(), Wallets::TrialFirst, 1, &[], Some("p"));
    assert_eq!((placed.is_ok(), state.capacity_left["p"]), (true, 1));
}

#[test]
fn an_account_that_is_not_there_gets_nothing() {
    let missing = state().take(AccountId::new(1), Wallets::TrialFirst, 0, &[], None);
    assert_eq!(missing, Err(Rejection::UnknownPayer));
}

#[test]
fn a_wallet_that_promised_more_than_it_holds_lends_nothing_to_the_other() {
    let mut state = state();
    state.balances.entry(payer()).or_default().paid_held = 130;
    assert_eq!(
        take(&mut state, 16, &[]),
        Err(Rejection::TooLittle(Shortage::Wallet, 15, 135))
    );
    assert_eq!(
        take(&mut state, 15, &[]),
        Ok(WalletSplit { paid: 0, trial: 15 })
    );
}

#[test]
fn a_charge_falls_on_trial_money_first_and_never_passes_the_hold() {
    let held = WalletSplit {
        paid: 20,
        trial: 10,
    };
    for (amount, paid, trial, lost) in [
        (-1, 0, 0, 0),
        (0, 0, 0, 0),
        (10, 0, 10, 0),
        (11, 1, 10, 0),
        (30, 20, 10, 0),
        (31, 20, 10, 1),
    ] {
        assert_eq!(
            charge(amount, held),
            (WalletSplit { paid, trial }, lost),
            "{amount}"
        );
    }
}

#[test]
fn money_goes_back_to_the_paid_wallet_first_and_never_passes_the_charge() {
    let charged = WalletSplit {
        paid: 20,
        trial: 10,
    };
    for (amount, paid, trial) in [
        (Some(-1), 0, 0),
        (Some(0), 0, 0),
        (Some(20), 20, 0),
        (Some(21), 20, 1),
        (Some(31), 20, 10),
        (None, 20, 10),
    ] {
        assert_eq!(
            refund_split(amount, charged),
            WalletSplit { paid, trial },
            "{amount:?}"
        );
    }
}

#[test]
fn legs_add_up_and_an_amount_is_what_the_table_says() {
    assert_eq!(WalletSplit { paid: 2, trial: 3 }.total(), 5);
    assert_eq!(money(5), Money::from_nanos(5));
}

#[test]
fn what_fits_is_taken_to_the_nano_dollar_and_the_rest_says_what_it_ran_into() {
    let day = [MONTH, DAY];
    for (amount, windows, total, short) in [
        (40, day.as_slice(), 40, None),
        (41, &day, 40, Some(Shortage::Budget(7))),
        (86, &day, 40, Some(Shortage::Wallet)),
        (85, &[], 85, None),
        (i64::MAX, &[], 85, Some(Shortage::Wallet)),
        (0, &day, 0, None),
        (-1, &day, 0, None),
    ] {
        let mut state = state();
        let taken = state.take_what_fits(payer(), Wallets::TrialFirst, amount, windows);
        let (split, by) = taken.unwrap();
        assert_eq!((split.total(), by), (total, short), "{amount}");
        let second = state.take_what_fits(payer(), Wallets::TrialFirst, 1, windows);
        let nothing_left = short.is_some() || amount == 85 || amount == 40;
        assert_eq!(
            second.unwrap().0.total(),
            i64::from(!nothing_left),
            "{amount}"
        );
    }
    let mut state = state();
    let paid = state.take_what_fits(payer(), Wallets::PaidOnly, 100, &[]);
    let only_paid = WalletSplit { paid: 70, trial: 0 };
    assert_eq!(paid, Ok((only_paid, Some(Shortage::Wallet))));
    let stranger = AccountId::new(7);
    let unknown = state.take_what_fits(stranger, Wallets::TrialFirst, 1, &[]);
    assert_eq!(unknown, Err(Rejection::UnknownPayer));
}

#[test]
fn an_account_may_hold_what_it_may_owe_and_no_more() {
    let mut state = state();
    if let Some(balance) = state.balances.get_mut(&payer()) {
        balance.credit_limit = 40;
    }
    assert_eq!(
        take(&mut state.clone(), 125, &[]),
        Ok(WalletSplit {
            paid: 110,
            trial: 15
        })
    );
    assert_eq!(
        take(&mut state, 126, &[]),
        Err(Rejection::TooLittle(Shortage::Wallet, 125, 35))
    );
}
