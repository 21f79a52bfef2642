//! The formula at its edges, and against a plain minimum over random amounts.

use proptest::prelude::*;

use super::*;

fn usd(nanos: i64) -> Money {
    Money::from_nanos(nanos)
}

fn covered(held: i64, by: Option<Shortage>) -> Covered {
    Covered {
        held: usd(held),
        by,
    }
}

fn limits(max_cost: Option<i64>, quote_maximum: Option<i64>) -> ChargeLimits {
    ChargeLimits {
        requested_tier: None,
        max_cost: max_cost.map(usd),
        quote_maximum: quote_maximum.map(usd),
    }
}

#[test]
fn a_dearer_tier_than_was_asked_for_is_written_off_unless_a_smaller_limit_or_the_money_ends_the_charge()
 {
    let reason = |limits: ChargeLimits, hold: Covered| {
        let limits = ChargeLimits {
            requested_tier: Some(usd(20)),
            ..limits
        };
        let decision = limits.decide(usd(50), hold);
        let unpaid = decision.unpaid.unwrap();
        (decision.amount.nanos(), unpaid.sale.nanos(), unpaid.reason)
    };
    let enough = covered(60, None);
    let of = |amount: i64, why: WriteOffReason| (amount, 50 - amount, why);
    let none = limits(None, None);
    assert_eq!(reason(none, enough), of(20, WriteOffReason::ServedTier));
    let larger = limits(Some(21), Some(40));
    assert_eq!(reason(larger, enough), of(20, WriteOffReason::ServedTier));
    let smaller = limits(Some(19), None);
    assert_eq!(reason(smaller, enough), of(19, WriteOffReason::MaxCost));
    let short = covered(7, Some(Shortage::Wallet));
    assert_eq!(reason(none, short), of(7, WriteOffReason::Overrun));
}

#[test]
fn the_smallest_of_used_money_and_limits_is_charged_and_names_its_reason() {
    let wallet = Some(Shortage::Wallet);
    let budget = Some(Shortage::Budget(7));
    for (used, max_cost, quote, hold, amount, reason) in [
        (50, None, None, covered(60, None), 50, None),
        (50, None, None, covered(50, None), 50, None),
        (50, Some(50), Some(50), covered(50, None), 50, None),
        (
            50,
            None,
            None,
            covered(49, wallet),
            49,
            Some(WriteOffReason::Overrun),
        ),
        (
            50,
            None,
            None,
            covered(0, wallet),
            0,
            Some(WriteOffReason::Overrun),
        ),
        (
            50,
            None,
            None,
            covered(20, budget),
            20,
            Some(WriteOffReason::Budget),
        ),
        (
            50,
            Some(30),
            None,
            covered(60, None),
            30,
            Some(WriteOffReason::MaxCost),
        ),
        (
            50,
            Some(30),
            Some(29),
            covered(60, None),
            29,
            Some(WriteOffReason::QuoteMaximum),
        ),
        (
            50,
            Some(30),
            Some(40),
            covered(20, wallet),
            20,
            Some(WriteOffReason::Overrun),
        ),
        (0, Some(0), None, covered(0, None), 0, None),
    ] {
        let decided = limits(max_cost, quote).decide(usd(used), hold);
        assert_eq!(decided.amount, usd(amount), "{used} {max_cost:?} {quote:?}");
        let unpaid = decided.unpaid.map(|unpaid| (unpaid.reason, unpaid.sale));
        let expected = reason.map(|reason| (reason, usd(used - amount)));
        assert_eq!(unpaid, expected, "{used} {max_cost:?} {quote:?}");
    }
}

proptest! {
    #[test]
    fn charge_and_unpaid_rest_are_what_was_used(
        used in 0..i64::MAX,
        held in 0..i64::MAX,
        max_cost in proptest::option::of(0..i64::MAX),
        quote in proptest::option::of(0..i64::MAX),
    ) {
        let decided = limits(max_cost, quote).decide(usd(used), covered(held, None));
        let all = [Some(used), Some(held), max_cost, quote];
        let least = all.into_iter().flatten().min().unwrap();
        prop_assert_eq!(decided.amount, usd(least));
        let rest = decided.unpaid.map_or(0, |unpaid| unpaid.sale.nanos());
        prop_assert_eq!(least + rest, used);
        prop_assert_eq!(decided.unpaid.is_none(), rest == 0);
    }
}
