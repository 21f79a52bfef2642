//! Accounts with little money and limits of several kinds.

use trunkline_db::{SystemClock, Tx};
use trunkline_ledger::accounts::{self as ledger_accounts, AccountKind, Period, TopUp, Wallet};
use trunkline_store::accounts::NewAccount;
use trunkline_store::keys::NewKey;
use trunkline_store::{Policy, PolicyFields, accounts, keys};
use trunkline_testkit::random_bytes;
use trunkline_types::{AccountId, Clock as _, Money, RequestId, Shard};

use crate::random::Dice;
use crate::test_gateway::TestGateway;

/// What a payer has, and what bounds its call beside that.
#[derive(Debug, Clone, Copy)]
pub(super) struct Means {
    /// Money that was paid, and trial credit beside it.
    pub(super) paid: i64,
    pub(super) trial: i64,
    /// Of its key, for good.
    pub(super) cap: Option<i64>,
    /// Of its account, for a day.
    pub(super) daily: Option<i64>,
    pub(super) max_cost: Option<i64>,
    pub(super) locks_quote: bool,
}

impl Means {
    /// Money and nothing else.
    pub(super) const fn only(paid: i64) -> Self {
        Self {
            paid,
            trial: 0,
            cap: None,
            daily: None,
            max_cost: None,
            locks_quote: false,
        }
    }

    /// Amounts as they are drawn; a part of the money may be trial credit.
    pub(super) fn draw(dice: &mut Dice, percent: u64, amount: impl Fn(&mut Dice) -> i64) -> Self {
        let money = amount(dice);
        let trial = if dice.percent(20) {
            dice.below(money as u64) as i64
        } else {
            0
        };
        let mut limit = || dice.percent(percent).then(|| amount(dice));
        Self {
            paid: money - trial,
            trial,
            cap: limit(),
            daily: limit(),
            max_cost: limit(),
            locks_quote: dice.percent(30),
        }
    }

    /// All its money.
    pub(super) const fn money(&self) -> i64 {
        self.paid + self.trial
    }

    /// The most that a call may cost.
    pub(super) fn least(&self) -> i64 {
        self.least_of(self.money())
    }

    /// The same of a call that some of the money pays for.
    pub(super) fn least_of(&self, money: i64) -> i64 {
        let all = [Some(money), self.cap, self.daily, self.max_cost];
        all.into_iter().flatten().min().unwrap()
    }
}

/// An account of its own.
#[derive(Debug, Clone)]
pub(super) struct Payer {
    pub(super) account: AccountId,
    pub(super) key: String,
}

impl Payer {
    async fn new(tx: &mut Tx, means: Means) -> Self {
        let account = ledger_accounts::create_account(tx, AccountKind::Live);
        let account = account.await.unwrap();
        let new = NewAccount {
            id: account,
            name: "Ada",
            group: "default",
            allowed_groups: &[],
            shard: Shard::new(1).unwrap(),
        };
        accounts::create(tx, &new).await.unwrap();
        for (wallet, amount) in [(Wallet::Paid, means.paid), (Wallet::Trial, means.trial)] {
            if amount > 0 {
                let top_up = TopUp {
                    request: RequestId::new(SystemClock.now(), random_bytes()),
                    account,
                    wallet,
                    amount: Money::from_nanos(amount),
                    provider: "test".to_owned(),
                    event: format!("{} of {}", wallet.as_str(), account.number()),
                };
                ledger_accounts::top_up(tx, &top_up).await.unwrap();
            }
        }
        let new = NewKey {
            account,
            parent: None,
            name: "key",
            policy: Policy::new(PolicyFields::default()).unwrap(),
        };
        let made = keys::create(tx, &new, &random_bytes()).await.unwrap();
        let id = made.key.id;
        let known = ledger_accounts::register_key(tx, account, id, None).await;
        assert!(known.unwrap());
        if let Some(cap) = means.cap {
            let cap = Money::from_nanos(cap);
            let capped = ledger_accounts::cap_new_key(tx, account, id, cap).await;
            capped.unwrap();
        }
        if let Some(daily) = means.daily {
            let (daily, period) = (Some(Money::from_nanos(daily)), Period::Daily);
            let set = ledger_accounts::set_budget(tx, account, None, period, "UTC", daily);
            assert!(set.await.unwrap());
        }
        Self {
            account,
            key: made.plain.reveal().to_owned(),
        }
    }
}

/// One payer for each of the means, known to the gateway.
pub(super) async fn payers(
    harness: &TestGateway,
    means: impl Iterator<Item = Means>,
) -> Vec<Payer> {
    let mut tx = harness.console.begin().await.unwrap();
    let mut all = Vec::new();
    for means in means {
        all.push(Payer::new(&mut tx, means).await);
    }
    tx.commit().await.unwrap();
    harness.gateway.refresh().await.unwrap();
    all
}
