//! The paths of the small endpoints, and the refusals of those whose vendor has a shape of its own.

use crate::ordered_json::OrderedJson;
use crate::refusal::Refusal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Embeddings,
    Moderations,
    Completions,
    RerankV1,
    RerankV2,
}

// === impl Endpoint ===

impl Endpoint {
    pub(crate) fn at(path: &str) -> Option<Self> {
        match path {
            "/v1/embeddings" => Some(Self::Embeddings),
            "/v1/moderations" => Some(Self::Moderations),
            "/v1/completions" => Some(Self::Completions),
            "/v1/rerank" => Some(Self::RerankV1),
            "/v2/rerank" => Some(Self::RerankV2),
            _ => None,
        }
    }
}

/// The body of a refusal on a path whose vendor has a shape of its own.
pub(crate) fn refusal_body(path: &str, refusal: &Refusal) -> Option<String> {
    match Endpoint::at(path)? {
        Endpoint::RerankV1 => Some(error_text("detail", refusal)),
        Endpoint::RerankV2 => Some(error_text("message", refusal)),
        Endpoint::Embeddings | Endpoint::Moderations | Endpoint::Completions => None,
    }
}

/// A refusal as these vendors write it.
fn error_text(field: &str, refusal: &Refusal) -> String {
    OrderedJson::new()
        .with(field, &refusal.detail.message)
        .done()
}
