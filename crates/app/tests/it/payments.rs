//! Payments at the command line, with Stripe played by the simulator.

use std::sync::Arc;
use std::time::Duration;

use trunkline_db::{Database, Role};
use trunkline_keyring::SystemRandom;
use trunkline_payments::{Cents, Payments, StartCheckout, Stripe, StripeSettings};
use trunkline_simulator::{Settings, Simulator};
use trunkline_types::{AccountId, Secret};
use trunkline_upstream::Client;

use crate::admin_cli::AdminCli;

/// Writes the configuration of payments where the executable runs.
fn configure(cli: &AdminCli, simulator: &Simulator) {
    cli.write("stripe.key", "sk_test_1\n");
    cli.write("stripe.webhook", "whsec_1\n");
    let text = format!(
        "[payments]\nstripe_key_file = \"stripe.key\"\nstripe_webhook_secret_file = \"stripe.webhook\"\n\
         stripe_api = \"http://{}\"\n",
        simulator.address()
    );
    cli.write("trunkline.toml", &text);
}

/// A customer pays on Stripe's page, and no webhook arrives.
async fn pay(console: &Database, simulator: &Simulator, account: i64) {
    let settings = StripeSettings {
        api: format!("http://{}", simulator.address()),
        key: Secret::new("sk_test_1".to_owned()),
        webhook_secrets: Vec::new(),
    };
    let client = Client::new(Duration::from_secs(5)).unwrap();
    let stripe = Arc::new(Stripe::new(settings, client));
    let payments = Payments::new(stripe, Arc::new(SystemRandom));
    let start = StartCheckout {
        account: AccountId::new(account),
        amount: Cents::new(2_500).unwrap(),
        description: "credit",
        success_url: "https://x.example/done",
        cancel_url: "https://x.example/cancelled",
        saves_method: false,
    };
    let page = payments.start_checkout(console, &start).await.unwrap();
    let session = page.url.rsplit('/').next().unwrap();
    simulator.stripe().pay(session).unwrap();
}

// The executable and the simulator run at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_reconciles_lists_and_refunds_payments() {
    let cli = AdminCli::new().await;
    let unset = cli.refused(&["payment", "reconcile"]);
    assert!(unset.contains("payments.stripe_key_file"), "{unset}");
    assert!(
        cli.run(&["payment", "list"])
            .out
            .contains("No payment matches")
    );
    let simulator = Simulator::start(Settings::default()).await.unwrap();
    configure(&cli, &simulator);
    let nothing = cli.json(&["payment", "reconcile"]);
    assert_eq!(nothing["events"], 0);
    let account = cli.account("Acme");
    let console = cli.db.connect(Role::Console).await;
    pay(&console, &simulator, account).await;
    let listed = |state: &str| {
        let words = ["payment", "list", "--account", &account.to_string()];
        let view = cli.json(&words);
        let rows = view["payments"].as_array().unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0]["state"], state, "{view}");
        rows[0].clone()
    };
    listed("open");
    assert_eq!(cli.json(&["payment", "reconcile"])["missed"], 3);
    assert_eq!(cli.json(&["payment", "reconcile"])["missed"], 0);
    let row = listed("paid");
    assert!(row["receipt_url"].is_string());
    let id = row["id"].as_str().unwrap();
    let done = cli.json(&["payment", "refund", id, "--amount", "10"]);
    assert_eq!(done["refunded_usd"], "10");
    assert_eq!(listed("paid")["returned_usd"], "10");
    let more = cli.refused(&["payment", "refund", id, "--amount", "15.01"]);
    assert!(more.contains("15 USD of payment"), "{more}");
    // Its event was missed too, and changes nothing.
    assert_eq!(cli.json(&["payment", "reconcile"])["missed"], 1);
    assert_eq!(listed("paid")["returned_usd"], "10");
    let audit = cli.run_as(Role::Audit, &["audit"]);
    assert_eq!(audit.code, Some(0), "{audit:?}");
    simulator.stop().await;
}
