//! `trunkline mcp`.

use std::net::SocketAddr;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct McpArguments {
    /// The gateway's address. Left out: TRUNKLINE_BASE_URL.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,

    /// Serve over HTTP at this address instead of over standard input and output.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,

    /// A name that clients call the HTTP server by, besides localhost; repeat it for several.
    #[arg(long = "host", value_name = "NAME", requires = "listen")]
    pub(crate) hosts: Vec<String>,
}
