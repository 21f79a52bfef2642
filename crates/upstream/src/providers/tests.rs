//! Providers as operators write them.

use std::fs;

use super::*;

const GOOD: &str = r#"
name = "mine"
base_url = "https://llm.example.com/v1/"
auth = "header:X-Api-Key"
formats = ["claude_messages", "openai_chat"]
quirks = ["http2", "no_stream_options"]
connect_ms = 1
first_byte_ms = 2
idle_ms = 3
total_ms = 86400000
"#;

fn load_error(text: &str) -> String {
    read::provider("mine.toml", "mine", text)
        .unwrap_err()
        .to_string()
}

#[test]
fn every_file_of_the_folder_is_built_in_and_usable() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/providers");
    let files = read::files(Path::new(folder)).unwrap();
    let all = Providers::builtin().unwrap();
    let names: Vec<&str> = all.names().collect();
    let in_folder: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(names, in_folder, "what is there is built in");
    for name in names {
        let provider = all.get(name).unwrap();
        let address = provider.base_url.as_deref();
        assert!(
            address.is_none_or(|address| address.starts_with("https://")),
            "{name}: a built-in address is one with TLS"
        );
    }
    let openai = all.get("openai").unwrap();
    assert_eq!(
        openai.base_url.as_deref(),
        Some("https://api.openai.com/v1")
    );
    assert!(openai.speaks(Format::OpenaiResponses) && openai.has(Quirk::ReasoningCap));
    assert!(all.get("deepseek").unwrap().has(Quirk::MaxTokensOnly));
    let assembled: Vec<&str> = all
        .names()
        .filter(|name| all.get(name).unwrap().aggregate_stream)
        .collect();
    let documented = [
        "anthropic",
        "ark",
        "dashscope",
        "deepseek",
        "fireworks",
        "google",
        "moonshot",
        "openai",
        "together",
        "xai",
        "zhipu",
    ];
    assert_eq!(
        assembled, documented,
        "usage in their streams is documented"
    );
    assert!(all.get("simulator").unwrap().base_url.is_none());
    assert!(all.get("nobody").is_none());
}

/// What CI reads with the SDK of its vendor, and with which scripts. A file with another proof needs no line here.
#[test]
fn every_built_in_file_says_how_it_was_proved_and_none_claims_more_than_ci_shows() {
    const BY_SDK: [(&str, &[&str]); 10] = [
        ("anthropic", &["anthropic_messages.py"]),
        ("azure", &["azure_small.py"]),
        ("bedrock", &["anthropic_messages.py"]),
        (
            "dashscope_native",
            &[
                "dashscope_audio.py",
                "dashscope_images.py",
                "dashscope_video.py",
            ],
        ),
        ("google", &["gemini.py"]),
        (
            "openai",
            &[
                "openai_audio.py",
                "openai_chat.py",
                "openai_images.py",
                "openai_videos.py",
                "responses.py",
            ],
        ),
        ("simulator", &["openai_chat.py"]),
        ("simulator_responses", &["responses.py"]),
        ("tikhub", &["tikhub_social.py"]),
        ("vertex", &["gemini.py"]),
    ];
    let all = Providers::builtin().unwrap();
    let proved = |proof: Proof| -> Vec<&str> {
        let proof = Some(proof);
        let is_proved = |name: &&str| all.get(name).unwrap().proof == proof;
        all.names().filter(is_proved).collect()
    };
    assert!(proved(Proof::Live).is_empty(), "no vendor was called");
    assert_eq!(proved(Proof::Sdk), BY_SDK.map(|(name, _)| name));
    let silent = all
        .names()
        .filter(|name| all.get(name).unwrap().proof.is_none());
    assert_eq!(silent.collect::<Vec<_>>(), Vec::<&str>::new());
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../simulator/tests/it/sdk");
    for script in BY_SDK.iter().flat_map(|(_, scripts)| *scripts) {
        assert!(scripts.join(script).is_file(), "{script}");
    }
}

#[test]
fn a_proof_is_read_by_its_word() {
    for proof in Proof::ALL {
        let text = format!("proof = {:?}\n{GOOD}", proof.as_str());
        let read = read::provider("mine.toml", "mine", &text).unwrap();
        assert_eq!(read.proof, Some(proof));
    }
}

