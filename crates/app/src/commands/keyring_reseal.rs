//! `trunkline keyring reseal`: seals every value of the database anew that another generation sealed, in small
//! transactions beside running nodes. Killed at any moment, it leaves each value as it was or anew; another
//! run goes on.

use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use trunkline_db::{Database, Role, Tx};
use trunkline_keyring::{Binding, GenerationId, Keyring, Purpose};
use trunkline_ledger::sealed_responses as responses;
use trunkline_store::sealed::{self, SealedColumn, SealedValue};
use trunkline_types::SecretBytes;

use super::{database, keyring};
use crate::config::Config;
use crate::output::Output;
use crate::table;

/// Values of one transaction: an answer that is kept for an idempotency key has up to 16 MB.
const BATCH: usize = 20;

/// The database under both roles that write sealed values.
struct Databases {
    data: Database,
    console: Database,
}

/// What is sealed anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sealed {
    Column(SealedColumn),
    /// Answers that are kept for idempotency keys.
    Responses,
}

/// What became of the values of one column.
#[derive(Debug, Default, Clone, Copy)]
struct Resealed {
    found: usize,
    resealed: usize,
    /// Changed or deleted meanwhile, which needs nothing.
    changed: usize,
    /// Sealed by a generation that is live no more, or altered.
    unopened: usize,
}

pub(super) async fn run(config: &Config, output: &Output) -> anyhow::Result<ExitCode> {
    let keyring = keyring::open(config)?;
    let databases = Databases::open(config).await?;
    let mut columns = Vec::new();
    for column in Sealed::all() {
        let done = databases.reseal(&keyring, column, output).await;
        columns.push((column, done?));
    }
    databases.close().await;
    Ok(report(&keyring, &columns, output))
}

/// How many values another generation than the current one has sealed.
pub(super) async fn left(config: &Config, keyring: &Keyring) -> anyhow::Result<usize> {
    let databases = Databases::open(config).await?;
    let mut left = 0_usize;
    for column in Sealed::all() {
        let rows = databases.unsealed(keyring, column).await?;
        left = left.saturating_add(rows.len());
    }
    databases.close().await;
    Ok(left)
}

/// The sealed values of one column, and how many of them a keyring opens.
pub(super) struct Openable {
    pub(super) column: &'static str,
    pub(super) found: usize,
    pub(super) opened: usize,
}

/// Tries every sealed value of the database; without a keyring none opens.
pub(super) async fn openable(
    database: &Database,
    keyring: Option<&Keyring>,
) -> anyhow::Result<Vec<Openable>> {
    let mut columns = Vec::new();
    for column in Sealed::all() {
        let mut tx = database.begin().await?;
        // No generation has this header, so all values are listed.
        let rows = match column {
            Sealed::Column(column) => sealed::unsealed_by(&mut tx, column, &[0, 0, 0]).await?,
            Sealed::Responses => responses::sealed_by_others(&mut tx, &[0, 0, 0]).await?,
        };
        let mut opened = 0_usize;
        for batch in rows.chunks(BATCH) {
            let values = column.read(&mut tx, batch).await?;
            let opens = values.iter().filter(|value| {
                keyring.is_some_and(|keyring| open(keyring, column, value).is_some())
            });
            opened = opened.saturating_add(opens.count());
        }
        tx.rollback().await?;
        columns.push(Openable {
            column: column.as_str(),
            found: rows.len(),
            opened,
        });
    }
    Ok(columns)
}

