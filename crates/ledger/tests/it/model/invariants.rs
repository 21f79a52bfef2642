//! What must be true in every world: after every step what is cheap, every few steps the whole
//! ledger, and at the end what every client was told. The same sentences as the audit's views
//! (`migrations/*_audit.sql`), plus those that need to know what clients heard.

use trunkline_ledger::admission::WalletSplit;
use trunkline_ledger::{Outcome, WriteOffReason};

use crate::model::calls::{Actor, CallState};
use crate::model::leases::{End, NodeLeases};
use crate::model::store::Store;
use crate::model::tables::{
    ACCOUNTS, CALLS, Call, Hold, HoldState, LeaseState, Life, NodeEpoch, Owner, Transfer,
    TransferKind, UsageRow, end_of, id_of, party,
};

/// Looks at a store again and again, and remembers what may never change.
#[derive(Debug)]
pub(crate) struct Checker {
    /// Holds as they were when they were first seen resolved.
    resolved: [Option<Hold>; CALLS],
    seen_serial: u32,
    seen_transfers: usize,
    seen_usages: usize,
}

/// What the transfers say of one call, by leg.
#[derive(Debug, Clone, Copy, Default)]
struct Moved {
    charges: [i64; 2],
    charge_rows: [usize; 2],
    backs: [i64; 2],
    /// By leg and kind.
    back_rows: [[usize; 3]; 2],
    usage_rows: usize,
    usage: Option<UsageRow>,
}

type Found = Result<(), String>;

// === impl Checker ===

impl Checker {
    pub(crate) fn new() -> Self {
        Self {
            resolved: [None; CALLS],
            seen_serial: 0,
            seen_transfers: 0,
            seen_usages: 0,
        }
    }

    /// After every step: no node has promised more than there is.
    pub(crate) fn quick(&mut self, store: &Store) -> Found {
        if let Some(alarm) = store.alarm {
            return Err(alarm.to_owned());
        }
        if store.serial == self.seen_serial {
            return Ok(());
        }
        self.seen_serial = store.serial;
        for (id, balances) in &store.standing.balances {
            let sound = balances.paid_held >= 0
                && balances.trial_held >= 0
                && balances.paid_posted >= balances.paid_held
                && balances.trial_posted >= balances.trial_held;
            if !sound {
                return Err(format!(
                    "account {id} has promised more than it has: {balances:?}"
                ));
            }
        }
        for (id, window) in &store.standing.windows {
            if window.used < 0 || window.used > window.limit {
                return Err(format!("budget {id:?} is used beyond its ends: {window:?}"));
            }
        }
        Ok(())
    }

    /// The whole ledger.
    pub(crate) fn full(&mut self, store: &Store, calls: &[CallState; CALLS]) -> Found {
        self.seen_serial = 0;
        self.quick(store)?;
        let mut moved = [Moved::default(); CALLS];
        gather(store, &mut moved)?;
        balances(store)?;
        budgets(store)?;
        for call in 0..CALLS {
            self.hold(store, call, &moved[call])?;
            if !store.dropped[call] {
                answered(store, &calls[call], call, &moved[call])?;
            }
        }
        self.old_names(store)
    }

