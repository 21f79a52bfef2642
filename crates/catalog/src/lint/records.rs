//! Lint findings about a model's record: vendor, endpoints, kind.

use std::collections::BTreeSet;

use trunkline_types::EndpointType;

use super::{Notes, Spoken};
use crate::document::{CatalogHeader, Document, Entry};
use crate::specs::ModelKind;

/// The beginning of the names that may list Gemini's own path.
const GEMINI: &str = "gemini-";
/// The task of records that stand for a cell of social data and have no endpoint type.
const SOCIAL: &str = "social-data";
const CHAT: [EndpointType; 3] = [
    EndpointType::Openai,
    EndpointType::Anthropic,
    EndpointType::OpenaiResponse,
];

/// Groups that no model is sold in.
pub(super) fn unused_groups(document: &Document, notes: &mut Notes<'_>) {
    let sold_in: BTreeSet<&String> = document
        .models
        .values()
        .flat_map(|entry| &entry.groups)
        .collect();
    let unused = |group: &&String| !sold_in.contains(*group);
    for group in document.groups.keys().filter(unused) {
        notes.warn(
            "group_unused",
            format!("nothing is sold in group {group:?}"),
        );
    }
}

pub(super) fn check(
    name: &str,
    entry: &Entry,
    header: &CatalogHeader,
    spoken: Spoken<'_>,
    notes: &mut Notes<'_>,
) {
    let is_social = has_task(entry, SOCIAL);
    surroundings(entry, header, is_social, notes);
    endpoints(name, entry, spoken, notes);
    words(entry, is_social, notes);
}

fn surroundings(entry: &Entry, header: &CatalogHeader, is_social: bool, notes: &mut Notes<'_>) {
    match &entry.vendor {
        Some(vendor) if !header.vendors.contains_key(vendor) => {
            notes.error("vendor_unknown", format!("{vendor:?} is no vendor"));
        }
        None if !is_social => notes.warn("vendor_missing", "it names no vendor"),
        Some(_) | None => {}
    }
    let unknown = |group: &&String| !header.groups.contains_key(*group);
    for group in entry.groups.iter().filter(unknown) {
        notes.error("group_unknown", format!("{group:?} is no group"));
    }
}

fn endpoints(name: &str, entry: &Entry, spoken: Spoken<'_>, notes: &mut Notes<'_>) {
    let silent = |endpoint: &&EndpointType| endpoint.is_callable() && !spoken(**endpoint);
    for endpoint in entry.endpoints.iter().filter(silent) {
        notes.error(
            "endpoint_unspoken",
            format!("no provider can serve {endpoint}"),
        );
    }
    if entry.serves(EndpointType::Gemini) && !name.starts_with(GEMINI) {
        notes.error(
            "gemini_endpoint_on_other_model",
            "only names that begin with gemini- may list the endpoint type gemini",
        );
    }
    let has_chat = CHAT.iter().any(|endpoint| entry.serves(*endpoint));
    if entry.specs.kind == Some(ModelKind::Llm) && !has_chat {
        notes.error(
            "chat_without_format",
            "a model of type llm lists openai, anthropic or openai-response",
        );
    }
    if entry.endpoints.is_empty() && !has_task(entry, SOCIAL) {
        notes.warn("no_endpoint", "it cannot be called: it lists no endpoint");
    }
}

fn words(entry: &Entry, is_social: bool, notes: &mut Notes<'_>) {
    let description = entry.description.as_deref().unwrap_or_default();
    if description.trim().is_empty() {
        notes.warn("description_missing", "it has no description");
    }
    if entry.tasks.is_empty() {
        notes.warn("tasks_missing", "it does not say what it is for");
    }
    if entry.specs.kind.is_none()
        && !is_social
        && let Some(kind) = expected_kind(entry)
    {
        notes.warn("kind_missing", format!("specs.type is missing; {kind}?"));
    }
    if entry.login_required {
        notes.warn(
            "login_required",
            "it is hidden from callers without a key; is that meant?",
        );
    }
}

/// The kind that what it is called through and what it is for tell. Speech, vectors and the like
/// have no word in the closed list.
fn expected_kind(entry: &Entry) -> Option<&'static str> {
    entry.endpoints.iter().find_map(|endpoint| match endpoint {
        EndpointType::Openai | EndpointType::Anthropic | EndpointType::OpenaiResponse => {
            has_task(entry, "chat").then_some("llm")
        }
        EndpointType::OpenaiVideo => Some("video"),
        EndpointType::ImageGeneration => Some("image"),
        EndpointType::AudioTranscription => Some("asr"),
        EndpointType::MusicGeneration => Some("music"),
        EndpointType::SystemOne => Some("decision"),
        EndpointType::AudioSpeech | EndpointType::Realtime | EndpointType::Gemini => None,
    })
}

fn has_task(entry: &Entry, task: &str) -> bool {
    entry.tasks.iter().any(|word| word == task)
}
