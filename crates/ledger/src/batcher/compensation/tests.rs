//! What is remembered, and what is undone at all.

use trunkline_types::Timestamp;

use super::*;

const ACCOUNT: AccountId = AccountId::new(1_000);

fn call() -> RequestId {
    RequestId::new(Timestamp::from_micros(1), [0; 10])
}

#[test]
fn refunds_are_remembered_beside_any_number_of_holds_and_are_bounded() {
    let mut compensations = CompensationQueue::default();
    for _ in 0..=MAX_COMPENSATIONS {
        compensations.push(void(call(), ACCOUNT, Outcome::Cancelled));
    }
    assert_eq!(compensations.0.len(), MAX_COMPENSATIONS);
    compensations.push(Op::Refund(Refund {
        request: call(),
        account: ACCOUNT,
        kind: RefundKind::Undelivered,
        amount: None,
    }));
    assert_eq!(compensations.0.len(), MAX_COMPENSATIONS + 1);
    assert_eq!(
        compensations.refunds().len(),
        1,
        "a charge that no other rule finds"
    );
}

#[test]
fn only_the_effect_of_the_unacknowledged_operation_is_undone() {
    let before = |charged| {
        Ok(Answer::Settle(SettleAnswer::Before {
            charged,
            paid: Money::ZERO,
            trial: Money::ZERO,
        }))
    };
    assert!(moved(&before(true), true), "it may have been this word");
    assert!(
        !moved(&before(true), false),
        "another word, and it was heard"
    );
    assert!(!moved(&before(false), true), "nothing was charged");
    assert!(!moved(&before(false), false));
    let held = ReserveAnswer::Held {
        paid: Money::ZERO,
        trial: Money::ZERO,
    };
    let done = SettleAnswer::Done {
        paid: Money::ZERO,
        trial: Money::ZERO,
    };
    for unsure in [false, true] {
        assert!(moved(&Ok(Answer::Reserve(held.clone())), unsure));
        assert!(moved(&Ok(Answer::Settle(done.clone())), unsure));
        for nothing in [
            Ok(Answer::Reserve(ReserveAnswer::AlreadyResolved)),
            Ok(Answer::Settle(SettleAnswer::NoHold)),
            Ok(Answer::WriteOff),
            Err(LedgerError::Unavailable),
        ] {
            assert!(!moved(&nothing, unsure), "{nothing:?}");
        }
    }
}
