//! Addresses, as a table.

use super::*;
use crate::Providers;

const AZURE: &str = "https://acme.openai.azure.com";
const BEDROCK: &str = "https://bedrock-runtime.us-east-1.amazonaws.com";
const VERTEX: &str =
    "https://us-east5-aiplatform.googleapis.com/v1/projects/p-1/locations/us-east5";

fn ask(format: Format, task: Task) -> Ask<'static> {
    Ask {
        format,
        task,
        model: "m-1",
        stream: false,
        id: Some("resp_1"),
    }
}

fn address(name: &str, base: &str, ask: &Ask<'_>) -> Result<String, UrlError> {
    let all = Providers::builtin().unwrap();
    let uri = all.get(name).unwrap().address(base, ask)?;
    Ok(uri.to_string())
}

#[test]
fn every_task_has_the_address_that_its_vendor_documents() {
    use Format::{ClaudeMessages, Gemini, OpenaiChat, OpenaiResponses};
    let chat = |task| ask(OpenaiChat, task);
    let responses = |task| ask(OpenaiResponses, task);
    let plain = [
        (chat(Task::Generate), "/chat/completions"),
        (chat(Task::Embeddings), "/embeddings"),
        (chat(Task::Rerank), "/rerank"),
        (chat(Task::Moderations), "/moderations"),
        (chat(Task::Completions), "/completions"),
        (responses(Task::Generate), "/responses"),
        (responses(Task::CountTokens), "/responses/input_tokens"),
        (responses(Task::ReadResponse), "/responses/resp_1"),
        (responses(Task::DeleteResponse), "/responses/resp_1"),
        (responses(Task::CancelResponse), "/responses/resp_1/cancel"),
        (
            responses(Task::ResponseItems),
            "/responses/resp_1/input_items",
        ),
        (ask(ClaudeMessages, Task::Generate), "/messages"),
        (
            ask(ClaudeMessages, Task::CountTokens),
            "/messages/count_tokens",
        ),
        (ask(Gemini, Task::Generate), "/models/m-1:generateContent"),
        (ask(Gemini, Task::CountTokens), "/models/m-1:countTokens"),
    ];
    for (ask, behind) in plain {
        for base in ["https://api.example.com/v1", "https://api.example.com/v1/"] {
            let expected = format!("https://api.example.com/v1{behind}");
            assert_eq!(address("openai_compatible", base, &ask), Ok(expected));
        }
    }
    let rows = [
        (
            "azure",
            AZURE,
            chat(Task::Generate),
            "/openai/deployments/m-1/chat/completions?api-version=2024-10-21",
        ),
        (
            "azure",
            AZURE,
            chat(Task::Embeddings),
            "/openai/deployments/m-1/embeddings?api-version=2024-10-21",
        ),
        (
            "azure",
            AZURE,
            responses(Task::Generate),
            "/openai/v1/responses?api-version=preview",
        ),
        (
            "azure",
            AZURE,
            responses(Task::CancelResponse),
            "/openai/v1/responses/resp_1/cancel?api-version=preview",
        ),
        (
            "bedrock",
            BEDROCK,
            ask(ClaudeMessages, Task::Generate),
            "/model/m-1/invoke",
        ),
        (
            "vertex",
            VERTEX,
            ask(Gemini, Task::Generate),
            "/publishers/google/models/m-1:generateContent",
        ),
        (
            "vertex",
            VERTEX,
            ask(Gemini, Task::CountTokens),
            "/publishers/google/models/m-1:countTokens",
        ),
        (
            "vertex_anthropic",
            VERTEX,
            ask(ClaudeMessages, Task::Generate),
            "/publishers/anthropic/models/m-1:rawPredict",
        ),
        (
            "vertex_anthropic",
            VERTEX,
            ask(ClaudeMessages, Task::CountTokens),
            "/publishers/anthropic/models/count-tokens:rawPredict",
        ),
    ];
    for (name, base, ask, behind) in rows {
        assert_eq!(address(name, base, &ask), Ok(format!("{base}{behind}")));
    }
}

#[test]
fn a_stream_has_another_address_where_the_vendor_says_so_by_the_path() {
    let rows = [
        (
            "openai",
            "https://a.example",
            Format::OpenaiChat,
            "/chat/completions",
        ),
        (
            "google",
            "https://a.example",
            Format::Gemini,
            "/models/m-1:streamGenerateContent?alt=sse",
        ),
        (
            "bedrock",
            BEDROCK,
            Format::ClaudeMessages,
            "/model/m-1/invoke-with-response-stream",
        ),
        (
            "vertex",
            VERTEX,
            Format::Gemini,
            "/publishers/google/models/m-1:streamGenerateContent?alt=sse",
        ),
        (
            "vertex_anthropic",
            VERTEX,
            Format::ClaudeMessages,
            "/publishers/anthropic/models/m-1:streamRawPredict",
        ),
    ];
    for (name, base, format, behind) in rows {
        let streamed = Ask {
            stream: true,
            ..ask(format, Task::Generate)
        };
        assert_eq!(
            address(name, base, &streamed),
            Ok(format!("{base}{behind}"))
        );
    }
}

