//! `trunkline provider`: lists providers, and lets them have fields that are on no list. Asks no database and no
//! upstream.

mod list;

use anyhow::{Context as _, bail};
use serde_json::json;
use trunkline_upstream::{FIELD_LISTS, drop_field, pass_field as pass};

pub(super) use self::list::list;
use self::list::show;
use super::channel::providers;
use crate::cli::{PassField, ProviderCommand};
use crate::config::Config;
use crate::output::Output;

pub(super) fn run(
    config: &Config,
    command: &ProviderCommand,
    output: &Output,
) -> anyhow::Result<()> {
    match command {
        ProviderCommand::List => list(config, output),
        ProviderCommand::Show { name } => show(config, name, output),
        ProviderCommand::PassField(params) => pass_field(config, params, output),
    }
}

fn pass_field(config: &Config, params: &PassField, output: &Output) -> anyhow::Result<()> {
    let PassField {
        provider,
        field,
        format,
        undo,
    } = params;
    let known = providers(config)?;
    if known.get(provider).is_none() {
        bail!("there is no provider {provider:?}; `trunkline provider list` lists them");
    }
    if !FIELD_LISTS.contains(&format.as_str()) {
        bail!(
            "there is no list of fields {format:?}; there are {}",
            FIELD_LISTS.join(", ")
        );
    }
    let folder = config.providers_folder.as_deref();
    let folder =
        folder.context("set providers.folder first: the field is written to a file there")?;
    let change = if *undo { drop_field } else { pass };
    let file = change(folder, provider, format, field)?;
    let done = if *undo {
        "is not sent any more"
    } else {
        "is sent"
    };
    let text = format!(
        "{field} of {format} {done} to {provider}, as {} says. Nodes take it over within seconds.",
        file.display()
    );
    let object = json!({
        "ok": true,
        "provider": provider,
        "format": format,
        "field": field,
        "passed": !undo,
        "file": file.display().to_string(),
    });
    output.success(&text, &object);
    Ok(())
}
