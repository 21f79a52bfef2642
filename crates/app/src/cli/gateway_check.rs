//! `trunkline gateway-check`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct GatewayCheckArguments {
    /// The address of the gateway.
    #[arg(long, value_name = "URL")]
    pub(crate) target: String,

    /// A key that the gateway accepts.
    #[arg(long, value_name = "KEY")]
    pub(crate) key: String,

    /// What the gateway is: models, formats, prices. Left out: a `trunkline dev`.
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,

    /// Where the simulator listens that is the gateway's upstream.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9100")]
    pub(crate) listen: SocketAddr,

    /// A simulator that runs already, such as that of a `trunkline dev`; none is started then.
    #[arg(long, value_name = "URL", conflicts_with = "listen")]
    pub(crate) simulator: Option<String>,

    /// Only checks whose names contain this.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) only: String,

    /// Write the HTML page.
    #[arg(long, value_name = "FILE")]
    pub(crate) page: Option<PathBuf>,

    /// Write the results, for the page of a later run.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,

    /// Put results that were written with --save on the page too, behind those of this run.
    #[arg(long = "with", value_name = "FILE")]
    pub(crate) others: Vec<PathBuf>,

    /// The gateway's configuration, to be shown on the page as it is.
    #[arg(long, value_name = "FILE")]
    pub(crate) configuration: Option<PathBuf>,

    /// The gateway's version, to be shown on the page.
    #[arg(long, value_name = "TEXT")]
    pub(crate) gateway_version: Option<String>,
}
