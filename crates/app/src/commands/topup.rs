//! `trunkline topup`: a payment or trial credit, booked once.

use anyhow::{Context as _, bail};
use serde_json::json;
use trunkline_db::{Database, Tx};
use trunkline_ledger::accounts::{self, TopUp, TopUpAnswer, Wallet};
use trunkline_ledger::partitions;
use trunkline_types::{AccountId, RequestId};

use super::{account, action, database, format};
use crate::cli::TopUpArguments;
use crate::output::Output;
use crate::random;

/// Who says so, when a person types it.
const PROVIDER: &str = "manual";
/// Longest name of a payment.
const EVENT_MAX_CHARACTERS: usize = 200;

pub(super) async fn run(
    database: &Database,
    arguments: &TopUpArguments,
    output: &Output,
) -> anyhow::Result<()> {
    // Money moves into the partition of its day; the job that makes them may not be running here.
    partitions::ensure(database)
        .await
        .context("cannot create the ledger's partitions")?;
    let request = random::request(database::now(database).await?)?;
    let top_up = checked(arguments, request)?;
    let event = top_up.event.clone();
    let mut tx = database.begin().await?;
    let done = book(&mut tx, &top_up).await;
    let advice = format!("repeat it with --event {event}, which is booked at most once");
    let answer = database::finish(tx, done, &advice).await?;
    let (account, amount, wallet) = (top_up.account, top_up.amount, top_up.wallet.as_str());
    let now = match answer {
        TopUpAnswer::Done => true,
        TopUpAnswer::Before => false,
        TopUpAnswer::Different => bail!(
            "event {event} was booked before with another account, wallet or amount; nothing was done. \
             If this is another payment, give it another --event"
        ),
        TopUpAnswer::Refused => bail!(account::unknown(account)),
    };
    let balance = accounts::balance(database, account)
        .await?
        .with_context(|| account::unknown(account))?;
    let text = if now {
        format!("Booked {amount} USD into the {wallet} wallet of account {account}, event {event}.")
    } else {
        format!("Event {event} was already booked; nothing was changed.")
    };
    let object = json!({
        "ok": true,
        "account": account,
        "wallet": wallet,
        "amount_usd": format::usd(amount),
        "event": event,
        "booked_now": now,
        "balance": format::balance(&balance),
    });
    let held = format!("{} USD paid, {} USD trial", balance.paid, balance.trial);
    output.success(&format!("{text}\nIts wallets hold {held}."), &object);
    Ok(())
}

fn checked(arguments: &TopUpArguments, request: RequestId) -> anyhow::Result<TopUp> {
    let event = arguments
        .event
        .clone()
        .unwrap_or_else(|| request.to_string());
    let visible = event.chars().all(|c| !c.is_control() && !c.is_whitespace());
    if event.is_empty() || event.chars().count() > EVENT_MAX_CHARACTERS || !visible {
        bail!(
            "--event must have 1 to {EVENT_MAX_CHARACTERS} characters and no blanks, such as invoice-2026-117"
        );
    }
    Ok(TopUp {
        request,
        account: AccountId::new(arguments.id),
        wallet: if arguments.trial {
            Wallet::Trial
        } else {
            Wallet::Paid
        },
        amount: arguments.amount,
        provider: PROVIDER.to_owned(),
        event,
    })
}

async fn book(tx: &mut Tx, top_up: &TopUp) -> anyhow::Result<TopUpAnswer> {
    let answer = accounts::top_up(tx, top_up).await?;
    if answer == TopUpAnswer::Done {
        let subject = format!("event {} of customer {}", top_up.event, top_up.account);
        let after = json!({
            "wallet": top_up.wallet.as_str(), "amount_usd": top_up.amount.to_string(),
        });
        let new = action::of_account("top_up_customer", top_up.account, &subject, after);
        action::log(tx, &new).await?;
    }
    Ok(answer)
}