    /// One hold, its usage row and its transfers belong together.
    fn hold(&mut self, store: &Store, call: Call, moved: &Moved) -> Found {
        let Some(hold) = store.holds[call] else {
            return no(
                moved.usage_rows + moved.charge_rows[0] + moved.charge_rows[1] > 0,
                || format!("call {call} has no hold and was charged all the same: {moved:?}"),
            );
        };
        let wrong = |what: &str| Err(format!("call {call}: {what}: {hold:?} {moved:?}"));
        if let Some(before) = self.resolved[call] {
            if before != hold {
                return wrong("a resolved hold has changed");
            }
        } else if hold.state != HoldState::Open {
            self.resolved[call] = Some(hold);
        }
        let expected_rows = usize::from(hold.state != HoldState::Open);
        if moved.usage_rows != expected_rows {
            return wrong("a hold has one usage row if it is resolved, and none before");
        }
        let usage = moved
            .usage
            .map_or(WalletSplit::default(), |usage| usage.legs);
        if moved.charges != [usage.paid, usage.trial] {
            return wrong("the charge is not the amount of the usage row");
        }
        if hold.state != HoldState::Settled && usage != WalletSplit::default() {
            return wrong("only a settled hold is charged");
        }
        if usage.paid > hold.legs.paid || usage.trial > hold.legs.trial {
            return wrong("the charge is above the hold");
        }
        for leg in 0..2 {
            if moved.charge_rows[leg] > 1 || moved.back_rows[leg].iter().any(|rows| *rows > 1) {
                return wrong("a leg was moved twice");
            }
            if moved.backs[leg] > moved.charges[leg] {
                return wrong("more was given back to a wallet than it had paid");
            }
        }
        let in_office = store.nodes[hold.author.node].epoch == hold.author.epoch;
        let task = hold.owner == Owner::Task;
        if hold.state == HoldState::Open && !task && !in_office {
            return wrong("an open hold belongs to a life that is over");
        }
        let late_day =
            |&id| hold.opened_at >= end_of(id) || (id.1 != i64::MIN && hold.opened_at < id.1);
        if hold.stretches.as_slice().iter().any(late_day) {
            return wrong("it counts in a stretch that it was not made in");
        }
        if hold.version != hold.version_then {
            return wrong("it counts in budgets that its key no longer had");
        }
        if let Some(row) = moved.usage {
            let swept = matches!(row.outcome, Outcome::Interrupted | Outcome::Expired);
            if swept && task {
                return wrong("a task was swept");
            }
            if row.requested != row.legs.total() + uncharged(store, call) {
                return wrong("what was used and not charged is not written off");
            }
        }
        Ok(())
    }

    /// Nothing is written in the name of a life that is over. Looks at new rows only.
    fn old_names(&mut self, store: &Store) -> Found {
        let over = |author: NodeEpoch, serial: u32| {
            let next = |life: &&Life| {
                life.author.node == author.node && life.author.epoch == author.epoch + 1
            };
            let next = store.lives.iter().find(next);
            next.is_some_and(|next| next.serial < serial)
        };
        let usages = &store.usages[self.seen_usages..];
        let transfers = &store.transfers[self.seen_transfers..];
        let in_usages = usages.iter().find(|row| over(row.author, row.serial));
        let in_transfers = transfers
            .iter()
            .find(|row| row.author.is_some_and(|author| over(author, row.serial)));
        let holds = store.holds.iter().flatten();
        let in_holds = holds.into_iter().find(|row| over(row.author, row.serial));
        self.seen_usages = store.usages.len();
        self.seen_transfers = store.transfers.len();
        no(
            in_usages.is_some() || in_transfers.is_some() || in_holds.is_some(),
            || format!("written in an old name: {in_usages:?} {in_transfers:?} {in_holds:?}"),
        )
    }

    /// A node's view of its leases and the store's are one.
    pub(crate) fn leases(&self, store: &Store, author: NodeEpoch, leases: &NodeLeases) -> Found {
        for local in &leases.memory.leases {
            let row = store.leases.iter().find(|lease| lease.id == local.id);
            let Some(row) = row.filter(|row| row.state == LeaseState::Active) else {
                continue;
            };
            let unshipped: i64 = (leases.disk.journal.iter())
                .filter(|record| record.lease == local.id)
                .filter(|record| store.usage_of(record.call).is_none())
                .map(|record| match record.end {
                    End::Settled(price) => price.min(record.held.total()),
                    End::Begun | End::Voided(_) => 0,
                })
                .sum();
            let balances = local.slice.balances.get(&id_of(row.account));
            let here = balances.map_or(0, |balances| balances.paid_posted + balances.trial_posted);
            if here + unshipped != row.left.total() || row.left.paid < 0 || row.left.trial < 0 {
                return Err(format!(
                    "{author:?} and the store disagree on {row:?}: {here} here, {unshipped} on the way"
                ));
            }
        }
        Ok(())
    }

