//! The words of `trunkline workflow`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// Say everything that is wrong with a workflow record. Needs no database.
    #[command(
        after_help = "Exits 1 when something is wrong; every finding is named with its JSON path. Also tells the
record's semantic digest, which a verified binding must carry.

Examples:
  trunkline workflow validate product-clip.json
  trunkline workflow validate product-clip.json --json | jq .findings"
    )]
    Validate {
        /// The record, as JSON.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },

    /// Keep a workflow record as the next version of its slug.
    #[command(
        after_help = "A new record begins as draft_unverified and moves one step at a time. When its meaning changes
it falls back to a draft, whatever the file says. The same record twice is one version. The database
login needs the role trunkline_console.

Examples:
  trunkline workflow import product-clip.json
  trunkline workflow import product-clip.json --json | jq .workflow.revision"
    )]
    Import {
        /// The record, as JSON.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },

    /// List the workflows, each by its newest version.
    #[command(after_help = "Examples:
  trunkline workflow list
  trunkline workflow list --json | jq '.workflows[] | select(.runnable)'")]
    List {
        /// Workflows after this slug.
        #[arg(long, value_name = "SLUG", default_value = "")]
        after: String,
        /// Workflows at most.
        #[arg(long, value_name = "N", default_value_t = 50,
            value_parser = clap::value_parser!(u32).range(1..=100))]
        limit: u32,
    },
}
