//! A console that takes payments, its Stripe, and the webhook between them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use trunkline_keyring::SystemRandom;
use trunkline_ledger::accounts;
use trunkline_payments::{Payments, Stripe, StripeSettings};
use trunkline_simulator::{Settings, Simulator, StripeControl, StripeDeliveries, StripeWebhook};
use trunkline_store::people::Role;
use trunkline_types::{AccountId, Secret};
use trunkline_upstream::Client;

use crate::customer::harness::{Browser, CallSpec, CustomerConsole};

/// A cent in nano-dollars.
pub(crate) const CENT: i64 = 10_000_000;

pub(crate) struct Shop {
    pub(crate) harness: CustomerConsole,
    pub(crate) simulator: Simulator,
    pub(crate) payments: Payments,
    pub(crate) webhook: StripeWebhook,
    /// Events that were sent already.
    sent: usize,
    _stop: watch::Sender<bool>,
    _server: JoinSet<()>,
}

/// An organisation and a person who may pay.
pub(crate) struct Customer {
    pub(crate) account: AccountId,
    pub(crate) browser: Browser,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        let simulator = Simulator::start(Settings::default()).await.unwrap();
        let settings = StripeSettings {
            api: format!("http://{}", simulator.address()),
            key: Secret::new("sk_test_1".to_owned()),
            webhook_secrets: ["whsec_old", "whsec_new"]
                .map(|secret| Secret::new(secret.to_owned()))
                .to_vec(),
        };
        let client = Client::new(Duration::from_secs(5)).unwrap();
        let stripe = Arc::new(Stripe::new(settings, client));
        let payments = Payments::new(stripe, Arc::new(SystemRandom));
        let harness = CustomerConsole::with_payments(Some(payments.clone())).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = watch::channel(false);
        let mut server = JoinSet::new();
        server.spawn(harness.console.clone().serve(listener, stopped));
        Self {
            harness,
            simulator,
            payments,
            webhook: StripeWebhook {
                address: address.to_string(),
                path: "/webhooks/stripe".to_owned(),
                secret: "whsec_new".to_owned(),
            },
            sent: 0,
            _stop: stop,
            _server: server,
        }
    }

    pub(crate) fn stripe(&self) -> StripeControl {
        self.simulator.stripe()
    }

    pub(crate) async fn customer(&self, name: &str) -> Customer {
        let account = self.harness.firm(name, 0, 0).await;
        let browser = self.harness.member(account, Role::Owner).await;
        Customer { account, browser }
    }

    /// Starts a payment and returns the page's id.
    pub(crate) async fn checkout(&self, customer: &Customer, usd: &str, saves: bool) -> String {
        let body = json!({ "amount_usd": usd, "save_method": saves });
        let got = self
            .harness
            .post(&customer.browser, "/api/payments/checkout", body)
            .await;
        assert_eq!(got.status.as_u16(), 201, "{got:?}");
        let url = got.json()["url"].as_str().unwrap().to_owned();
        url.rsplit('/').next().unwrap().to_owned()
    }

    /// A payment from the button to the wallet. Returns the payment intent.
    pub(crate) async fn pay(&mut self, customer: &Customer, usd: &str, saves: bool) -> String {
        let page = self.checkout(customer, usd, saves).await;
        let intent = self.stripe().pay(&page).unwrap();
        self.deliver().await;
        intent
    }

    /// Sends what has happened at Stripe since the last time, faithfully.
    pub(crate) async fn deliver(&mut self) {
        let events = self.stripe().events();
        let fresh = &events[self.sent..];
        let sent = self.webhook.send(fresh, StripeDeliveries::faithful()).await;
        let (statuses, _) = sent.unwrap();
        assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
        self.sent = events.len();
    }

    /// Spends cents of an account.
    pub(crate) async fn spend(&self, customer: &Customer, cents: i64) {
        let spec = CallSpec {
            nanos: cents * CENT,
            ..CallSpec::default()
        };
        self.harness.call(customer.account, spec).await;
    }

    /// Cents of the paid wallet.
    pub(crate) async fn balance(&self, customer: &Customer) -> i64 {
        let balance = accounts::balance(&self.harness.people, customer.account).await;
        let nanos = balance.unwrap().unwrap().paid.nanos();
        assert_eq!(nanos % CENT, 0);
        nanos / CENT
    }

    pub(crate) async fn listed(&self, customer: &Customer) -> Vec<Value> {
        let view = self.harness.read(&customer.browser, "/api/payments").await;
        view["payments"].as_array().unwrap().clone()
    }

    pub(crate) async fn is_suspended(&self, customer: &Customer) -> bool {
        let mut session = self.harness.people.session().await.unwrap();
        let found = trunkline_store::accounts::find(&mut session, customer.account).await;
        found.unwrap().unwrap().suspended_at.is_some()
    }
}
