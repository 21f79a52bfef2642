//! Deliberate mistakes. A checker that never barks proves nothing, so each of these is put into the
//! model once, and the test fails if no seed notices it.

/// One mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    // In the transactions.
    SkipBalanceMove,
    SettleTwice,
    ChargeAboveHold,
    LostSettle,
    VoidAfterSettle,
    KeepHeldAfterVoid,
    NoUsageRow,
    RefundTwice,
    RefundMoreThanCharged,
    RefundOtherWallet,
    ForgetBudgetGiveBack,
    DoubleBudgetGiveBack,
    GiveBackToAPastDay,
    PassTheBudget,
    ExtendWithoutBudget,
    AcceptStaleEpoch,
    SkipHoldVoidOnRegister,
    SweepTasks,
    SweepInAnOldName,
    ForgetOverrun,
    // In the lane of a node.
    AnswerBeforeCommit,
    ForgetUnknownCommit,
    ForgetTheHeardSettle,
    TakeBackATaskCharge,
    SettleAgainAfterGivingUp,
    ReserveAgainAfterGivingUp,
    // In leases.
    ShipTwice,
    KeepTheRemainder,
    ReturnTheRemainderTwice,
    LateChargeInFull,
    ForgetTheJournal,
    CloseBeforeReplay,
    ReclaimTooEarly,
    DrawBeyondTheLease,
    DrawFromAPastDay,
}

/// Mistakes in the words, the lanes and the recovery.
pub(crate) const OF_THE_PROTOCOL: [Wrong; 26] = [
    Wrong::SkipBalanceMove,
    Wrong::SettleTwice,
    Wrong::ChargeAboveHold,
    Wrong::LostSettle,
    Wrong::VoidAfterSettle,
    Wrong::KeepHeldAfterVoid,
    Wrong::NoUsageRow,
    Wrong::RefundTwice,
    Wrong::RefundMoreThanCharged,
    Wrong::RefundOtherWallet,
    Wrong::ForgetBudgetGiveBack,
    Wrong::DoubleBudgetGiveBack,
    Wrong::GiveBackToAPastDay,
    Wrong::PassTheBudget,
    Wrong::ExtendWithoutBudget,
    Wrong::AcceptStaleEpoch,
    Wrong::SkipHoldVoidOnRegister,
    Wrong::SweepTasks,
    Wrong::SweepInAnOldName,
    Wrong::ForgetOverrun,
    Wrong::AnswerBeforeCommit,
    Wrong::ForgetUnknownCommit,
    Wrong::ForgetTheHeardSettle,
    Wrong::TakeBackATaskCharge,
    Wrong::SettleAgainAfterGivingUp,
    Wrong::ReserveAgainAfterGivingUp,
];

/// Mistakes that only a world with leases can make.
pub(crate) const OF_LEASES: [Wrong; 9] = [
    Wrong::ShipTwice,
    Wrong::KeepTheRemainder,
    Wrong::ReturnTheRemainderTwice,
    Wrong::LateChargeInFull,
    Wrong::ForgetTheJournal,
    Wrong::CloseBeforeReplay,
    Wrong::ReclaimTooEarly,
    Wrong::DrawBeyondTheLease,
    Wrong::DrawFromAPastDay,
];
