//! The `trunkline` executable: reads the command line and the configuration, calls the other crates, and
//! turns what they return into text, JSON and an exit code. Nothing here knows how a thing is done.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::float_arithmetic,
        clippy::string_slice,
        clippy::cast_possible_truncation
    )
)]

mod cli;
mod commands;
mod config;
mod decimal;
mod files;
mod handover;
mod log_lines;
mod node;
mod output;
mod price_map;
mod random;
mod service_manager;
mod setup_link;
mod social;
mod table;
mod times;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use tikv_jemallocator::Jemalloc;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::cli::{Cli, Command};
use crate::log_lines::{JsonLines, LogBuffer};
use crate::output::Output;

/// The system's allocator took a sixth of what a call costs: docs/dev/performance.md.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(cli.json);
    let log = start_log(&cli.command);
    // In a box: what a command needs is large, and waits only once.
    let code = match Box::pin(commands::run(cli, &output)).await {
        Ok(code) => code,
        Err(error) => {
            output.failure(&error);
            ExitCode::FAILURE
        }
    };
    log.flush();
    code
}

/// Log lines are JSON on standard error; standard output belongs to the command's result. A person
/// at a terminal sees calls as they end, so `dev` logs only what needs attention.
fn start_log(command: &Command) -> Arc<LogBuffer> {
    let level = match command {
        Command::Dev { .. } | Command::Init(_) | Command::Run(_) | Command::Mcp(_) => {
            LevelFilter::WARN
        }
        Command::Serve(_)
        | Command::Migrate
        | Command::Config(_)
        | Command::Keyring(_)
        | Command::Account(_)
        | Command::Operator(_)
        | Command::Topup(_)
        | Command::Code(_)
        | Command::Emails
        | Command::Key(_)
        | Command::Budget(_)
        | Command::Limit(_)
        | Command::Catalog(_)
        | Command::Channel(_)
        | Command::Provider(_)
        | Command::Social(_)
        | Command::Workflow(_)
        | Command::Import(_)
        | Command::Audit
        | Command::Restore(_)
        | Command::GatewayCheck(_)
        | Command::Payment(_)
        | Command::Receipts(_)
        | Command::Losses(_) => LevelFilter::INFO,
    };
    let (lines, buffer) = if matches!(command, Command::Serve(_)) {
        JsonLines::in_blocks()
    } else {
        JsonLines::direct()
    };
    let lines = lines.with_filter(filter(level));
    // A second one can only be set by a test in the same process.
    drop(tracing_subscriber::registry().with(lines).try_init());
    buffer
}

/// Libraries are heard when they warn: what they say step by step may quote what they carry.
fn filter(level: LevelFilter) -> Targets {
    Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_target("trunkline", level)
}
