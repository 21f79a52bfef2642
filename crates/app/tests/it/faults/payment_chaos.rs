//! Events of Stripe in random order, with repeats, losses and forgeries, while the process that serves the console
//! and its PostgreSQL are killed. `just payment-chaos` runs the long form.

mod books;
mod deliveries;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::Instant;
use trunkline_keyring::SystemRandom;
use trunkline_payments::{
    Cents, PaymentError, Payments, Reconciled, StartCheckout, Stripe, StripeSettings,
};
use trunkline_simulator::StripeWebhook;
use trunkline_testkit::random_bytes;
use trunkline_types::Secret;
use trunkline_upstream::Client;

use crate::faults::process_harness::{ProcessHarness, account, free_address};
use crate::faults::{draw, number};
use books::Buyer;
use deliveries::{Delivered, Sender};

const EVENTS: &str = "TRUNKLINE_PAYMENT_CHAOS_EVENTS";
const SHORT_EVENTS: u64 = 300;
/// Connections on which events are sent at once.
const SENDERS: usize = 6;
const LONGEST_WAVE: Duration = Duration::from_secs(120);
const KEY: &str = "sk_test_1";
const WEBHOOK_SECRET: &str = "whsec_1";

struct Shop {
    harness: ProcessHarness,
    payments: Payments,
    webhook: StripeWebhook,
    buyers: Vec<Buyer>,
    dice: u64,
    /// Events that were sent in earlier waves.
    sent: usize,
    /// What people have done at Stripe, as events.
    happened: usize,
    expired: usize,
}

impl Shop {
    async fn open(seed: u64, buyers: usize) -> Self {
        let mut harness = ProcessHarness::furnished_with(&[]).await;
        let api = format!("http://{}", harness.simulator.address());
        let console = free_address().to_string();
        let folder = harness.folder.path();
        std::fs::write(folder.join("stripe.key"), KEY).unwrap();
        std::fs::write(folder.join("stripe.webhook"), WEBHOOK_SECRET).unwrap();
        let people = harness.postgres.direct_url(trunkline_db::Role::Console);
        let set = [
            ("TRUNKLINE__CONSOLE__LISTEN", console.clone()),
            (
                "TRUNKLINE__CONSOLE__DATABASE_URL",
                people.reveal().to_owned(),
            ),
            (
                "TRUNKLINE__PAYMENTS__STRIPE_KEY_FILE",
                "stripe.key".to_owned(),
            ),
            (
                "TRUNKLINE__PAYMENTS__STRIPE_WEBHOOK_SECRET_FILE",
                "stripe.webhook".to_owned(),
            ),
            ("TRUNKLINE__PAYMENTS__STRIPE_API", api.clone()),
        ];
        for (name, value) in set {
            harness.set_variable(name, value);
        }
        harness.roles = "edge,console";
        harness.start_gateway().await;
        let settings = StripeSettings {
            api,
            key: Secret::new(KEY.to_owned()),
            webhook_secrets: Vec::new(),
        };
        let client = Client::new(Duration::from_secs(5)).unwrap();
        let stripe = Arc::new(Stripe::new(settings, client));
        let mut shop = Self {
            payments: Payments::new(stripe, Arc::new(SystemRandom)),
            webhook: StripeWebhook {
                address: console,
                path: "/webhooks/stripe".to_owned(),
                secret: WEBHOOK_SECRET.to_owned(),
            },
            harness,
            buyers: Vec::new(),
            dice: seed,
            sent: 0,
            happened: 0,
            expired: 0,
        };
        for _ in 0..buyers {
            let account = account(&shop.harness.console, books::FIRST_CENTS * books::CENT).await;
            shop.buyers.push(Buyer::new(account));
        }
        shop
    }

    fn draw(&mut self, below: usize) -> usize {
        draw(&mut self.dice, below)
    }

    fn one_in(&mut self, chance: usize) -> bool {
        self.draw(chance) == 0
    }

    /// People pay, and the operator and banks take back, until there are so many events. None is delivered yet.
    async fn play(&mut self, events: usize) {
        while self.happened < events {
            let buyer = self.draw(self.buyers.len());
            let amount = 500 + i64::try_from(self.draw(20_000)).unwrap();
            let page = self.checkout(buyer, amount).await;
            let stripe = self.harness.simulator.stripe();
            if self.one_in(14) {
                assert!(stripe.expire(&page));
                self.happened += 1;
                self.expired += 1;
                continue;
            }
            let intent = stripe.pay(&page).unwrap();
            self.happened += 3;
            let due = self.take_back(&intent, amount);
            self.buyers[buyer].paid(amount, due);
        }
    }

    async fn checkout(&mut self, buyer: usize, amount: i64) -> String {
        let start = StartCheckout {
            account: self.buyers[buyer].account,
            amount: Cents::new(amount).unwrap(),
            description: "credit",
            success_url: "https://x.example/done",
            cancel_url: "https://x.example/cancelled",
            saves_method: self.one_in(5),
        };
        let console = &self.harness.console;
        let page = self.payments.start_checkout(console, &start).await.unwrap();
        page.url.rsplit('/').next().unwrap().to_owned()
    }

