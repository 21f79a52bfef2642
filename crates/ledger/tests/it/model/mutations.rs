//! Deliberate mistakes. A checker that never barks proves nothing, so each of these is put into the
//! model once, and the test fails if no seed notices it.

/// One mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutation {
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
    LoseThePartThatFits,
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
    // In packed holds.
    ReleaseAnUnwrittenHold,
    ExtendAfterTheEnd,
    ExtendAfterTheSweep,
    RepeatWithOthers,
    RepeatUnderAnotherSequence,
    ForgetTheAppliedBatch,
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
pub(crate) const OF_THE_PROTOCOL: [Mutation; 27] = [
    Mutation::SkipBalanceMove,
    Mutation::SettleTwice,
    Mutation::ChargeAboveHold,
    Mutation::LostSettle,
    Mutation::VoidAfterSettle,
    Mutation::KeepHeldAfterVoid,
    Mutation::NoUsageRow,
    Mutation::RefundTwice,
    Mutation::RefundMoreThanCharged,
    Mutation::RefundOtherWallet,
    Mutation::ForgetBudgetGiveBack,
    Mutation::DoubleBudgetGiveBack,
    Mutation::GiveBackToAPastDay,
    Mutation::PassTheBudget,
    Mutation::ExtendWithoutBudget,
    Mutation::LoseThePartThatFits,
    Mutation::AcceptStaleEpoch,
    Mutation::SkipHoldVoidOnRegister,
    Mutation::SweepTasks,
    Mutation::SweepInAnOldName,
    Mutation::ForgetOverrun,
    Mutation::AnswerBeforeCommit,
    Mutation::ForgetUnknownCommit,
    Mutation::ForgetTheHeardSettle,
    Mutation::TakeBackATaskCharge,
    Mutation::SettleAgainAfterGivingUp,
    Mutation::ReserveAgainAfterGivingUp,
];

/// Mistakes of a world whose requests have packed holds.
pub(crate) const OF_PACKED_HOLDS: [Mutation; 6] = [
    Mutation::ReleaseAnUnwrittenHold,
    Mutation::ExtendAfterTheEnd,
    Mutation::ExtendAfterTheSweep,
    Mutation::RepeatWithOthers,
    Mutation::RepeatUnderAnotherSequence,
    Mutation::ForgetTheAppliedBatch,
];

/// Mistakes that only a world with leases can make.
pub(crate) const OF_LEASES: [Mutation; 9] = [
    Mutation::ShipTwice,
    Mutation::KeepTheRemainder,
    Mutation::ReturnTheRemainderTwice,
    Mutation::LateChargeInFull,
    Mutation::ForgetTheJournal,
    Mutation::CloseBeforeReplay,
    Mutation::ReclaimTooEarly,
    Mutation::DrawBeyondTheLease,
    Mutation::DrawFromAPastDay,
];
