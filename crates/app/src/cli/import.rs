//! The words of `trunkline import`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Take over channels, models and prices of a LiteLLM proxy.
    #[command(
        after_help = "Reads config.yaml (or the same as JSON): model_list becomes channels, one for each provider, address
and key, and models at the prices of litellm_params or model_info. A model without a price there is sold
at the price of --prices or of the starter catalog, else it is skipped. os.environ/NAME is read from
the environment of this command. Without --apply nothing is changed: the report says what would be.
What is there already stays as it is, and differences are listed; repeating it imports nothing twice.
The database login needs the role trunkline_console.

Examples:
  trunkline import litellm config.yaml
  trunkline import litellm config.yaml --prices model_prices_and_context_window.json --json | jq .skipped
  trunkline import litellm config.yaml --apply"
    )]
    Litellm(ImportLitellm),

    /// Take over channels, models, prices, users and balances of a new-api or one-api.
    #[command(
        after_help = "Reads a folder with one JSON list of rows for each table: channels.json, users.json, options.json and,
for keys, tokens.json. docs/operate/import.md shows the commands that export them from SQLite, MySQL and PostgreSQL.
500000 of quota are 1 USD and are booked once for each user. Keys are issued anew, into --keys-file,
which is created and readable by its owner only. Without --apply nothing is changed: the report says
what would be. What is there already stays as it is, and differences are listed; repeating it imports
nothing twice. The database login needs the role trunkline_console.

Examples:
  trunkline import new-api export/
  trunkline import new-api export/ --json | jq '.differences, .skipped'
  trunkline import new-api export/ --apply --keys-file keys.csv"
    )]
    NewApi(ImportNewApi),
}

#[derive(Debug, Args)]
pub(crate) struct ImportLitellm {
    /// The proxy's configuration.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The name of that installation: the start of its channels' names.
    #[arg(long, value_name = "NAME", default_value = "litellm", value_parser = source)]
    pub(crate) source: String,
    /// The group its models are sold in.
    #[arg(long, value_name = "GROUP", default_value = "default")]
    pub(crate) group: String,
    /// LiteLLM's price map or the api.json of models.dev, for models without a price in the file.
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
    /// Do it, instead of saying what would be done.
    #[arg(long)]
    pub(crate) apply: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ImportNewApi {
    /// The folder of exported tables.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// The name of that installation. Users and payments are known by it: keep it when repeating.
    #[arg(long, value_name = "NAME", default_value = "new-api", value_parser = source)]
    pub(crate) source: String,
    /// Issue a key for each token and write them here, as CSV.
    #[arg(long, value_name = "FILE")]
    pub(crate) keys_file: Option<PathBuf>,
    /// Do it, instead of saying what would be done.
    #[arg(long)]
    pub(crate) apply: bool,
}

/// A name that stands in names of channels and payments.
fn source(text: &str) -> Result<String, String> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if text.is_empty() || text.len() > MAX_SOURCE || !text.bytes().all(legal) {
        return Err(format!(
            "a name has 1 to {MAX_SOURCE} characters of a-z, 0-9, dots and dashes"
        ));
    }
    Ok(text.to_owned())
}

const MAX_SOURCE: usize = 40;