fn report(keyring: &Keyring, columns: &[(Sealed, Resealed)], output: &Output) -> ExitCode {
    let unopened: usize = columns.iter().map(|(_, done)| done.unopened).sum();
    let generation = keyring.generations().current.id;
    let cells: Vec<Vec<String>> = columns
        .iter()
        .map(|(column, done)| {
            let numbers = [done.found, done.resealed, done.changed, done.unopened];
            let numbers = numbers.iter().map(ToString::to_string);
            std::iter::once(column.as_str().to_owned())
                .chain(numbers)
                .collect()
        })
        .collect();
    let heads = [
        "column",
        "found",
        "sealed anew",
        "changed",
        "cannot be opened",
    ];
    let mut text = table::aligned(&heads, &[1, 2, 3, 4], &cells);
    text.push_str(&match unopened {
        0 => format!("\nEverything is sealed by generation {generation}."),
        count => format!(
            "\n{count} values cannot be opened by this keyring. If another keyring file has their generation, use \
             that one; otherwise enter those credentials again (trunkline channel key replace)."
        ),
    });
    let rows: Vec<Value> = columns
        .iter()
        .map(|(column, done)| done.json(*column))
        .collect();
    let object = json!({
        "ok": unopened == 0,
        "generation": generation.number(),
        "columns": rows,
        "unopened": unopened,
    });
    if unopened == 0 {
        output.success(&text, &object);
        return ExitCode::SUCCESS;
    }
    output.finding(&text, &object);
    ExitCode::FAILURE
}

// === impl Databases ===

impl Databases {
    async fn open(config: &Config) -> anyhow::Result<Self> {
        let context = "sealed values are written by the roles trunkline_data and trunkline_console";
        Ok(Self {
            data: database::open(config, Role::Data).await.context(context)?,
            console: database::open(config, Role::Console)
                .await
                .context(context)?,
        })
    }

    async fn close(&self) {
        database::close(&self.data).await;
        database::close(&self.console).await;
    }

    fn of(&self, column: Sealed) -> &Database {
        match column.role() {
            Role::Console => &self.console,
            Role::Data | Role::Owner | Role::Audit => &self.data,
        }
    }

    async fn unsealed(&self, keyring: &Keyring, column: Sealed) -> anyhow::Result<Vec<String>> {
        let header = keyring.token_header();
        let mut session = self.of(column).session().await?;
        Ok(match column {
            Sealed::Column(column) => sealed::unsealed_by(&mut session, column, &header).await?,
            Sealed::Responses => responses::sealed_by_others(&mut session, &header).await?,
        })
    }

    async fn reseal(
        &self,
        keyring: &Keyring,
        column: Sealed,
        output: &Output,
    ) -> anyhow::Result<Resealed> {
        let rows = self.unsealed(keyring, column).await?;
        let mut done = Resealed {
            found: rows.len(),
            ..Resealed::default()
        };
        for batch in rows.chunks(BATCH) {
            self.reseal_batch(keyring, column, batch, &mut done).await?;
            if !output.is_for_programs() {
                let ended = done.ended();
                let line = format!("{}: {ended} of {}", column.as_str(), done.found);
                // A reader that went away has seen what it wanted.
                drop(writeln!(io::stderr().lock(), "{line}"));
            }
        }
        Ok(done)
    }

    async fn reseal_batch(
        &self,
        keyring: &Keyring,
        column: Sealed,
        rows: &[String],
        done: &mut Resealed,
    ) -> anyhow::Result<()> {
        let mut tx = self.of(column).begin().await?;
        let written = async {
            let mut batch = Resealed::default();
            let values = column.read(&mut tx, rows).await?;
            batch.changed = rows.len().saturating_sub(values.len());
            let anew = values
                .iter()
                .map(|value| sealed_anew(keyring, column, value));
            let anew: Vec<Option<Vec<u8>>> = anew.collect::<anyhow::Result<_>>()?;
            let number = column.number(&mut tx).await?;
            for (value, anew) in values.iter().zip(anew) {
                let count = match anew {
                    None => &mut batch.unopened,
                    Some(anew) => match column.replace(&mut tx, value, &anew, number).await? {
                        true => &mut batch.resealed,
                        false => &mut batch.changed,
                    },
                };
                *count = count.saturating_add(1);
            }
            Ok(batch)
        };
        let written: anyhow::Result<Resealed> = written.await;
        let batch = database::finish(tx, written, "it is safe to repeat this").await?;
        done.resealed = done.resealed.saturating_add(batch.resealed);
        done.changed = done.changed.saturating_add(batch.changed);
        done.unopened = done.unopened.saturating_add(batch.unopened);
        Ok(())
    }
}

// === impl Sealed ===

