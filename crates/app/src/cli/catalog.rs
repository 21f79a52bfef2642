//! The words of `trunkline catalog`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use trunkline_catalog::DEFAULT_MAX_AGE_DAYS;
use trunkline_types::{Face, Ratio};

use super::values::{Pair, model};

#[derive(Debug, Subcommand)]
pub(crate) enum CatalogCommand {
    #[command(flatten)]
    Database(CatalogDbCommand),
    #[command(flatten)]
    Files(CatalogFiles),
}

/// What is done with files alone: neither a configuration nor a database is needed.
#[derive(Debug, Subcommand)]
pub(crate) enum CatalogFiles {
    /// Say what is wrong or doubtful in a catalog.
    #[command(
        after_help = "Files are TOML; a folder means all .toml files in it. Several are read as one catalog. Without any
it is the starter catalog that is built in. Exits 1 when there is an error; warnings alone do not
fail. docs/operate/catalog.md explains every code.

Examples:
  trunkline catalog lint
  trunkline catalog lint /etc/trunkline/catalog
  trunkline catalog lint groups.toml acme.toml --json | jq '.findings[] | select(.severity == \"error\")'"
    )]
    Lint {
        /// Files, or folders of .toml files.
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },

    /// List vendor prices that were not checked for a long time, oldest first.
    #[command(
        after_help = "Files are read as by lint. To mend a price, read its source again and change the day in
read_on, and the number if it is another.

Examples:
  trunkline catalog stale
  trunkline catalog stale --days 30 /etc/trunkline/catalog --json | jq '.prices[].model'"
    )]
    Stale {
        /// The age in days up to which a price is young enough.
        #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_AGE_DAYS)]
        days: u32,
        /// Files, or folders of .toml files.
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

/// What is done in the database.
#[derive(Debug, Subcommand)]
pub(crate) enum CatalogDbCommand {
    /// Add what files say to the catalog, or make it exactly that.
    #[command(
        after_help = "Files are TOML; a folder means all .toml files in it. Everything is checked before anything is
written; nodes take a change over within two seconds, and calls under way keep the prices they began
with.

Examples:
  trunkline catalog import catalog/
  trunkline catalog import --starter --note 'first prices'
  trunkline catalog import all.toml --replace"
    )]
    Import(ImportCatalog),

    /// Print the catalog as TOML.
    #[command(after_help = "Example:
  trunkline catalog export > all.toml")]
    Export,

    /// Show what an import would change, what last week's calls would have cost under it, and what
    /// would be sold below its cost.
    #[command(after_help = "Exits 1 if something would be sold below its cost.

Examples:
  trunkline catalog diff catalog/
  trunkline catalog diff all.toml --replace --json")]
    Diff(Source),

    /// Change prices of one model.
    #[command(
        after_help = "Prices are pico-USD for one unit: 2000000 is 2 USD for a million tokens.

Examples:
  trunkline catalog set-price gpt-5 input=1250000 output=10000000
  trunkline catalog set-price gpt-5 --tier priority input=2500000 output=20000000
  trunkline catalog set-price gpt-5 --paid input=1000000 output=9000000"
    )]
    SetPrice(SetPrice),

    /// Take prices of models on sale from a published price list.
    #[command(
        after_help = "The file is the api.json of models.dev or LiteLLM's model_prices_and_context_window.json. A model is found
by its vendor and name, or by --model OURS=THEIRS. Prices of the default tier become the list's, times
--markup, and the list is noted as their source with its day. Without --apply nothing is changed: the
differences are listed. Exits 1, and changes nothing, if something would be sold below what a channel's
cost book says, unless --allow is given.

Examples:
  trunkline catalog sync api.json
  trunkline catalog sync api.json --markup 1.1 --date 2026-11-18 --apply
  trunkline catalog sync prices.json --model fast=openai/gpt-5-mini --json | jq .prices"
    )]
    Sync(SyncPrices),

    /// List the latest changes.
    #[command(after_help = "Example:
  trunkline catalog history --limit 5 --json")]
    History {
        /// How many.
        #[arg(long, default_value_t = 20)]
        limit: i64,
    },
}

/// Where a catalog is read from.
#[derive(Debug, Args)]
pub(crate) struct Source {
    /// Files, or folders of .toml files.
    #[arg(required_unless_present = "starter")]
    pub(crate) files: Vec<PathBuf>,
    /// The catalog that is built in.
    #[arg(long, conflicts_with = "files")]
    pub(crate) starter: bool,
    /// Take off sale what the files do not name.
    #[arg(long)]
    pub(crate) replace: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ImportCatalog {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Why, for the history.
    #[arg(long, default_value = "")]
    pub(crate) note: String,
}

#[derive(Debug, Args)]
pub(crate) struct SetPrice {
    /// The model's public name.
    pub(crate) model: String,
    /// Faces with their prices, such as input=1250000.
    #[arg(required = true, value_parser = face_price)]
    pub(crate) prices: Vec<(Face, i64)>,
    /// The tier; without it the one that always holds.
    #[arg(long)]
    pub(crate) tier: Option<String>,
    /// The prices of accounts that have paid in.
    #[arg(long)]
    pub(crate) paid: bool,
    /// Why, for the history.
    #[arg(long, default_value = "")]
    pub(crate) note: String,
}

#[derive(Debug, Args)]
pub(crate) struct SyncPrices {
    /// The price list.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// A model, and its name in the list if that is another; repeat it for more. All if left out.
    #[arg(long = "model", value_name = "OURS[=THEIRS]", value_parser = model)]
    pub(crate) models: Vec<Pair>,
    /// What the list's prices are multiplied by, such as 1.1 or 11/10.
    #[arg(long, value_name = "RATE", default_value = "1")]
    pub(crate) markup: Ratio,
    /// The day of the list; today if left out.
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) date: Option<String>,
    /// Permit prices below the cost of a channel.
    #[arg(long)]
    pub(crate) allow: bool,
    /// Publish it, instead of showing what would change.
    #[arg(long)]
    pub(crate) apply: bool,
}

fn face_price(text: &str) -> Result<(Face, i64), String> {
    let (face, price) = text
        .split_once('=')
        .ok_or_else(|| "write a face and its price, such as input=1250000".to_owned())?;
    let face: Face = face.parse().map_err(|error| format!("{error}"))?;
    let price = price
        .parse()
        .map_err(|_| "a price is a whole number of pico-USD".to_owned())?;
    Ok((face, price))
}
