//! `trunkline provider list` and `show`: what a channel can be opened to, and how each was proved. Asks no database
//! and no upstream.

use anyhow::Context as _;
use serde_json::{Value, json};
use trunkline_types::EndpointType;
use trunkline_upstream::{Format, Proof, Provider, Quirk};

use super::providers;
use crate::config::Config;
use crate::output::Output;
use crate::table;

/// A file of the operator need not say how it was proved.
const UNSAID: &str = "(not stated)";

pub(crate) fn list(config: &Config, output: &Output) -> anyhow::Result<()> {
    let providers = providers(config)?;
    let all: Vec<&Provider> = providers
        .names()
        .filter_map(|name| providers.get(name))
        .collect();
    let heads = ["name", "proof", "base_url", "auth", "formats", "quirks"];
    let cells: Vec<Vec<String>> = all.iter().copied().map(cells).collect();
    let objects: Vec<Value> = all.iter().copied().map(object).collect();
    output.success(
        &table::aligned(&heads, &[], &cells),
        &json!({ "ok": true, "providers": objects }),
    );
    Ok(())
}

pub(crate) fn show(config: &Config, name: &str, output: &Output) -> anyhow::Result<()> {
    let providers = providers(config)?;
    let provider = providers.get(name).with_context(|| {
        format!("there is no provider {name:?}; `trunkline provider list` lists them")
    })?;
    let passed = provider.pass_fields.iter();
    let passed = passed.map(|(list, fields)| format!("{list}: {}", fields.join(" ")));
    let times = format!(
        "{} {} {} {} (connect, first byte, idle, total)",
        provider.connect_ms, provider.first_byte_ms, provider.idle_ms, provider.total_ms
    );
    let rows = [
        ("name", provider.name.clone()),
        ("proof", proof(provider).unwrap_or(UNSAID).to_owned()),
        ("base_url", address(provider)),
        ("auth", provider.auth.words()),
        ("formats", formats(provider).join(" ")),
        ("endpoints", endpoint_types(provider).join(" ")),
        ("quirks", quirks(provider).join(" ")),
        ("passes", passed.collect::<Vec<_>>().join("; ")),
        ("times, ms", times),
    ];
    let lines: Vec<String> = rows
        .into_iter()
        .map(|(key, value)| format!("{key:<10}{value}").trim_end().to_owned())
        .collect();
    output.success(
        &lines.join("\n"),
        &json!({ "ok": true, "provider": object(provider) }),
    );
    Ok(())
}

fn cells(provider: &Provider) -> Vec<String> {
    vec![
        provider.name.clone(),
        proof(provider).unwrap_or(UNSAID).to_owned(),
        address(provider),
        provider.auth.words(),
        formats(provider).join(" "),
        quirks(provider).join(" "),
    ]
}

fn object(provider: &Provider) -> Value {
    json!({
        "name": provider.name,
        "proof": proof(provider),
        "base_url": provider.base_url,
        "auth": provider.auth.words(),
        "formats": formats(provider),
        "quirks": quirks(provider),
        "aggregate_stream": provider.aggregate_stream,
        "endpoint_types": endpoint_types(provider),
        "pass_fields": provider.pass_fields,
        "connect_ms": provider.connect_ms,
        "first_byte_ms": provider.first_byte_ms,
        "idle_ms": provider.idle_ms,
        "total_ms": provider.total_ms,
    })
}

fn proof(provider: &Provider) -> Option<&'static str> {
    provider.proof.map(Proof::as_str)
}

fn address(provider: &Provider) -> String {
    let address = provider.base_url.as_deref();
    address.unwrap_or("(set by the channel)").to_owned()
}

fn endpoint_types(provider: &Provider) -> Vec<&'static str> {
    EndpointType::ALL
        .into_iter()
        .filter(|endpoint| provider.serves(*endpoint))
        .map(EndpointType::name)
        .collect()
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
