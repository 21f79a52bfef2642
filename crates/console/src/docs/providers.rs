//! The table of the built-in providers, made of their files, so that a new file is in the documentation at once.

use trunkline_upstream::{Format, Proof, Provider, Providers};

/// Stands in a page where the table belongs.
const PLACE: &str = "{{providers}}";

/// The text with the table in its place.
pub(super) fn filled(text: &str) -> String {
    if !text.contains(PLACE) {
        return text.to_owned();
    }
    // A test excludes a mistake in our own files.
    let table = Providers::builtin().map(|all| table(&all));
    text.replace(PLACE, table.unwrap_or_default().trim_end())
}

fn table(all: &Providers) -> String {
    let mut out = String::from(
        "| Provider | Proof | Base URL | Credential | Formats |\n|---|---|---|---|---|\n",
    );
    let vendors = all
        .names()
        .filter(|name| !name.starts_with("simulator"))
        .filter_map(|name| all.get(name));
    for provider in vendors {
        out.push_str(&row(provider));
    }
    out
}

fn row(provider: &Provider) -> String {
    let base = provider.base_url.as_deref();
    let base = base.map_or_else(|| "set by the channel".to_owned(), |url| format!("`{url}`"));
    let formats = provider.formats.iter().copied();
    let formats: Vec<String> = formats
        .map(Format::as_str)
        .map(|format| format!("`{format}`"))
        .collect();
    format!(
        "| `{}` | {} | {base} | `{}` | {} |\n",
        provider.name,
        provider.proof.map_or("", Proof::as_str),
        provider.auth.words(),
        formats.join(" ")
    )
}