#[test]
fn every_callable_endpoint_type_has_a_provider() {
    let all = Providers::builtin().unwrap();
    for endpoint in EndpointType::ALL {
        assert_eq!(
            all.any_serves(endpoint),
            endpoint.is_callable(),
            "{endpoint}"
        );
    }
    let deepseek = all.get("deepseek").unwrap();
    assert!(deepseek.serves(EndpointType::Anthropic));
    assert!(!deepseek.serves(EndpointType::Gemini));
    let alone = BTreeMap::from([("deepseek".to_owned(), deepseek.clone())]);
    let alone = Providers {
        all: alone,
        ..all.clone()
    };
    assert!(!alone.any_serves(EndpointType::AudioSpeech));
}

#[test]
fn a_provider_is_read_key_by_key() {
    let read = read::provider("mine.toml", "mine", GOOD).unwrap();
    let expected = Provider {
        name: "mine".to_owned(),
        proof: None,
        base_url: Some("https://llm.example.com/v1".to_owned()),
        auth: Auth::Header("x-api-key".to_owned()),
        addressing: Addressing::Plain,
        formats: vec![Format::ClaudeMessages, Format::OpenaiChat],
        quirks: BTreeSet::from([Quirk::NoStreamOptions, Quirk::Http2]),
        aggregate_stream: false,
        pass_fields: PassFields::new(),
        answers: Vec::new(),
        connect_ms: 1,
        first_byte_ms: 2,
        idle_ms: 3,
        total_ms: 86_400_000,
    };
    assert_eq!(read, expected);
}

#[test]
fn ways_in_and_paths_are_read_by_their_words() {
    for (auth, expected) in [
        ("bearer", Auth::Bearer),
        ("header:a-b", Auth::Header("a-b".to_owned())),
        ("sigv4:bedrock", Auth::SigV4("bedrock".to_owned())),
        ("google_service_account", Auth::GoogleServiceAccount),
        ("kling_token", Auth::KlingToken),
    ] {
        let text = GOOD.replace("header:X-Api-Key", auth);
        let read = read::provider("mine.toml", "mine", &text).unwrap();
        assert_eq!((read.auth.words().as_str(), &read.auth), (auth, &expected));
    }
    let api_version = "2024-10-21".to_owned();
    for (keys, expected) in [
        ("addressing = \"plain\"", Addressing::Plain),
        ("addressing = \"bedrock\"", Addressing::Bedrock),
        ("addressing = \"vertex\"", Addressing::Vertex),
        (
            "addressing = \"azure\"\napi_version = \"2024-10-21\"",
            Addressing::Azure { api_version },
        ),
    ] {
        let text = format!("{keys}\n{GOOD}");
        let read = read::provider("mine.toml", "mine", &text).unwrap();
        assert_eq!(read.addressing, expected);
    }
}

