//! The paths behind a base, one function for each kind of addressing.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{Ask, MAX_NAME_BYTES, Task, UrlError};
use crate::providers::Format;

/// What is not encoded in a path segment. A colon is: Google puts its verbs after one.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'@');
/// Azure's v1 paths accept no dated version.
const AZURE_V1: &str = "preview";

/// The path and query after a base URL. None: there is none for this task.
pub(super) type Behind = Result<Option<String>, UrlError>;

/// The formats in which a model is talked to.
enum Talk {
    Chat,
    Messages,
    Responses,
    Gemini,
}

const fn talk(format: Format) -> Option<Talk> {
    match format {
        Format::OpenaiChat => Some(Talk::Chat),
        Format::ClaudeMessages => Some(Talk::Messages),
        Format::OpenaiResponses => Some(Talk::Responses),
        Format::Gemini => Some(Talk::Gemini),
        Format::OpenaiImages
        | Format::MinimaxImages
        | Format::DashscopeImages
        | Format::ArkImages
        | Format::OpenaiSpeech
        | Format::MinimaxSpeech
        | Format::DashscopeSpeech
        | Format::OpenaiTranscription
        | Format::DashscopeTranscription
        | Format::ZhipuTranscription
        | Format::DashscopeVideo
        | Format::ArkVideo
        | Format::KlingVideo
        | Format::MinimaxVideo
        | Format::OpenaiVideo
        | Format::OpenaiRealtime
        | Format::SocialData => None,
    }
}

/// The query that names the model of a realtime connection, or that it transcribes; none for other calls.
fn realtime(ask: &Ask<'_>) -> Result<Option<String>, UrlError> {
    if (ask.format, ask.task) != (Format::OpenaiRealtime, Task::Generate) {
        return Ok(None);
    }
    // A session that transcribes names its model itself.
    if ask.model.is_empty() {
        return Ok(Some("/realtime?intent=transcription".to_owned()));
    }
    Ok(Some(format!(
        "/realtime?model={}",
        segment("model", ask.model)?
    )))
}

pub(super) fn plain(ask: &Ask<'_>) -> Behind {
    if let Some(path) = realtime(ask)? {
        return Ok(Some(path));
    }
    let fixed = match (ask.task, talk(ask.format)) {
        (Task::Generate, Some(Talk::Chat)) => "/chat/completions",
        (Task::Generate, Some(Talk::Messages)) => "/messages",
        (Task::Generate, Some(Talk::Responses)) => "/responses",
        (Task::CountTokens, Some(Talk::Messages)) => "/messages/count_tokens",
        (Task::CountTokens, Some(Talk::Responses)) => "/responses/input_tokens",
        (Task::Generate | Task::CountTokens, Some(Talk::Gemini)) => {
            return Ok(Some(format!("/models/{}", gemini(ask)?)));
        }
        (Task::CountTokens, Some(Talk::Chat)) | (Task::Generate | Task::CountTokens, None) => {
            return Ok(None);
        }
        (Task::Embeddings, _) => "/embeddings",
        (Task::Rerank, _) => "/rerank",
        (Task::Moderations, _) => "/moderations",
        (Task::Completions, _) => "/completions",
        (
            Task::ReadResponse | Task::DeleteResponse | Task::CancelResponse | Task::ResponseItems,
            _,
        ) => return stored(ask, "/responses"),
    };
    Ok(Some(fixed.to_owned()))
}

pub(super) fn azure(ask: &Ask<'_>, version: &str) -> Behind {
    let deployed = |what: &str| {
        let deployment = segment("model", ask.model)?;
        let path = format!("/openai/deployments/{deployment}/{what}?api-version={version}");
        Ok(Some(path))
    };
    let v1 = |path: Option<String>| path.map(|path| format!("{path}?api-version={AZURE_V1}"));
    let responses = "/openai/v1/responses";
    // Its v1 paths for realtime take no version at all.
    if let Some(path) = realtime(ask)? {
        return Ok(Some(format!("/openai/v1{path}")));
    }
    match (ask.task, talk(ask.format)) {
        (Task::Generate, Some(Talk::Chat)) => deployed("chat/completions"),
        (Task::Generate, Some(Talk::Responses)) => Ok(v1(Some(responses.to_owned()))),
        (Task::Embeddings, _) => deployed("embeddings"),
        (Task::Completions, _) => deployed("completions"),
        (
            Task::ReadResponse | Task::DeleteResponse | Task::CancelResponse | Task::ResponseItems,
            _,
        ) => stored(ask, responses).map(v1),
        (Task::Generate, Some(Talk::Messages | Talk::Gemini) | None)
        | (Task::CountTokens | Task::Rerank | Task::Moderations, _) => Ok(None),
    }
}

