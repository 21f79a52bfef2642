//! `trunkline channel providers`: what a channel can be opened to. Asks no database and no upstream.

use std::process::ExitCode;

use serde_json::{Value, json};
use trunkline_types::EndpointType;
use trunkline_upstream::{Format, Provider, Quirk};

use crate::config::Config;
use crate::output::Output;
use crate::table;

pub(super) fn list(config: &Config, output: &Output) -> anyhow::Result<ExitCode> {
    let providers = super::providers(config)?;
    let all: Vec<&Provider> = providers
        .names()
        .filter_map(|name| providers.get(name))
        .collect();
    let heads = ["name", "base_url", "auth", "formats", "quirks"];
    let cells: Vec<Vec<String>> = all.iter().copied().map(cells).collect();
    let objects: Vec<Value> = all.iter().copied().map(object).collect();
    output.success(
        &table::aligned(&heads, &[], &cells),
        &json!({ "ok": true, "providers": objects }),
    );
    Ok(ExitCode::SUCCESS)
}

fn cells(provider: &Provider) -> Vec<String> {
    let address = provider.base_url.as_deref();
    vec![
        provider.name.clone(),
        address.unwrap_or("(set by the channel)").to_owned(),
        provider.auth.words(),
        formats(provider).join(" "),
        quirks(provider).join(" "),
    ]
}

fn object(provider: &Provider) -> Value {
    let served = EndpointType::ALL
        .into_iter()
        .filter(|endpoint| provider.serves(*endpoint));
    json!({
        "name": provider.name,
        "base_url": provider.base_url,
        "auth": provider.auth.words(),
        "formats": formats(provider),
        "quirks": quirks(provider),
        "endpoint_types": served.map(EndpointType::name).collect::<Vec<_>>(),
        "connect_ms": provider.connect_ms,
        "first_byte_ms": provider.first_byte_ms,
        "idle_ms": provider.idle_ms,
        "total_ms": provider.total_ms,
    })
}

fn formats(provider: &Provider) -> Vec<&'static str> {
    provider
        .formats
        .iter()
        .copied()
        .map(Format::as_str)
        .collect()
}

fn quirks(provider: &Provider) -> Vec<&'static str> {
    provider.quirks.iter().copied().map(Quirk::as_str).collect()
}
