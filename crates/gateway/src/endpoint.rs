//! The endpoints for calls: the name of each, its format, its name in the catalog, and what is
//! requested of an upstream.

use bytes::Bytes;
use trunkline_types::EndpointType;
use trunkline_upstream::Task;
use trunkline_wire::{Format, PassthroughEndpoint, PathParams, Request, RequestError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Its name in policies, quotes and usage rows.
    pub(crate) name: &'static str,
    pub(crate) path: &'static str,
    pub(crate) format: Format,
    /// Its name in the catalog.
    pub(crate) endpoint: EndpointType,
    /// Relayed, and no conversation.
    pub(crate) passthrough: Option<PassthroughEndpoint>,
}

/// `POST /v1/chat/completions`.
pub(crate) const CHAT: Endpoint = Endpoint {
    name: "chat",
    path: "chat/completions",
    format: Format::OpenaiChat,
    endpoint: EndpointType::Openai,
    passthrough: None,
};
/// `POST /v1/messages`.
pub(crate) const MESSAGES: Endpoint = Endpoint {
    name: "messages",
    path: "messages",
    format: Format::ClaudeMessages,
    endpoint: EndpointType::Anthropic,
    passthrough: None,
};
/// `POST /v1/responses`.
pub(crate) const RESPONSES: Endpoint = Endpoint {
    name: "responses",
    path: "responses",
    format: Format::OpenaiResponses,
    endpoint: EndpointType::OpenaiResponse,
    passthrough: None,
};
/// `POST /v1beta/models/{model}:generateContent` and its kin.
pub(crate) const GEMINI: Endpoint = Endpoint {
    name: "gemini",
    path: "gemini",
    format: Format::Gemini,
    endpoint: EndpointType::Gemini,
    passthrough: None,
};
/// `POST /v1/embeddings`.
pub(crate) const EMBEDDINGS: Endpoint = relayed("embeddings", PassthroughEndpoint::Embeddings);
/// `POST /v1/rerank`.
pub(crate) const RERANK: Endpoint = relayed("rerank", PassthroughEndpoint::Rerank);
/// `POST /v1/moderations`.
pub(crate) const MODERATIONS: Endpoint = relayed("moderations", PassthroughEndpoint::Moderations);
/// `POST /v1/completions`.
pub(crate) const COMPLETIONS: Endpoint = relayed("completions", PassthroughEndpoint::Completions);
pub(crate) const ENDPOINTS: [Endpoint; 8] = [
    CHAT,
    MESSAGES,
    RESPONSES,
    GEMINI,
    EMBEDDINGS,
    RERANK,
    MODERATIONS,
    COMPLETIONS,
];

const fn relayed(name: &'static str, kind: PassthroughEndpoint) -> Endpoint {
    Endpoint {
        name,
        path: name,
        format: Format::OpenaiChat,
        endpoint: EndpointType::Openai,
        passthrough: Some(kind),
    }
}

impl Endpoint {
    /// Reads a body that came in here.
    pub(crate) fn read(self, body: Bytes, path: PathParams<'_>) -> Result<Request, RequestError> {
        match self.passthrough {
            Some(kind) => Request::read_passthrough(kind, body),
            None => Request::read(self.format, body, path),
        }
    }

    /// What an upstream is asked for.
    pub(crate) const fn task(self) -> Task {
        match self.passthrough {
            None => Task::Generate,
            Some(PassthroughEndpoint::Embeddings) => Task::Embeddings,
            Some(PassthroughEndpoint::Rerank) => Task::Rerank,
            Some(PassthroughEndpoint::Moderations) => Task::Moderations,
            Some(PassthroughEndpoint::Completions) => Task::Completions,
        }
    }
}

/// The endpoint of a name or a path, as quotes name it.
pub(crate) fn endpoint_of(name: &str) -> Option<Endpoint> {
    let name = name.trim_start_matches('/').trim_start_matches("v1/");
    ENDPOINTS
        .into_iter()
        .find(|endpoint| endpoint.name == name || endpoint.path == name)
}