    /// Refunds and disputes of one payment. Returns the cents that are due of it in the end.
    fn take_back(&mut self, intent: &str, amount: i64) -> i64 {
        let stripe = self.harness.simulator.stripe();
        let mut refunded = 0;
        while self.one_in(3) && refunded + 100 <= amount {
            let size = if self.one_in(4) {
                amount - refunded
            } else {
                100
            };
            assert!(stripe.refund(intent, Some(size)));
            refunded += size;
            self.happened += 1;
        }
        if !self.one_in(4) {
            return refunded;
        }
        let dispute = stripe.dispute(intent, amount).unwrap();
        self.happened += 1;
        let end = self.draw(3);
        if end > 0 {
            assert!(stripe.close_dispute(&dispute, end == 1));
            self.happened += 1;
        }
        // One that was won gives back what it took.
        if end == 1 { refunded } else { amount }
    }

    /// The events of a wave and some of earlier ones again, each on one of several connections, in random order.
    fn parcels(&mut self) -> Vec<Vec<Value>> {
        let all = self.harness.simulator.stripe().events();
        assert_eq!(all.len(), self.happened);
        let mut events = all[self.sent..].to_vec();
        if self.sent > 0 {
            for _ in 0..events.len() / 10 {
                events.push(all[self.draw(self.sent)].clone());
            }
        }
        self.sent = all.len();
        for index in (1..events.len()).rev() {
            let other = self.draw(index + 1);
            events.swap(index, other);
        }
        let size = events.len().div_ceil(SENDERS);
        events.chunks(size).map(<[Value]>::to_vec).collect()
    }

    /// Sends what happened while the process and the database are killed once each.
    async fn wave(&mut self, reconciles: bool) -> Delivered {
        let parcels = self.parcels();
        let count: usize = parcels.iter().map(Vec::len).sum();
        let done = Arc::new(AtomicU64::new(0));
        let mut running = JoinSet::new();
        for events in parcels {
            let seed = u64::try_from(self.draw(usize::MAX)).unwrap();
            let sender = Sender::new(self.webhook.clone(), seed, Arc::clone(&done));
            running.spawn(sender.send(events));
        }
        let mut job = JoinSet::new();
        if reconciles {
            let (payments, console) = (self.payments.clone(), self.harness.console.clone());
            // The database may be killed beneath it, and what it has not found then is found later.
            job.spawn(async move { payments.reconcile(&console, Duration::ZERO).await });
        }
        let began = Instant::now();
        let is_sent = async |share: usize| {
            while done.load(Ordering::SeqCst) < u64::try_from(count * share / 3).unwrap() {
                assert!(
                    began.elapsed() < LONGEST_WAVE,
                    "events are not acknowledged"
                );
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        is_sent(1).await;
        self.harness.kill_gateway().await;
        self.harness.start_gateway().await;
        is_sent(2).await;
        self.harness.postgres.kill_9_postmaster();
        self.harness.postgres.start();
        let sent = running.join_all().await;
        let mut delivered = sent.into_iter().fold(Delivered::default(), Delivered::plus);
        for found in job.join_all().await.into_iter().flatten().flatten() {
            delivered.missed += found.missed;
        }
        delivered
    }

    /// The daily job, until it has come to its end.
    async fn reconcile(&self) -> Reconciled {
        let mut last: Option<PaymentError> = None;
        for _ in 0..100 {
            let console = &self.harness.console;
            match self.payments.reconcile(console, Duration::ZERO).await {
                Ok(found) => return found.expect("it is due"),
                Err(error) => last = Some(error),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("payments are not reconciled: {last:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_consoles_and_databases_book_every_payment_once_and_no_forged_one() {
    let events = usize::try_from(number(EVENTS, SHORT_EVENTS)).unwrap();
    let waves = if events > 1_000 { events / 250 } else { 3 };
    let seed = u64::from_le_bytes(random_bytes());
    println!("seed {seed}");
    let mut shop = Shop::open(seed, (events / 60).clamp(4, 64)).await;
    let mut delivered = Delivered::default();
    for wave in 1..=waves {
        shop.play(events * wave / waves).await;
        delivered = delivered.plus(shop.wave(wave % 4 == 2).await);
        shop.spend().await;
    }
    let faults = 2 * waves;
    let found = shop.reconcile().await;
    delivered.missed += found.missed;
    println!("{} events, {faults} kills: {delivered:?}", shop.happened);
    assert!(shop.happened >= events);
    assert_eq!(found.events, u64::try_from(shop.happened).unwrap());
    assert!(delivered.lost > 0 && delivered.missed > 0, "{delivered:?}");
    assert!(delivered.forged > 0, "{delivered:?}");
    assert!(
        delivered.failed > 0,
        "no delivery met a kill: {delivered:?}"
    );
    let second = shop.reconcile().await;
    let nothing = Reconciled {
        events: found.events,
        ..Reconciled::default()
    };
    assert_eq!(second, nothing, "reconciliation finds nothing");
    shop.events_are_stripes().await;
    shop.payments_are_booked_once().await;
    shop.balances_are_right().await;
    shop.harness.audit().await;
    println!("figures: requests={} faults={faults}", delivered.messages);
}
