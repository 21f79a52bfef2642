//! The words of `trunkline init`. A vendor's key is never one of them, as in `trunkline channel add`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use trunkline_types::{Money, Secret};

use super::values::{Pair, model, more_than_nothing};

/// Where the package keeps the configuration.
pub(crate) const ETC_FOLDER: &str = "/etc/trunkline";
/// Where the package keeps data.
const DATA_FOLDER: &str = "/var/lib/trunkline";
/// The system user that the package makes.
const SERVICE_USER: &str = "trunkline";
const ADMIN_LISTEN: &str = "127.0.0.1:9080";
const CREDIT_USD: &str = "5";

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// A PostgreSQL database, such as postgres://trunkline@db.example.com/trunkline; "here" to create
    /// one in the PostgreSQL of this machine.
    #[arg(long, value_name = "URL|here", value_parser = database)]
    pub(crate) database: Option<DatabaseChoice>,
    /// The address that callers and the console's users open, such as https://api.example.com.
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<String>,
    /// The operator's email address.
    #[arg(long, value_name = "EMAIL")]
    pub(crate) operator: Option<String>,
    /// The first vendor: a provider of `trunkline provider list`.
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// A variable of the environment that holds the vendor's API key.
    #[arg(long, value_name = "VARIABLE", conflicts_with_all = ["key_file", "key_stdin"])]
    pub(crate) key_env: Option<String>,
    /// A file that holds the vendor's API key.
    #[arg(long, value_name = "FILE", conflicts_with = "key_stdin")]
    pub(crate) key_file: Option<String>,
    /// Read the vendor's API key from standard input.
    #[arg(long)]
    pub(crate) key_stdin: bool,
    /// Where the vendor is; the provider's own address if left out.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// A model to sell, under our name and the vendor's; repeat it for more. All of the vendor's
    /// models in the starter catalog if left out.
    #[arg(long = "model", value_name = "PUBLIC[=UPSTREAM]", value_parser = model)]
    pub(crate) models: Vec<Pair>,
    /// Credit of the first account, in USD.
    #[arg(long, value_name = "USD", default_value = CREDIT_USD, value_parser = more_than_nothing)]
    pub(crate) credit: Money,
    /// Start the service: by systemd where it runs, otherwise as a process in the background.
    #[arg(long)]
    pub(crate) start: bool,
    /// Folder of the configuration and the keyring.
    #[arg(long, value_name = "FOLDER", default_value = ETC_FOLDER)]
    pub(crate) folder: PathBuf,
    /// Folder of data: finished videos, uploads, the log of a service that systemd does not run.
    #[arg(long, value_name = "FOLDER", default_value = DATA_FOLDER)]
    pub(crate) data: PathBuf,
    /// The system user of the service, who owns what is written. Only root can choose one.
    #[arg(long, value_name = "NAME", default_value = SERVICE_USER)]
    pub(crate) user: String,
    /// Where calls and the console arrive; left out, 127.0.0.1 with the port of a public address that
    /// is on this machine, else with port 8080.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// Where metrics are served.
    #[arg(long, value_name = "ADDRESS", default_value = ADMIN_LISTEN)]
    pub(crate) admin_listen: SocketAddr,
}

/// Which database.
#[derive(Debug, Clone)]
pub(crate) enum DatabaseChoice {
    /// One in the PostgreSQL of this machine.
    Here,
    /// One that is there.
    Url(Secret),
}

/// Reads the answer to which database.
pub(crate) fn database(text: &str) -> Result<DatabaseChoice, String> {
    let known = ["postgres://", "postgresql://"];
    match text {
        "here" => Ok(DatabaseChoice::Here),
        url if known.iter().any(|scheme| url.starts_with(scheme)) => {
            Ok(DatabaseChoice::Url(Secret::new(url.to_owned())))
        }
        // It may hold a password, so it is not repeated.
        _ => Err(
            "write \"here\" or an address such as postgres://trunkline@db.example.com/trunkline"
                .to_owned(),
        ),
    }
}
