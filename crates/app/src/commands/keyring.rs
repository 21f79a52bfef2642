//! `trunkline keyring generate | rotate | show`; `reseal` is beside it. Key material is printed in one case only: rotating
//! a keyring that is kept as text, whose new text has to go somewhere.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use serde_json::{Value, json};
use trunkline_db::SystemClock;
use trunkline_keyring::{
    Document, FileSource, Generation, Generations, Keyring, RootKeySource, SystemRandom, TextSource,
};
use trunkline_types::Clock as _;

use super::keyring_reseal;
use crate::config::{Config, KeyringPlace};
use crate::output::Output;

pub(super) fn generate(config: &Config, output: &Output) -> anyhow::Result<()> {
    let KeyringPlace::File(path) = &config.keyring else {
        anyhow::bail!(
            "keyring.text is set, so there is already a keyring; `trunkline keyring rotate` renews it"
        );
    };
    let document = Document::generate(SystemClock.now(), &SystemRandom)?;
    FileSource::new(path.clone()).create(&document)?;
    let text = format!(
        "Wrote {} with key generation {}.\nKeep a copy apart from the database's backups: without it, sealed rows are lost.",
        path.display(),
        document.generations().current.id
    );
    output.success(
        &text,
        &json!({ "ok": true, "file": path, "generations": listed(document.generations()) }),
    );
    Ok(())
}

pub(super) async fn rotate(
    config: &Config,
    drop_previous: bool,
    output: &Output,
) -> anyhow::Result<()> {
    let previous = read(config)?.generations().previous;
    if let Some(previous) = previous.filter(|_| !drop_previous) {
        keyring_reseal::check_rotation(config, &open(config)?, previous.id).await?;
    }
    let (rotated, place) = match &config.keyring {
        KeyringPlace::File(path) => {
            let rotated = FileSource::new(path.clone()).rotate(SystemClock.now(), &SystemRandom)?;
            (rotated, format!("Wrote {}.", path.display()))
        }
        KeyringPlace::Text(_) => {
            let rotated = read(config)?.rotate(SystemClock.now(), &SystemRandom)?;
            let line = rotated.document.to_line();
            (
                rotated,
                format!("Set keyring.text to this (secret) line:\n{}", line.reveal()),
            )
        }
    };
    let generations = rotated.document.generations();
    let retired = rotated.retired.map_or_else(
        || "No generation was dropped.".to_owned(),
        |id| {
            format!("Generation {id} was dropped: what only it sealed can no longer be decrypted.")
        },
    );
    let text = format!(
        "{place}\nGeneration {} seals from now on; generation {} is still readable.\n{retired}\n\
         Next: `trunkline keyring reseal`, when all nodes have it.",
        generations.current.id,
        generations
            .previous
            .map_or_else(|| "none".to_owned(), |previous| previous.id.to_string()),
    );
    let new_text = match &config.keyring {
        KeyringPlace::File(_) => Value::Null,
        KeyringPlace::Text(_) => json!(rotated.document.to_line().reveal()),
    };
    let object = json!({
        "ok": true,
        "generations": listed(generations),
        "retired": rotated.retired.map(|id| id.number()),
        "keyring_text": new_text,
    });
    output.success(&text, &object);
    Ok(())
}

pub(super) fn show(config: &Config, output: &Output) -> anyhow::Result<()> {
    let generations = read(config)?.generations();
    let line = |role: &str, generation: Generation| {
        let made = generation.created_at.map_or_else(
            || "at an unknown time".to_owned(),
            |at| format!("at {} (Unix seconds)", at.seconds()),
        );
        format!("generation {} ({role}), made {made}", generation.id)
    };
    let mut lines = vec![line("current", generations.current)];
    lines.extend(
        generations
            .previous
            .map(|previous| line("previous, decrypts only", previous)),
    );
    output.success(
        &lines.join("\n"),
        &json!({ "ok": true, "generations": listed(generations) }),
    );
    Ok(())
}

/// The keys themselves, for what is sealed or opened in the database.
pub(super) fn open(config: &Config) -> anyhow::Result<Keyring> {
    Ok(Keyring::new(&read(config)?, Arc::new(SystemRandom))?)
}

/// The file that a running node reads anew; none for a keyring that is kept as text.
pub(super) fn file(config: &Config) -> Option<PathBuf> {
    match &config.keyring {
        KeyringPlace::File(path) => Some(path.clone()),
        KeyringPlace::Text(_) => None,
    }
}

fn read(config: &Config) -> anyhow::Result<Document> {
    let source: Box<dyn RootKeySource> = match &config.keyring {
        KeyringPlace::File(path) => Box::new(FileSource::new(path.clone())),
        KeyringPlace::Text(text) => Box::new(TextSource::new(text.clone())),
    };
    Document::from_source(source.as_ref())
        .context("the keyring cannot be read; `trunkline keyring generate` creates one")
}

fn listed(generations: Generations) -> Value {
    let one = |role: &str, generation: Generation| {
        json!({
            "id": generation.id.number(),
            "role": role,
            "created_at": generation.created_at.map(|at| at.seconds()),
        })
    };
    let mut all = vec![one("current", generations.current)];
    all.extend(
        generations
            .previous
            .map(|previous| one("previous", previous)),
    );
    json!(all)
}