impl Sealed {
    fn all() -> impl Iterator<Item = Self> {
        let columns = SealedColumn::ALL.into_iter().map(Self::Column);
        columns.chain(std::iter::once(Self::Responses))
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Column(column) => column.as_str(),
            Self::Responses => "stored_response",
        }
    }

    const fn role(self) -> Role {
        match self {
            Self::Column(column) => column.role(),
            Self::Responses => Role::Data,
        }
    }

    async fn read(self, tx: &mut Tx, rows: &[String]) -> anyhow::Result<Vec<SealedValue>> {
        match self {
            Self::Column(column) => Ok(sealed::read(tx, column, rows).await?),
            Self::Responses => {
                let found = responses::read(tx, rows).await?.into_iter();
                let values = found.map(|response| SealedValue {
                    row: response.row,
                    account: Some(response.account),
                    context: response.request.as_bytes().to_vec(),
                    sealed: response.sealed,
                });
                Ok(values.collect())
            }
        }
    }

    /// The number by which nodes see the change, where they need one.
    async fn number(self, tx: &mut Tx) -> anyhow::Result<Option<i64>> {
        match self {
            Self::Column(column) => Ok(sealed::number(tx, column).await?),
            Self::Responses => Ok(None),
        }
    }

    async fn replace(
        self,
        tx: &mut Tx,
        before: &SealedValue,
        anew: &[u8],
        number: Option<i64>,
    ) -> anyhow::Result<bool> {
        Ok(match self {
            Self::Column(column) => sealed::replace(tx, column, before, anew, number).await?,
            Self::Responses => responses::replace(tx, &before.row, &before.sealed, anew).await?,
        })
    }
}

// === impl Resealed ===

impl Resealed {
    const fn ended(self) -> usize {
        let known = self.resealed.saturating_add(self.changed);
        known.saturating_add(self.unopened)
    }

    fn json(self, column: Sealed) -> Value {
        json!({
            "column": column.as_str(),
            "found": self.found,
            "resealed": self.resealed,
            "changed": self.changed,
            "unopened": self.unopened,
        })
    }
}

/// A value under the current generation; none if it does not open.
fn sealed_anew(
    keyring: &Keyring,
    column: Sealed,
    value: &SealedValue,
) -> anyhow::Result<Option<Vec<u8>>> {
    let Some(plain) = open(keyring, column, value) else {
        return Ok(None);
    };
    let binding = Binding {
        account: value.account,
        context: &value.context,
    };
    let purpose = purpose_of(column);
    Ok(Some(keyring.seal(purpose, &binding, plain.reveal())?))
}

fn open(keyring: &Keyring, column: Sealed, value: &SealedValue) -> Option<SecretBytes> {
    let binding = Binding {
        account: value.account,
        context: &value.context,
    };
    let opened = keyring.open(purpose_of(column), &binding, &value.sealed);
    opened.ok()
}

const fn purpose_of(column: Sealed) -> Purpose {
    let column = match column {
        Sealed::Column(column) => column,
        Sealed::Responses => return Purpose::IdempotentAnswers,
    };
    match column {
        SealedColumn::Credential
        | SealedColumn::Proxy
        | SealedColumn::SecondFactor
        | SealedColumn::MediaKey => Purpose::Credentials,
        SealedColumn::TaskRequest | SealedColumn::TaskFile => Purpose::Tasks,
        SealedColumn::WebhookUrl
        | SealedColumn::WebhookSecret
        | SealedColumn::WebhookOldSecret
        | SealedColumn::TaskWebhookUrl => Purpose::Webhooks,
        SealedColumn::Email => Purpose::Emails,
    }
}

/// Refuses a rotation that would lose what the previous generation has sealed.
pub(super) async fn check_rotation(
    config: &Config,
    keyring: &Keyring,
    previous: GenerationId,
) -> anyhow::Result<()> {
    if config.database.url.is_none() {
        bail!(
            "generation {previous} would be dropped, and without a database it is not known what only it can open; \
             set database.url, or accept the loss with --drop-previous"
        );
    }
    let left = left(config, keyring).await?;
    if left > 0 {
        bail!(
            "{left} values are still sealed by generation {previous} or an older one, which would be dropped; run \
             `trunkline keyring reseal` first, or accept their loss with --drop-previous"
        );
    }
    Ok(())
}