#[test]
fn no_name_leaves_its_place_in_the_path() {
    let of = |model| {
        let question = Ask {
            model,
            ..ask(Format::Gemini, Task::Generate)
        };
        address("google", "https://a.example", &question)
    };
    let wrapped = |inside: &str| Ok(format!("https://a.example/models/{inside}:generateContent"));
    for (model, inside) in [
        ("claude-x@20250514", "claude-x@20250514"),
        ("a/b", "a%2Fb"),
        ("a?b=c&d#e", "a%3Fb%3Dc%26d%23e"),
        ("a%2e", "a%252e"),
        ("a:streamGenerateContent", "a%3AstreamGenerateContent"),
        ("ä b", "%C3%A4%20b"),
        ("v1.5..x", "v1.5..x"),
    ] {
        assert_eq!(of(model), wrapped(inside), "{model}");
    }
    let arn = "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.x-v1:0";
    let question = Ask {
        model: arn,
        ..ask(Format::ClaudeMessages, Task::Generate)
    };
    let expected = "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.anthropic.x-v1%3A0/invoke";
    assert_eq!(
        address("bedrock", BEDROCK, &question),
        Ok(format!("{BEDROCK}{expected}"))
    );

    let longest = "x".repeat(MAX_NAME_BYTES);
    assert!(of(&longest).is_ok());
    let longer = format!("{longest}x");
    for model in [
        "", ".", "..", "../x", "a/../b", "a//b", "a\\..\\b", "/a", "a\nb", &longer,
    ] {
        assert_eq!(
            of(model),
            Err(UrlError::Name { what: "model" }),
            "{model:?}"
        );
    }
    let stored = |id| {
        let question = Ask {
            id,
            ..ask(Format::OpenaiResponses, Task::ReadResponse)
        };
        address("openai", "https://a.example", &question)
    };
    assert_eq!(stored(None), Err(UrlError::NoId));
    let what = "response id";
    assert_eq!(stored(Some("..")), Err(UrlError::Name { what }));
    assert_eq!(
        stored(Some("a?b")).unwrap(),
        "https://a.example/responses/a%3Fb"
    );
}

#[test]
fn a_realtime_connection_names_its_model_in_the_query() {
    let question = Ask {
        model: "gpt-realtime 2/x",
        ..ask(Format::OpenaiRealtime, Task::Generate)
    };
    for (provider, base, to) in [
        (
            "openai",
            "https://a.example/v1",
            "https://a.example/v1/realtime?model=gpt-realtime%202%2Fx",
        ),
        (
            "azure",
            "https://a.example",
            "https://a.example/openai/v1/realtime?model=gpt-realtime%202%2Fx",
        ),
    ] {
        assert_eq!(address(provider, base, &question).unwrap(), to);
        let unnamed = Ask {
            model: "",
            ..question
        };
        let to = address(provider, base, &unnamed).unwrap();
        assert!(to.ends_with("/realtime?intent=transcription"), "{to}");
    }
}

#[test]
fn what_a_provider_cannot_be_asked_is_said_and_not_guessed() {
    let all = Providers::builtin().unwrap();
    for (name, base, ask) in [
        ("openai", AZURE, ask(Format::OpenaiChat, Task::CountTokens)),
        (
            "bedrock",
            BEDROCK,
            ask(Format::OpenaiRealtime, Task::Generate),
        ),
        ("azure", AZURE, ask(Format::ClaudeMessages, Task::Generate)),
        ("azure", AZURE, ask(Format::OpenaiChat, Task::Rerank)),
        ("bedrock", BEDROCK, ask(Format::OpenaiChat, Task::Generate)),
        (
            "bedrock",
            BEDROCK,
            ask(Format::ClaudeMessages, Task::CountTokens),
        ),
        ("vertex", VERTEX, ask(Format::OpenaiChat, Task::Generate)),
        ("vertex", VERTEX, ask(Format::OpenaiChat, Task::Embeddings)),
    ] {
        let error = all.get(name).unwrap().address(base, &ask).unwrap_err();
        let words = (ask.task.as_str(), ask.format.as_str());
        assert!(matches!(error, UrlError::NoWay { task, format, .. } if (task, format) == words));
    }
    let error = address("openai", AZURE, &ask(Format::OpenaiChat, Task::CountTokens));
    let error = error.unwrap_err().to_string();
    assert_eq!(
        error,
        "openai has no address for count_tokens in openai_chat"
    );
}

#[test]
fn a_base_that_is_none_is_refused() {
    let chat = ask(Format::OpenaiChat, Task::Generate);
    for base in [
        "",
        "a.example",
        "ftp://a.example",
        "https://",
        "https://a?b=c",
        "/v1",
        "https://a#b",
    ] {
        assert_eq!(
            address("openai", base, &chat),
            Err(UrlError::Base),
            "{base}"
        );
    }
    let gemini = ask(Format::Gemini, Task::Generate);
    for base in [
        "https://us-east5-aiplatform.googleapis.com",
        "https://us-east5-aiplatform.googleapis.com/v1/projects/p",
        "https://us-east5-aiplatform.googleapis.com/v1/projects//locations/r",
        "https://us-east5-aiplatform.googleapis.com/v1/projects/p/regions/r",
    ] {
        assert_eq!(
            address("vertex", base, &gemini),
            Err(UrlError::VertexBase),
            "{base}"
        );
    }
}

#[test]
fn a_fixed_address_is_the_address_of_every_call_in_its_format() {
    let (all, base) = (Providers::builtin().unwrap(), "https://a.example/v1");
    let mut fixed = 0;
    for provider in all.names().map(|name| all.get(name).unwrap()) {
        for format in provider.formats.iter().copied() {
            let Some(address) = provider.fixed_address(base, format) else {
                continue;
            };
            fixed += 1;
            for stream in [false, true] {
                let ask = Ask {
                    stream,
                    ..ask(format, Task::Generate)
                };
                assert_eq!(provider.address(base, &ask), Ok(address.clone()));
            }
        }
    }
    assert!(fixed > 5, "{fixed}");
    for named_in_path in ["azure", "bedrock", "vertex", "google"] {
        let provider = all.get(named_in_path).unwrap();
        let mut formats = provider.formats.iter();
        assert!(formats.all(|format| provider.fixed_address(BEDROCK, *format).is_none()));
    }
}