    /// No node works on money that was taken back without its knowledge.
    pub(crate) fn workers(&self, store: &Store, actors: &[Actor]) -> Found {
        for actor in actors.iter().filter(|actor| actor.works()) {
            let usage = store.usage_of(actor.call);
            let cancelled = usage.is_some_and(|row| row.outcome == Outcome::Cancelled);
            no(cancelled, || {
                format!("{actor:?} works on a hold that its own node has taken back")
            })?;
        }
        Ok(())
    }

    /// After the faults have stopped: every client got what was reported. Returns how many calls fell
    /// into the one window that is left: a process told its client "not charged" and ended before it
    /// could take the charge back. Then the charge stands, once, as for any call whose process dies
    /// between its settlement and its last byte.
    pub(crate) fn end(&self, store: &Store, calls: &[CallState; CALLS]) -> Result<u32, String> {
        let mut in_the_window = 0;
        let mut moved = [Moved::default(); CALLS];
        gather(store, &mut moved)?;
        let kept = calls.iter().enumerate();
        for (call, state) in kept.filter(|(call, _)| !store.dropped[*call]) {
            let rows = &moved[call];
            let net: i64 = rows.charges.iter().sum::<i64>() - rows.backs.iter().sum::<i64>();
            let told_free = state.told_unavailable && net != 0;
            in_the_window += u32::from(told_free && state.doubtful);
            no(told_free && !state.doubtful, || {
                format!("call {call} was told that it costs nothing, and paid {net}: {rows:?}")
            })?;
            no(state.told_ok.is_some() && rows.usage_rows == 0, || {
                format!("call {call} was told that it was charged, and was not: {state:?}")
            })?;
        }
        let open = |hold: &&Hold| hold.state == HoldState::Open;
        let pending = store.holds.iter().flatten().find(open);
        no(pending.is_some(), || format!("still pending: {pending:?}"))?;
        let leases = store.leases.iter();
        let leased = leases
            .into_iter()
            .find(|lease| lease.state == LeaseState::Active);
        no(leased.is_some(), || format!("still leased: {leased:?}"))?;
        Ok(in_the_window)
    }
}

/// Reads transfers and usage rows once, and checks what each transfer says by itself.
fn gather(store: &Store, moved: &mut [Moved; CALLS]) -> Found {
    for row in store.usages.iter().filter(|row| !store.dropped[row.call]) {
        moved[row.call].usage_rows += 1;
        moved[row.call].usage = Some(*row);
    }
    for row in &store.transfers {
        let Some(call) = row.call.filter(|call| !store.dropped[*call]) else {
            continue;
        };
        let Some(hold) = store.holds[call] else {
            return Err(format!("a transfer of no known call: {row:?}"));
        };
        let wallet = party(hold.account, row.leg);
        let rows = &mut moved[call];
        let ours = match row.kind {
            TransferKind::Charge => {
                rows.charges[row.leg] += row.amount;
                rows.charge_rows[row.leg] += 1;
                row.debit == wallet
            }
            TransferKind::Back(kind) => {
                rows.backs[row.leg] += row.amount;
                rows.back_rows[row.leg][kind as usize] += 1;
                row.credit == wallet
            }
            TransferKind::TopUp | TransferKind::DayTotal => false,
        };
        no(!ours || row.amount <= 0, || {
            format!("a transfer between strangers: {row:?}")
        })?;
    }
    Ok(())
}