pub(super) fn bedrock(ask: &Ask<'_>) -> Behind {
    let is_known = match (ask.task, talk(ask.format)) {
        (Task::Generate, Some(Talk::Messages)) => true,
        // Its token counting wraps the request in another one, in base64.
        (Task::CountTokens, _)
        | (Task::Generate, Some(Talk::Chat | Talk::Responses | Talk::Gemini) | None)
        | (
            Task::Embeddings
            | Task::Rerank
            | Task::Moderations
            | Task::Completions
            | Task::ReadResponse
            | Task::DeleteResponse
            | Task::CancelResponse
            | Task::ResponseItems,
            _,
        ) => false,
    };
    if !is_known {
        return Ok(None);
    }
    let verb = if ask.stream {
        "invoke-with-response-stream"
    } else {
        "invoke"
    };
    let model = segment("model", ask.model)?;
    Ok(Some(format!("/model/{model}/{verb}")))
}

pub(super) fn vertex(base: &str, ask: &Ask<'_>) -> Behind {
    let behind = match (ask.task, talk(ask.format)) {
        (Task::Generate | Task::CountTokens, Some(Talk::Gemini)) => {
            format!("/publishers/google/models/{}", gemini(ask)?)
        }
        (Task::Generate, Some(Talk::Messages)) => {
            let verb = if ask.stream {
                "streamRawPredict"
            } else {
                "rawPredict"
            };
            let model = segment("model", ask.model)?;
            format!("/publishers/anthropic/models/{model}:{verb}")
        }
        // The one call with the model in its body.
        (Task::CountTokens, Some(Talk::Messages)) => {
            "/publishers/anthropic/models/count-tokens:rawPredict".to_owned()
        }
        (Task::Generate | Task::CountTokens, Some(Talk::Chat | Talk::Responses) | None)
        | (
            Task::Embeddings
            | Task::Rerank
            | Task::Moderations
            | Task::Completions
            | Task::ReadResponse
            | Task::DeleteResponse
            | Task::CancelResponse
            | Task::ResponseItems,
            _,
        ) => return Ok(None),
    };
    let mut parts = base.rsplit('/');
    let mut is_named = |word: &str| {
        let name = parts.next().is_some_and(|name| !name.is_empty());
        name && parts.next() == Some(word)
    };
    if !(is_named("locations") && is_named("projects")) {
        return Err(UrlError::VertexBase);
    }
    Ok(Some(behind))
}

/// The model and the verb of Gemini's own paths.
fn gemini(ask: &Ask<'_>) -> Result<String, UrlError> {
    let verb = match (ask.task == Task::CountTokens, ask.stream) {
        (true, _) => "countTokens",
        (false, true) => "streamGenerateContent?alt=sse",
        (false, false) => "generateContent",
    };
    Ok(format!("{}:{verb}", segment("model", ask.model)?))
}

/// A path about one stored response.
fn stored(ask: &Ask<'_>, responses: &str) -> Behind {
    let id = segment("response id", ask.id.ok_or(UrlError::NoId)?)?;
    let mut path = format!("{responses}/{id}");
    match ask.task {
        Task::CancelResponse => path.push_str("/cancel"),
        Task::ResponseItems => path.push_str("/input_items"),
        Task::ReadResponse | Task::DeleteResponse => {}
        Task::Generate
        | Task::CountTokens
        | Task::Embeddings
        | Task::Rerank
        | Task::Moderations
        | Task::Completions => return Ok(None),
    }
    Ok(Some(path))
}

/// A name as one segment of a path. Dots that would climb are refused even behind an encoded slash,
/// because servers in between are known to decode first and to climb then.
fn segment(what: &'static str, name: &str) -> Result<String, UrlError> {
    let climbs = |part: &str| matches!(part, "" | "." | "..");
    let is_bad = name.len() > MAX_NAME_BYTES
        || name.chars().any(char::is_control)
        || name.split(['/', '\\']).any(climbs);
    if is_bad {
        return Err(UrlError::Name { what });
    }
    Ok(utf8_percent_encode(name, KEPT).to_string())
}
