//! `trunkline mcp`: what a customer's key can ask a gateway, as tools of the Model Context Protocol. Over standard
//! input and output for one agent, or over HTTP for many, each with its own key.

mod arguments;
mod http_server;
mod server;
mod tools;

use std::io;
use std::os::fd::AsFd as _;
use std::process::ExitCode;

use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleServer, serve_server};
use tokio::fs::File;

use self::server::McpServer;
use super::gateway_client::{GatewayAddress, key_of_environment};
use crate::cli::McpArguments;
use crate::output::Output;

/// One message of a client. A quote holds the whole body of the call that it is for.
const MAX_MESSAGE_BYTES: usize = 4_000_000;

pub(super) async fn run(options: McpArguments, output: &Output) -> anyhow::Result<ExitCode> {
    let gateway = GatewayAddress::new(options.url.as_deref())?;
    match options.listen {
        Some(address) => {
            let server = McpServer::for_callers(gateway);
            http_server::serve(server, address, &options.hosts, output).await?;
        }
        None => over_pipes(McpServer::with_key(gateway, key_of_environment()?)).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Until the client closes our input. Nothing but messages is written to standard output.
async fn over_pipes(server: McpServer) -> anyhow::Result<()> {
    // Of descriptors of our own: tokio's handle of standard input has a reader that outlives its last use.
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let transport = AsyncRwTransport::<RoleServer, _, _>::new(
        File::from_std(input.into()),
        File::from_std(output.into()),
    )
    .with_max_line_length(MAX_MESSAGE_BYTES);
    let running = match Box::pin(serve_server(server, transport)).await {
        // A client that looked and went away.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        started => started?,
    };
    running.waiting().await?;
    Ok(())
}