#[test]
fn what_is_wrong_is_named_by_file_and_key_with_what_there_is() {
    let rows = [
        (
            "name = \"mine\"",
            "name = \"yours\"",
            "name must be \"mine\"",
        ),
        (
            "name = \"mine\"",
            "name = \"Mine\"",
            "name must have 1 to 128",
        ),
        ("name = \"mine\"", "", "name is missing"),
        ("name = \"mine\"", "name = 7", "name must be a text"),
        (
            "https://llm.example.com/v1/",
            "llm.example.com",
            "base_url must be empty or",
        ),
        (
            "https://llm.example.com/v1/",
            "https://u:p@h",
            "base_url must be empty or",
        ),
        ("header:X-Api-Key", "basic", "auth must be \"bearer\" or"),
        ("header:X-Api-Key", "header:", "auth must be \"bearer\" or"),
        (
            "header:X-Api-Key",
            "header:a b",
            "auth must be \"bearer\" or",
        ),
        ("header:X-Api-Key", "sigv4:", "auth must be \"bearer\" or"),
        (
            "quirks",
            "addressing = \"mine\"\nquirks",
            "addressing has \"mine\"; there are plain, azure, bedrock, vertex",
        ),
        (
            "quirks",
            "addressing = \"azure\"\nquirks",
            "api_version is missing",
        ),
        (
            "quirks",
            "addressing = \"azure\"\napi_version = \"1&x=2\"\nquirks",
            "api_version must be a version such as",
        ),
        (
            "quirks",
            "api_version = \"1\"\nquirks",
            "api_version is a key of addressing \"azure\" only",
        ),
        (
            "claude_messages",
            "claude",
            "formats has \"claude\"; there are openai_chat, claude_messages, openai_responses, gemini",
        ),
        (
            "claude_messages",
            "openai_chat",
            "formats has \"openai_chat\" twice",
        ),
        (
            "[\"claude_messages\", \"openai_chat\"]",
            "[]",
            "formats must name",
        ),
        (
            "[\"claude_messages\", \"openai_chat\"]",
            "[1]",
            "formats must be a list",
        ),
        (
            "quirks",
            "aggregate_stream = 1\nquirks",
            "aggregate_stream must be true or false",
        ),
        (
            "quirks",
            "aggregate_stream = true\nquirks",
            "aggregate_stream must be false beside the quirk no_stream_options",
        ),
        (
            "http2",
            "http3",
            "quirks has \"http3\"; there are no_stream_options, max_tokens_only, reasoning_cap, http2",
        ),
        (
            "quirks",
            "proof = \"tried\"\nquirks",
            "proof has \"tried\"; there are live, sdk, documented",
        ),
        ("quirks", "proof = 1\nquirks", "proof must be a text"),
        (
            "connect_ms = 1",
            "connect_ms = 0",
            "connect_ms must be a whole number from 1",
        ),
        (
            "connect_ms = 1",
            "connect_ms = 1.5",
            "connect_ms must be a whole number from 1",
        ),
        (
            "86400000",
            "86400001",
            "total_ms must be a whole number from 1 to 86400000",
        ),
        ("86400000", "2", "idle_ms must not be above total_ms"),
        (
            "connect_ms",
            "connect_s",
            "connect_s is not a key; a provider has name, proof, base_url",
        ),
    ];
    for (good, bad, expected) in rows {
        let text = GOOD.replacen(good, bad, 1);
        assert_ne!(text, GOOD, "{good}");
        let message = load_error(&text);
        assert!(
            message.starts_with(&format!("mine.toml: {expected}")),
            "{message}"
        );
    }
    assert!(load_error("name = \"mine\"\nauth = ").starts_with("mine.toml: line 2 is not TOML"));
    let long = load_error(&GOOD.replace("http2", &"x".repeat(9_000)));
    assert!(long.len() < 300, "text from outside is cut: {long}");
}

#[test]
fn a_file_in_the_folder_adds_a_provider_or_replaces_one() {
    let folder = tempfile::tempdir().unwrap();
    let builtin = Providers::builtin().unwrap();
    let before = builtin.names().count();
    let empty = Providers::with_folder(folder.path()).unwrap();
    assert_eq!(empty.names().count(), before);
    for name in builtin.names() {
        assert_eq!(
            empty.get(name),
            builtin.get(name),
            "an empty folder changes nothing"
        );
    }
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("mine.toml", GOOD);
    write("openai.toml", &GOOD.replace("\"mine\"", "\"openai\""));
    write("notes.txt", "not a provider");
    let all = Providers::with_folder(folder.path()).unwrap();
    assert_eq!(all.names().count(), before + 1);
    let address = |name: &str| all.get(name).unwrap().base_url.clone();
    assert_eq!(address("openai"), address("mine"));

    write("mine.toml", &GOOD.replace("http2", "http3"));
    let message = Providers::with_folder(folder.path())
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("mine.toml: quirks has \"http3\""),
        "{message}"
    );
    let most = usize::try_from(MAX_PROVIDER_BYTES).unwrap();
    let padded = |bytes: usize| format!("{GOOD}#{}", "x".repeat(bytes - GOOD.len() - 1));
    write("mine.toml", &padded(most));
    assert!(Providers::with_folder(folder.path()).is_ok());
    write("mine.toml", &padded(most + 1));
    let message = Providers::with_folder(folder.path())
        .unwrap_err()
        .to_string();
    assert!(message.contains("larger than 65536 bytes"), "{message}");

    let none = Providers::with_folder(&folder.path().join("none"));
    assert!(none.unwrap_err().to_string().contains("No such file"));
}
