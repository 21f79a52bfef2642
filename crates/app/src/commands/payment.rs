//! `trunkline payment list | refund | reconcile`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use trunkline_db::Database;
use trunkline_keyring::SystemRandom;
use trunkline_ledger::partitions;
use trunkline_payments::{Cents, Payments, Reconciled, RefundAnswer, RefundRequest, Stripe};
use trunkline_store::payments::{self, Payment};
use trunkline_types::AccountId;
use trunkline_upstream::Client;

use super::{action, format};
use crate::cli::{PaymentCommand, RefundPayment};
use crate::config::Config;
use crate::output::Output;
use crate::{table, times};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn run(
    config: &Config,
    database: &Database,
    command: &PaymentCommand,
    output: &Output,
) -> anyhow::Result<()> {
    match command {
        PaymentCommand::List { account, limit } => list(database, *account, *limit, output).await,
        PaymentCommand::Refund(options) => {
            refund(&open(config, database).await?, database, options, output).await
        }
        PaymentCommand::Reconcile => {
            reconcile(&open(config, database).await?, database, output).await
        }
    }
}

/// The provider of the configuration.
async fn open(config: &Config, database: &Database) -> anyhow::Result<Payments> {
    let stripe = config.stripe.clone().context(
        "no payment provider is configured: set payments.stripe_key_file and \
         payments.stripe_webhook_secret_file",
    )?;
    // Money moves into the partition of its day; the job that makes them may not be running here.
    partitions::ensure(database)
        .await
        .context("cannot create the ledger's partitions")?;
    let client = Client::with_roots(CONNECT_TIMEOUT, &config.extra_roots)?;
    let stripe = Stripe::new(stripe, client);
    Ok(Payments::new(Arc::new(stripe), Arc::new(SystemRandom)))
}

async fn list(
    database: &Database,
    account: Option<i64>,
    limit: i64,
    output: &Output,
) -> anyhow::Result<()> {
    let mut session = database.session().await?;
    let found = payments::list(&mut session, account.map(AccountId::new), limit).await?;
    drop(session);
    let text = if found.is_empty() {
        "No payment matches.".to_owned()
    } else {
        let cells: Vec<Vec<String>> = found.iter().map(cells).collect();
        let heads = [
            "id",
            "account",
            "kind",
            "state",
            "usd",
            "returned",
            "provider id",
            "since",
        ];
        table::aligned(&heads, &[1, 4, 5], &cells)
    };
    let rows: Vec<Value> = found.iter().map(row).collect();
    output.success(&text, &json!({ "ok": true, "payments": rows }));
    Ok(())
}

async fn refund(
    payments: &Payments,
    database: &Database,
    options: &RefundPayment,
    output: &Output,
) -> anyhow::Result<()> {
    let amount = match options.amount {
        None => None,
        Some(amount) => Some(Cents::of(amount).context("--amount must be whole cents")?),
    };
    let request = RefundRequest {
        payment: options.id,
        amount,
    };
    let id = options.id;
    let answer = payments.refund(database, &request).await.with_context(|| {
        format!("the outcome of the refund of {id} may be unknown; it is safe to repeat this")
    })?;
    match answer {
        RefundAnswer::Done(amount) => {
            let subject = format!("payment {id}");
            let after = json!({ "refunded_usd": amount.to_string() });
            let new = action::action("refund_payment", &subject, after);
            let mut tx = database.begin().await?;
            let logged = action::log(&mut tx, &new).await;
            tx.finish(logged).await?;
            let text = format!("Refunded {amount} USD of payment {id}.");
            let object = json!({ "ok": true, "payment": id, "refunded_usd": format::usd(amount) });
            output.success(&text, &object);
            Ok(())
        }
        RefundAnswer::NotPaid => {
            bail!("there is no paid payment {id}; see `trunkline payment list`")
        }
        RefundAnswer::TooMuch(left) => {
            bail!("{left} USD of payment {id} are left to refund; nothing was done")
        }
        RefundAnswer::Spent(free) => {
            bail!("the account has {free} USD of paid credit free, which is less; nothing was done")
        }
    }
}

async fn reconcile(
    payments: &Payments,
    database: &Database,
    output: &Output,
) -> anyhow::Result<()> {
    let done = payments.reconcile(database, Duration::ZERO).await?;
    let Reconciled {
        events,
        missed,
        closed,
    } = done.unwrap_or_default();
    let text = format!(
        "Compared {events} events: {missed} were missed and are booked now; {closed} open payments were closed."
    );
    let object = json!({ "ok": true, "events": events, "missed": missed, "closed": closed });
    output.success(&text, &object);
    Ok(())
}

fn row(payment: &Payment) -> Value {
    json!({
        "id": payment.id,
        "account": payment.account,
        "provider": payment.provider,
        "provider_payment": payment.provider_payment,
        "kind": payment.kind.as_str(),
        "state": payment.state.as_str(),
        "amount_usd": format::usd(payment.amount),
        "returned_usd": format::usd(payment.taken),
        "receipt_url": payment.receipt_url,
        "failure": payment.failure,
        "created_at": times::rfc3339(payment.created_at),
        "paid_at": payment.paid_at.map(times::rfc3339),
    })
}

fn cells(payment: &Payment) -> Vec<String> {
    vec![
        payment.id.to_string(),
        payment.account.number().to_string(),
        payment.kind.as_str().to_owned(),
        payment.state.as_str().to_owned(),
        payment.amount.to_string(),
        payment.taken.to_string(),
        payment.provider_payment.clone().unwrap_or_default(),
        times::short(payment.created_at),
    ]
}
