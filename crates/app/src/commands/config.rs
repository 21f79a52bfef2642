//! `trunkline config check`, `config default` and `config explain`.

use serde_json::{Value, json};

use super::channel;
use crate::config::{
    Config, ConfigError, DEFAULTS, Database, Explanation, Finding, KeyringPlace, is_empty,
};
use crate::output::Output;
use crate::social;

/// Reaching this function means that every key that is set is good; the files it names are looked at
/// here, and then it says what is in force. `trunkline dev` alone does without a database, so a
/// configuration that names none is not usable.
pub(super) fn check(config: &Config, output: &Output) -> anyhow::Result<()> {
    if config.database.url.is_none() {
        return Err(ConfigError(vec![no_database()]).into());
    }
    let providers: Vec<String> = channel::providers(config)?
        .names()
        .map(str::to_owned)
        .collect();
    let cells = social::cells(config)?.all().count();
    let keyring = match &config.keyring {
        KeyringPlace::File(path) => path.display().to_string(),
        KeyringPlace::Text(_) => "keyring.text".to_owned(),
    };
    let Database {
        url,
        max_connections,
        acquire_timeout,
        statement_timeout,
        lock_timeout,
        pgbouncer,
    } = &config.database;
    let database = if url.is_some() { "set" } else { "not set" };
    let proxies = config.edge.trusted_proxies.iter();
    let proxies: Vec<String> = proxies.map(ToString::to_string).collect();
    let traces = config.telemetry.traces.as_ref();
    let traces = traces.map_or_else(|| "none".to_owned(), ToString::to_string);
    let text = format!(
        "The configuration is usable.\n  node        {node}\n  base_url    {base} (listening on {listen})\n  \
         dash_url    http://{console}\n  admin       http://{admin}\n  database    {database}, at most {max_connections} connections\n  \
         keyring     {keyring}\n  proxies     {proxies:?}\n  providers   {providers}\n  extra roots {roots}\n  traces      {traces}\n  \
         social      {cells} cells, at most {capacity} calls a day",
        providers = providers.join(", "),
        roots = config.extra_roots.count(),
        capacity = config.social.daily_capacity,
        node = config.node.as_str(),
        base = config.edge.public_url,
        listen = config.edge.listen,
        console = config.console.listen,
        admin = config.admin_listen,
    );
    let object = json!({
        "ok": true,
        "node": config.node.as_str(),
        "public_url": config.edge.public_url,
        "edge_listen": config.edge.listen.to_string(),
        "console_listen": config.console.listen.to_string(),
        "admin_listen": config.admin_listen.to_string(),
        "trusted_proxies": proxies,
        "database": {
            "url": database,
            "max_connections": max_connections,
            "acquire_timeout_ms": acquire_timeout.as_millis(),
            "statement_timeout_ms": statement_timeout.as_millis(),
            "lock_timeout_ms": lock_timeout.as_millis(),
            "pgbouncer": pgbouncer,
        },
        "keyring": keyring,
        "providers": providers,
        "extra_roots": config.extra_roots.count(),
        "traces": {
            "endpoint": traces,
            "sample_per_thousand": config.telemetry.sample_per_thousand,
        },
        "social": social_object(config, cells),
    });
    output.success(&text, &object);
    Ok(())
}

fn no_database() -> Finding {
    Finding {
        key: "database.url".to_owned(),
        from: "defaults".to_owned(),
        problem: "is not set: write it (or database.url_file) into the configuration file, or set \
                  TRUNKLINE__DATABASE__URL"
            .to_owned(),
    }
}

fn social_object(config: &Config, cells: usize) -> Value {
    json!({
        "cells": cells,
        "daily_capacity": config.social.daily_capacity,
        "at_once_per_platform": config.social.at_once_per_platform,
        "wait_seconds": config.social.wait.as_secs(),
    })
}

/// Every key, commented.
pub(super) fn default(output: &Output) {
    output.success(DEFAULTS.trim_end(), &json!({ "toml": DEFAULTS }));
}

/// One key with its value in force.
pub(super) fn explain(explained: &Explanation, output: &Output) {
    let Explanation {
        key,
        meaning,
        unit,
        default,
        value,
        is_set,
        from,
        variable,
    } = explained;
    let written = |value: &toml::Value| {
        if is_empty(value) {
            "(not set)".to_owned()
        } else {
            value.to_string()
        }
    };
    let in_force = match value {
        Some(value) => written(value),
        None if *is_set => "(set; a secret is not printed)".to_owned(),
        None => "(not set; a secret)".to_owned(),
    };
    let text = format!(
        "{key}\n\n{meaning}\n\n  unit      {unit}\n  default   {default}\n  value     {in_force}\n  \
         from      {from}\n  variable  {variable}",
        default = written(default),
    );
    let object = json!({
        "ok": true,
        "key": key,
        "meaning": meaning,
        "unit": unit,
        "default": default,
        "value": value,
        "secret": value.is_none(),
        "set": is_set,
        "from": from,
        "variable": variable,
    });
    output.success(&text, &object);
}