/// Every wallet holds the sum of its transfers, what is held of it is the sum of its open holds and
/// leases, and all wallets and all of ours together are zero.
fn balances(store: &Store) -> Found {
    let mut posted = [[0_i64; 2]; ACCOUNTS];
    let mut others = 0;
    // A charge is the usage row, which goes with its day.
    let gone = |row: &&Transfer| {
        row.kind == TransferKind::Charge && row.call.is_some_and(|call| store.dropped[call])
    };
    for row in store.transfers.iter().filter(|row| !gone(row)) {
        for (side, sign) in [(row.credit, 1), (row.debit, -1)] {
            if side < 0 {
                others += sign * row.amount;
            } else {
                posted[side as usize / 2][side as usize % 2] += sign * row.amount;
            }
        }
    }
    let mut held = [[0_i64; 2]; ACCOUNTS];
    for hold in store.holds.iter().flatten() {
        if hold.state == HoldState::Open {
            held[hold.account][0] += hold.legs.paid;
            held[hold.account][1] += hold.legs.trial;
        }
    }
    for lease in &store.leases {
        if lease.state == LeaseState::Active {
            held[lease.account][0] += lease.left.paid;
            held[lease.account][1] += lease.left.trial;
        }
    }
    let mut own = 0;
    for (account, balances) in store.standing.balances.values().enumerate() {
        own += balances.paid_posted + balances.trial_posted;
        no(
            posted[account] != [balances.paid_posted, balances.trial_posted],
            || format!("account {account} is not its transfers {posted:?}: {balances:?}"),
        )?;
        no(
            held[account] != [balances.paid_held, balances.trial_held],
            || format!("account {account} does not hold its holds {held:?}: {balances:?}"),
        )?;
    }
    no(own + others != 0, || {
        format!("the books do not balance: {own} and {others}")
    })
}

/// What a stretch has used is its open holds, its leases and its charges, less what went back in time.
fn budgets(store: &Store) -> Found {
    for (id, window) in &store.standing.windows {
        let mut used = store.dropped_of.get(id).copied().unwrap_or_default();
        for hold in store.holds.iter().flatten() {
            if hold.state == HoldState::Open && hold.stretches.as_slice().contains(id) {
                used += hold.legs.total();
            }
        }
        for lease in &store.leases {
            if lease.state == LeaseState::Active && lease.stretches.as_slice().contains(id) {
                used += lease.left.total();
            }
        }
        for row in &store.transfers {
            used += counted(store, row, *id);
        }
        no(used != window.used, || {
            format!("budget {id:?} is not its calls, {used}: {window:?}")
        })?;
    }
    Ok(())
}

/// What a transfer counts in a stretch.
fn counted(store: &Store, row: &Transfer, stretch: (i64, i64)) -> i64 {
    let hold = row.call.and_then(|call| store.holds[call]);
    if !hold.is_some_and(|hold| hold.stretches.as_slice().contains(&stretch)) {
        return 0;
    }
    match row.kind {
        TransferKind::Charge => row.amount,
        TransferKind::Back(_) if row.at < end_of(stretch) => -row.amount,
        TransferKind::Back(_) | TransferKind::TopUp | TransferKind::DayTotal => 0,
    }
}

/// A client that was told an amount was charged exactly that, once, and keeps paying it unless
/// a caller asked for it back.
fn answered(store: &Store, state: &CallState, call: Call, rows: &Moved) -> Found {
    let Some(legs) = state.told_ok else {
        return Ok(());
    };
    let Some(usage) = rows.usage else {
        // A leased call is in the journal first.
        return no(!state.leased, || {
            format!("call {call} was told {legs:?} and nothing is written")
        });
    };
    let exact = rows.charges == [legs.paid, legs.trial];
    let written_off = usage.requested == rows.charges.iter().sum::<i64>() + uncharged(store, call);
    no(!(exact || usage.late && written_off), || {
        format!("call {call} was told {legs:?} and was charged {rows:?}")
    })?;
    let back: i64 = rows.backs.iter().sum();
    no(back > 0 && !state.refund_asked, || {
        format!("call {call} was told {legs:?}, and {back} went back without a request")
    })
}

/// What was written off because it could not be charged.
fn uncharged(store: &Store, call: Call) -> i64 {
    let losses = store.losses.iter().filter(|loss| loss.call == call);
    let uncharged = losses.filter(|loss| {
        matches!(
            loss.reason,
            WriteOffReason::Overrun | WriteOffReason::LateResult
        )
    });
    uncharged.filter_map(|loss| loss.sale).sum()
}

fn no(broken: bool, sentence: impl FnOnce() -> String) -> Found {
    if broken { Err(sentence()) } else { Ok(()) }
}
