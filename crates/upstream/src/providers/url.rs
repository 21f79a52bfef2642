//! The URL of a call: the path after a base URL, by task and by the provider's path scheme. Names are
//! percent-encoded, so that none can leave its path segment.

mod paths;

use http::Uri;

use super::{Format, Provider};

/// Longest name of a model, and longest id; ARNs of AWS have up to 2,048 characters.
const MAX_NAME_BYTES: usize = 2_048;

/// How a provider builds its paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addressing {
    /// Behind the base, as the format's inventor has them.
    Plain,
    /// Azure OpenAI: the model is a deployment in the path, and every call names a version.
    Azure {
        /// The version, such as `2024-10-21`.
        api_version: String,
    },
    /// AWS Bedrock: `/model/{id}/invoke`.
    Bedrock,
    /// Vertex AI: `/publishers/{publisher}/models/{model}:{verb}` behind a base that names project
    /// and region.
    Vertex,
}

/// An operation of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    Generate,
    CountTokens,
    Embeddings,
    Rerank,
    Moderations,
    /// A completion of a prompt, the legacy API.
    Completions,
    /// Retrieval of a stored response.
    ReadResponse,
    /// Deletion of a stored response.
    DeleteResponse,
    /// Cancellation of a running response.
    CancelResponse,
    /// The input items of a stored response.
    ResponseItems,
}

/// A call that needs a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask<'a> {
    /// The format. Ignored for embeddings, reranking, moderation and legacy completions, which are always in
    /// OpenAI's format.
    pub format: Format,
    pub task: Task,
    /// The upstream's name of the model; empty for a realtime session that transcribes.
    pub model: &'a str,
    /// Whether the response is streamed.
    pub stream: bool,
    /// The stored response, for tasks about one.
    pub id: Option<&'a str>,
}

/// Why a call has no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// The provider does not have the operation.
    #[error("{provider} has no address for {task} in {format}")]
    NoWay {
        provider: String,
        task: &'static str,
        /// The name of the format.
        format: &'static str,
    },
    /// A name that cannot be put into a path.
    #[error(
        "a {what} must have 1 to {MAX_NAME_BYTES} bytes, no control characters, and no empty, \".\" \
         or \"..\" part between slashes"
    )]
    Name { what: &'static str },
    /// An operation on a stored response without its id.
    #[error("the id of the response is missing")]
    NoId,
    /// The base is not an address.
    #[error("the base address must be http:// or https:// with a host, and without a query")]
    Base,
    /// The base of Vertex does not end in project and region.
    #[error("the base address must end in /projects/PROJECT/locations/REGION")]
    VertexBase,
}

// === impl Provider ===

impl Provider {
    /// Where a call goes. The base is the channel's, or else the provider's own.
    pub fn address(&self, base: &str, ask: &Ask<'_>) -> Result<Uri, UrlError> {
        let base = base.trim_end_matches('/');
        let behind = match &self.addressing {
            Addressing::Plain => paths::plain(ask)?,
            Addressing::Azure { api_version } => paths::azure(ask, api_version)?,
            Addressing::Bedrock => paths::bedrock(ask)?,
            Addressing::Vertex => paths::vertex(base, ask)?,
        };
        let behind = behind.ok_or_else(|| UrlError::NoWay {
            provider: self.name.clone(),
            task: ask.task.as_str(),
            format: ask.format.as_str(),
        })?;
        if base.contains(['?', '#']) {
            return Err(UrlError::Base);
        }
        let uri: Uri = format!("{base}{behind}")
            .parse()
            .map_err(|_| UrlError::Base)?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        if !is_http || uri.host().is_none_or(str::is_empty) {
            return Err(UrlError::Base);
        }
        Ok(uri)
    }
}

impl Provider {
    /// The address of all calls in a format, where none of them has a part of its own in it: it need not be put together
    /// for each.
    #[must_use]
    pub fn fixed_address(&self, base: &str, format: Format) -> Option<Uri> {
        let is_fixed = self.addressing == Addressing::Plain
            && matches!(
                format,
                Format::OpenaiChat | Format::ClaudeMessages | Format::OpenaiResponses
            );
        let ask = Ask {
            format,
            task: Task::Generate,
            model: "",
            stream: false,
            id: None,
        };
        self.address(base, &ask).ok().filter(|_| is_fixed)
    }
}

// === impl Task ===

impl Task {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Generate => "generate",
            Self::CountTokens => "count_tokens",
            Self::Embeddings => "embeddings",
            Self::Rerank => "rerank",
            Self::Moderations => "moderations",
            Self::Completions => "completions",
            Self::ReadResponse => "read_response",
            Self::DeleteResponse => "delete_response",
            Self::CancelResponse => "cancel_response",
            Self::ResponseItems => "response_items",
        }
    }
}

#[cfg(test)]
mod tests;
