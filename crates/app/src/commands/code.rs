//! `trunkline code create | list | revoke`. A code itself is printed by `create` and by nothing else.

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use trunkline_db::{Database, Tx};
use trunkline_store::redemption_codes::{self, Code, NewCode, RedemptionCode, Wallet};
use trunkline_types::{Timestamp, uuid_v7};
use uuid::Uuid;

use super::{action, database, format};
use crate::cli::{CreateCodes, Expiry, RevokeCodes, WalletWord};
use crate::output::Output;
use crate::{random, table, times};

const DAY_SECONDS: i64 = 86_400;
/// Who made a code that was made here.
const MADE_BY: &str = "command line";

/// Makes codes and prints them, this once.
pub(super) async fn create(
    database: &Database,
    options: &CreateCodes,
    output: &Output,
) -> anyhow::Result<()> {
    let now = database::now(database).await?;
    let batch = match &options.batch {
        Some(batch) => batch.clone(),
        None => format!("{}-{:08x}", date(now), u32::from_be_bytes(random::bytes()?)),
    };
    redemption_codes::check_batch(&batch)?;
    let texts: Result<Vec<(Uuid, RedemptionCode)>, _> = (0..options.count)
        .map(|_| {
            let text = RedemptionCode::new(&random::bytes()?);
            Ok::<_, anyhow::Error>((uuid_v7(now, random::bytes()?), text))
        })
        .collect();
    let texts = texts?;
    let mut tx = database.begin().await?;
    let done = write(&mut tx, options, &batch, &texts, now).await;
    let advice =
        format!("revoke them with `trunkline code revoke --batch {batch}` and create others");
    database::finish(tx, done, &advice).await?;
    let (amount, wallet) = (options.amount, wallet(options.wallet).as_str());
    let lines: Vec<String> = texts
        .iter()
        .map(|(_, text)| format!("  {}", text.reveal()))
        .collect();
    let text = format!(
        "{} codes worth {amount} USD each ({wallet} wallet), batch {batch}:\n\n{}\n\n\
         This is the only time they are shown: only hashes of them are kept.",
        texts.len(),
        lines.join("\n")
    );
    let codes: Vec<Value> = texts
        .iter()
        .map(|(id, text)| json!({ "id": id, "code": text.reveal(), "hint": text.hint() }))
        .collect();
    let object = json!({
        "ok": true,
        "batch": batch,
        "amount_usd": format::usd(amount),
        "wallet": wallet,
        "codes": codes,
    });
    output.success(&text, &object);
    Ok(())
}

async fn write(
    tx: &mut Tx,
    options: &CreateCodes,
    batch: &str,
    texts: &[(Uuid, RedemptionCode)],
    now: Timestamp,
) -> anyhow::Result<()> {
    let expires_at = options.expires.map(|expiry| match expiry {
        Expiry::Days(days) => now.plus_seconds(i64::from(days).saturating_mul(DAY_SECONDS)),
        Expiry::At(moment) => moment,
    });
    if expires_at.is_some_and(|at| at <= now) {
        bail!("--expires is in the past");
    }
    for (id, text) in texts {
        let new = NewCode {
            id: *id,
            text,
            batch,
            amount: options.amount,
            wallet: wallet(options.wallet),
            made_by: MADE_BY,
            expires_at,
        };
        redemption_codes::create(tx, &new)
            .await
            .context("no code was created")?;
    }
    let after = json!({
        "count": texts.len(), "amount_usd": options.amount.to_string(),
        "wallet": wallet(options.wallet).as_str(),
    });
    let subject = format!("batch {batch}");
    action::log(tx, &action::action("create_codes", &subject, after)).await?;
    Ok(())
}

pub(super) async fn list(
    database: &Database,
    batch: Option<&str>,
    limit: i64,
    output: &Output,
) -> anyhow::Result<()> {
    let mut session = database.session().await?;
    let all = redemption_codes::list(&mut session, batch, limit).await?;
    drop(session);
    let cells: Vec<Vec<String>> = all
        .iter()
        .map(|code| {
            vec![
                code.id.to_string(),
                code.hint.clone(),
                code.batch.clone(),
                code.amount.to_string(),
                code.wallet.as_str().to_owned(),
                state(code).to_owned(),
                code.redeemed
                    .map_or_else(String::new, |(by, _)| by.to_string()),
                code.expires_at
                    .map_or_else(|| "never".to_owned(), times::short),
            ]
        })
        .collect();
    let heads = [
        "id", "code", "batch", "USD", "wallet", "state", "account", "over",
    ];
    let text = if cells.is_empty() {
        "There are no codes.".to_owned()
    } else {
        table::aligned(&heads, &[3], &cells)
    };
    let codes: Vec<Value> = all.iter().map(row).collect();
    output.success(&text, &json!({ "ok": true, "codes": codes }));
    Ok(())
}

pub(super) async fn revoke(
    database: &Database,
    options: &RevokeCodes,
    output: &Output,
) -> anyhow::Result<()> {
    let mut tx = database.begin().await?;
    let done = async {
        let batch = options.batch.as_deref();
        let count = redemption_codes::revoke(&mut tx, options.id, batch).await?;
        if count > 0 {
            let subject = match (options.id, batch) {
                (Some(id), _) => format!("code {id}"),
                (None, batch) => format!("batch {}", batch.unwrap_or_default()),
            };
            let new = action::action("revoke_codes", &subject, json!({ "revoked": count }));
            action::log(&mut tx, &new).await?;
        }
        anyhow::Ok(count)
    };
    let done = done.await.context("no code was revoked");
    let advice = "the command can be repeated safely";
    let count = database::finish(tx, done, advice).await?;
    if count == 0 {
        bail!(
            "nothing was taken back: no such code, or all were redeemed or taken back before; \
             `trunkline code list` shows them"
        );
    }
    let text = format!("{count} codes revoked.");
    output.success(&text, &json!({ "ok": true, "revoked": count }));
    Ok(())
}

fn row(code: &Code) -> Value {
    json!({
        "id": code.id,
        "hint": code.hint,
        "batch": code.batch,
        "amount_usd": format::usd(code.amount),
        "wallet": code.wallet.as_str(),
        "state": state(code),
        "made_by": code.made_by,
        "created_at": times::rfc3339(code.created_at),
        "expires_at": code.expires_at.map(times::rfc3339),
        "revoked_at": code.revoked_at.map(times::rfc3339),
        "redeemed_by": code.redeemed.map(|(by, _)| by),
        "redeemed_at": code.redeemed.map(|(_, at)| times::rfc3339(at)),
    })
}

const fn state(code: &Code) -> &'static str {
    if code.redeemed.is_some() {
        "redeemed"
    } else if code.revoked_at.is_some() {
        "revoked"
    } else if code.is_expired {
        "expired"
    } else {
        "open"
    }
}

const fn wallet(word: WalletWord) -> Wallet {
    match word {
        WalletWord::Paid => Wallet::Paid,
        WalletWord::Trial => Wallet::Trial,
    }
}

fn date(now: Timestamp) -> String {
    times::short(now).chars().take(10).collect()
}
