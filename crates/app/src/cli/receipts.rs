//! `trunkline statement` and `trunkline verify`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use trunkline_ledger::usage_report::UtcDay;

use super::values::account_number;

#[derive(Debug, Subcommand)]
pub(crate) enum ReceiptCommand {
    /// Write the signed statement of an account to a file.
    #[command(
        after_help = "Every call and transfer of the days, under the signed root of each day. The customer gets the same from
GET /v1/statement. Days are signed soon after midnight UTC by a process with the role worker. The
database login needs the role trunkline_console.

Examples:
  trunkline statement 1000 --from 2026-11-01 --to 2026-11-17 --output statement.txt"
    )]
    Statement(StatementArguments),

    /// Check signed statements and receipts, offline.
    #[command(
        after_help = "Says which line is missing, changed, added or out of place, and exits 1 if any is. Without --keys every
key may sign, and those that did are printed: compare them with those that the gateway publishes.

Examples:
  trunkline verify statement.txt
  curl -o keys.json https://gateway.example/.well-known/trunkline-keys.json
  trunkline verify --keys keys.json statement.txt receipt.txt
  trunkline verify --json statement.txt | jq .files[0].findings"
    )]
    Verify(VerifyArguments),
}

#[derive(Debug, Args)]
pub(crate) struct StatementArguments {
    /// The account's number.
    #[arg(value_name = "ID", value_parser = account_number)]
    pub(crate) id: i64,

    /// The first UTC day, such as 2026-11-01; its calls must still be kept.
    #[arg(long, value_name = "DAY", value_parser = UtcDay::parse)]
    pub(crate) from: UtcDay,

    /// The last UTC day, which must be over.
    #[arg(long, value_name = "DAY", value_parser = UtcDay::parse)]
    pub(crate) to: UtcDay,

    /// The file to write; it must not exist.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// Statements and receipts.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// The gateway's /.well-known/trunkline-keys.json, saved: only its keys may sign.
    #[arg(long, value_name = "FILE")]
    pub(crate) keys: Option<PathBuf>,
}
