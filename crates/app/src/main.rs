//! The `trunkline` executable: reads the command line and the configuration, calls the rooms, and
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

mod chance;
mod cli;
mod commands;
mod config;
mod files;
mod output;
mod table;
mod times;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;
use crate::output::Output;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(cli.json);
    match commands::run(cli, &output).await {
        Ok(code) => code,
        Err(error) => {
            output.failure(&error);
            ExitCode::FAILURE
        }
    }
}
