//! Properties of every price: equal to the oracle, rounded once, bounded, monotone, never negative,
//! never a panic. `just prices` runs a million cases of each.

use std::cell::Cell;

use num_bigint::BigInt;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use trunkline_catalog::{
    Limits, Offer, PriceClass, PricingContext, QuoteError, amount_at, bound, quote,
};
use trunkline_types::{Face, MAX_QUANTITY, Units};

use crate::oracle::{Plan, Rng, half_up, limits_around};

fn class(dice: &mut Rng) -> PriceClass {
    if dice.coin() {
        PriceClass::Paid
    } else {
        PriceClass::Standard
    }
}

/// Tries many inputs, and says how many.
fn holds<S: Strategy>(inputs: &S, case: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let mut runner = TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let seeds = Cell::new(0_u64);
    let ended = runner.run(inputs, |input| {
        seeds.set(seeds.get() + 1);
        case(input)
    });
    ended.unwrap_or_else(|error| panic!("{error}\n{runner}"));
    println!("figures: seeds={}", seeds.get());
}

// covers: D-2-05, D-2-06, D-2-07
#[test]
fn a_charge_equals_the_exact_rational_rounded_once_half_up() {
    holds(&any::<u64>(), |seed| {
        let dice = &mut Rng::new(seed);
        let plan = Plan::new(dice);
        let list = plan.raw_list(dice).check().unwrap();
        let offer = Offer {
            list: &list,
            rate: plan.rate,
        };
        let units = plan.units(dice, MAX_QUANTITY);
        let attributes = Plan::attributes(dice);
        let at = Plan::moment(dice);
        let class = class(dice);
        let context = PricingContext {
            attributes: &attributes,
            at,
        };
        let expected = half_up(&plan.exact(class, &units, &attributes, at));
        match quote(offer, class, &units, context) {
            Ok(quote) => {
                prop_assert_eq!(BigInt::from(quote.total.nanos()), expected);
                prop_assert!(!quote.total.is_negative());
                prop_assert_eq!(quote.lines.len(), units.iter().count());
                let parts = quote.lines.iter().map(|line| line.amount.nanos());
                prop_assert!(parts.clone().all(|part| part >= 0), "{:?}", quote);
                prop_assert_eq!(parts.sum::<i64>(), quote.total.nanos());
                for line in &quote.lines {
                    let alone =
                        amount_at(line, line.units, list.billing_unit(), plan.rate).unwrap();
                    let off = alone.nanos().abs_diff(line.amount.nanos());
                    prop_assert!(off <= 1, "{:?} is {} alone", line, alone);
                }
            }
            Err(QuoteError::Amount(_)) => prop_assert!(expected > BigInt::from(i64::MAX)),
            Err(other) => prop_assert!(false, "{}", other),
        }
        Ok(())
    });
}

// covers: D-2-08
#[test]
fn a_bound_is_at_least_the_charge_of_every_legal_usage() {
    holds(&any::<u64>(), |seed| {
        let dice = &mut Rng::new(seed);
        let plan = Plan::new(dice);
        let list = plan.raw_list(dice).check().unwrap();
        let offer = Offer {
            list: &list,
            rate: plan.rate,
        };
        let attributes = Plan::attributes(dice);
        let context = PricingContext {
            attributes: &attributes,
            at: Plan::moment(dice),
        };
        let class = class(dice);
        let units = plan.units(dice, MAX_QUANTITY / 10);
        let limits = limits_around(dice, &units);
        match bound(offer, class, &limits, context) {
            Ok(bound) => {
                let actual = quote(offer, class, &units, context).unwrap();
                prop_assert!(bound.total >= actual.total, "{:?} < {:?}", bound, actual);
                prop_assert!(!bound.total.is_negative());
                let parts = bound.lines.iter().map(|line| line.amount.nanos());
                prop_assert_eq!(parts.sum::<i64>(), bound.total.nanos());
            }
            // Beyond what a balance can hold: nothing can be reserved, so nothing can be used.
            Err(error) => prop_assert!(matches!(error, QuoteError::Amount(_)), "{}", error),
        }
        Ok(())
    });
}

#[test]
fn a_charge_and_a_bound_never_fall_when_a_quantity_grows() {
    holds(&any::<u64>(), |seed| {
        let dice = &mut Rng::new(seed);
        let plan = Plan::new(dice);
        let list = plan.raw_list(dice).check().unwrap();
        let offer = Offer {
            list: &list,
            rate: plan.rate,
        };
        let attributes = Plan::attributes(dice);
        let context = PricingContext {
            attributes: &attributes,
            at: Plan::moment(dice),
        };
        let class = class(dice);
        let units = plan.units(dice, 10_000_000);
        for face in plan.billed_faces() {
            let more = units
                .clone()
                .plus(face, 1 + dice.magnitude(1_000_000))
                .unwrap();
            let charges = (
                quote(offer, class, &units, context),
                quote(offer, class, &more, context),
            );
            if let (Ok(less), Ok(more)) = &charges {
                prop_assert!(
                    less.total <= more.total,
                    "{}: {:?} > {:?}",
                    face,
                    less,
                    more
                );
            }
            prop_assert!(
                charges.0.is_ok() || charges.1.is_err(),
                "more units cannot become payable"
            );
        }
        let less = limits_around(dice, &units);
        let more = Limits {
            input: less.input + dice.magnitude(1_000_000),
            output: less.output + dice.magnitude(1_000_000),
            calls: less.calls + dice.magnitude(1_000),
            video_seconds: less.video_seconds + dice.magnitude(1_000),
        };
        let bounds = (
            bound(offer, class, &less, context),
            bound(offer, class, &more, context),
        );
        if let (Ok(less), Ok(more)) = &bounds {
            prop_assert!(less.total <= more.total);
        }
        prop_assert!(bounds.0.is_ok() || bounds.1.is_err());
        Ok(())
    });
}

#[test]
fn no_quantity_and_no_time_makes_a_quote_panic() {
    holds(&any::<(u64, u64, i64)>(), |(seed, quantity, at)| {
        let dice = &mut Rng::new(seed);
        let plan = Plan::new(dice);
        let list = plan.raw_list(dice).check().unwrap();
        let offer = Offer {
            list: &list,
            rate: plan.rate,
        };
        let attributes = Plan::attributes(dice);
        let context = PricingContext {
            attributes: &attributes,
            at: trunkline_types::Timestamp::from_micros(at),
        };
        let limits = Limits {
            input: quantity,
            output: quantity,
            calls: quantity,
            video_seconds: quantity,
        };
        if let Ok(bound) = bound(offer, class(dice), &limits, context) {
            prop_assert!(!bound.total.is_negative());
        }
        for face in Face::ALL {
            let Ok(units) = Units::none().plus(face, quantity) else {
                prop_assert!(quantity > MAX_QUANTITY);
                continue;
            };
            if let Ok(quote) = quote(offer, class(dice), &units, context) {
                prop_assert!(!quote.total.is_negative());
            }
        }
        Ok(())
    });
}
