//! The words of `trunkline social`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum SocialCommand {
    /// List the cells with their prices, what the source asks, and whether they are sold.
    #[command(
        after_help = "Prices are those of the first automatic group, for accounts that have paid in. A cell without a
price is paused until it has one. The database login needs the role trunkline_console.

Examples:
  trunkline social list
  trunkline social list --platform douyin
  trunkline social list --json | jq '.cells[] | select(.status == \"paused\") | .model'"
    )]
    List {
        /// Only this platform, by its key.
        #[arg(long, value_name = "KEY")]
        platform: Option<String>,
    },

    /// Take a cell off sale: calls are answered 503 and cost nothing.
    #[command(
        after_help = "Nodes and the public catalog know within two seconds. Calls under way end as they would. The first
reason stays: pausing a paused cell changes nothing.

Example:
  trunkline social pause douyin search --reason 'the platform changed its search'"
    )]
    Pause(PauseCell),

    /// Resume a paused cell.
    #[command(
        after_help = "A node pauses a cell by itself when the data source does not have its path any more; `social events`
tells which. A cell without a price stays paused: see `social price`.

Example:
  trunkline social resume douyin search --reason 'it works again'"
    )]
    Resume(ResumeCell),

    /// List the latest pauses and resumptions, the newest first.
    #[command(after_help = "Examples:
  trunkline social events
  trunkline social events --limit 5 --json")]
    Events {
        /// How many.
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: i64,
    },

    /// Propose a price for every cell that has none, and write them all after one yes.
    #[command(
        after_help = "A cell with a published price is proposed at it, any other at twice what the data source asks,
beside where that stands and when it was read. Nothing is written before the answer; without a
terminal and without --yes it only shows. All prices are one change of the catalog, see `trunkline
catalog history`; single ones are changed with `trunkline catalog set-price`.

Examples:
  trunkline social price --suggest
  trunkline social price --suggest --yes --json | jq .written"
    )]
    Price(PriceCells),
}

#[derive(Debug, Args)]
pub(crate) struct PauseCell {
    /// The platform's key, such as douyin.
    pub(crate) platform: String,
    /// The capability: search, post, user, comments, user-posts or trending.
    pub(crate) capability: String,
    /// Reason, shown in the list.
    #[arg(long)]
    pub(crate) reason: String,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeCell {
    /// The platform's key, such as douyin.
    pub(crate) platform: String,
    /// The capability: search, post, user, comments, user-posts or trending.
    pub(crate) capability: String,
    /// Why, for the events.
    #[arg(long, default_value = "")]
    pub(crate) reason: String,
}

#[derive(Debug, Args)]
pub(crate) struct PriceCells {
    /// Propose prices.
    #[arg(long, required = true)]
    pub(crate) suggest: bool,
    /// Write them without asking.
    #[arg(long)]
    pub(crate) yes: bool,
}
