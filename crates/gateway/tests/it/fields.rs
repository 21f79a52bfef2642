//! What is sent is what is priced: a field, a tool or a flag that is on no list never arrives at an upstream, and its
//! sender is told.

use std::fs;

use serde_json::{Value, json};
use trunkline_upstream::pass_field;

use crate::client_encode::{CallParams, ClientFormat};
use crate::format_pairs::{FormatPair, harness, last_served, quote, row_of};
use crate::test_gateway::{TestGateway, TestOptions};

const STRICT: [(&str, &str); 1] = [("trunkline-strict", "true")];

/// A field or a tool that a vendor bills, in one format.
struct Attack {
    caller: ClientFormat,
    /// Where the value is added: a field of the body, or `tools` for one item of the list.
    field: &'static str,
    value: Value,
    /// What the report names.
    named: &'static str,
    code: &'static str,
}

/// Every field and tool of the finding, and their kin in the other formats.
fn attacks() -> Vec<Attack> {
    let (chat, responses) = (ClientFormat::Chat, ClientFormat::Responses);
    let (claude, gemini) = (ClientFormat::Messages, ClientFormat::Gemini);
    let tool = "server_tool_dropped";
    let field = "unknown_field";
    let kind = |kind: &str| json!({ "type": kind });
    let search = json!({ "type": "web_search_20250305", "name": "web_search", "max_uses": 100 });
    let rows = [
        (chat, "models", json!(["dear-1"]), "models", tool),
        (chat, "plugins", json!([{ "id": "web" }]), "plugins", tool),
        (
            chat,
            "search_parameters",
            json!({ "mode": "on" }),
            "search_parameters",
            tool,
        ),
        (chat, "enable_search", json!(true), "enable_search", tool),
        (
            chat,
            "web_search_options",
            json!({}),
            "web_search_options",
            tool,
        ),
        (
            chat,
            "provider",
            json!({ "order": ["x"] }),
            "provider",
            field,
        ),
        (chat, "tools", kind("web_search"), "tools[2]", tool),
        (chat, "tools", kind("builtin_function"), "tools[2]", tool),
        (responses, "tools", kind("x_search"), "tools[2]", tool),
        (responses, "tools", kind("code_execution"), "tools[2]", tool),
        (responses, "tools", kind("mcp"), "tools[2]", tool),
        (responses, "tools", kind("shell"), "tools[2]", tool),
        (responses, "tools", kind("web_search"), "tools[2]", tool),
        (
            responses,
            "search_parameters",
            json!({}),
            "search_parameters",
            tool,
        ),
        (
            claude,
            "mcp_servers",
            json!([{ "type": "url" }]),
            "mcp_servers",
            tool,
        ),
        (
            claude,
            "fallbacks",
            json!([{ "model": "dear-1" }]),
            "fallbacks",
            field,
        ),
        (claude, "tools", search, "tools[2]", tool),
        (
            gemini,
            "tools",
            json!({ "googleSearch": {} }),
            "tools[1]",
            tool,
        ),
        (
            gemini,
            "tools",
            json!({ "code_execution": {} }),
            "tools[1]",
            tool,
        ),
    ];
    let rows = rows.into_iter();
    rows.map(|(caller, field, value, named, code)| Attack {
        caller,
        field,
        value,
        named,
        code,
    })
    .collect()
}

fn own_pair(caller: ClientFormat) -> FormatPair {
    FormatPair {
        caller,
        upstream: caller,
        stream: false,
    }
}

fn ask(pair: FormatPair) -> Value {
    pair.body(CallParams {
        prompt: "Hello [[tokens:2]]",
        tools: true,
        ..CallParams::default()
    })
}

fn with(mut body: Value, attack: &Attack) -> Value {
    match body[attack.field].as_array_mut() {
        Some(list) => list.push(attack.value.clone()),
        None => body[attack.field] = attack.value.clone(),
    }
    body
}

async fn served(harness: &TestGateway) -> Value {
    let record = last_served(&harness.simulator).await.unwrap();
    serde_json::from_slice(&record.body).unwrap()
}

#[tokio::test]
async fn a_field_or_tool_that_a_vendor_bills_never_arrives_and_is_reported() {
    let harness = harness(TestOptions::default()).await;
    for attack in attacks() {
        let pair = own_pair(attack.caller);
        let plain = ask(pair);
        let got = pair.call(&harness, &plain).await;
        assert_eq!(got.status, 200, "{}", got.text());
        let expected = served(&harness).await;

        let body = with(plain, &attack);
        let got = pair.call(&harness, &body).await;
        assert_eq!(got.status, 200, "{body}: {}", got.text());
        assert_eq!(served(&harness).await, expected, "{body}");
        let warnings = got.header("trunkline-warnings").unwrap();
        let ending = format!(";dropped={}", attack.named);
        assert!(warnings.contains(attack.code), "{warnings}");
        assert!(warnings.ends_with(&ending), "{warnings}");
        let row = row_of(&harness, &got).await;
        let entry = format!("{}:{}", attack.code, attack.named);
        assert!(row.warnings.contains(&entry), "{:?}", row.warnings);

        let before = harness.simulator.requests().len();
        let refused = pair.call_with(&harness, &body, &STRICT).await;
        assert_eq!(refused.status, 400, "{}", refused.text());
        assert!(refused.text().contains(attack.named), "{}", refused.text());
        assert_eq!(
            harness.simulator.requests().len(),
            before,
            "strict sends nothing"
        );
    }
    let metrics = harness.metrics().await;
    for line in [
        r#"fields_dropped_total{provider="sim_chat",name="plugins"} 1"#,
        r#"fields_dropped_total{provider="sim_responses",name="tools[].type=x_search"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    harness.audit().await;
}

#[tokio::test]
async fn a_tool_that_must_be_used_and_is_not_sold_is_refused() {
    let harness = harness(TestOptions::default()).await;
    let search = json!({ "type": "web_search_20250305", "name": "web_search" });
    for (caller, tools, choice) in [
        (
            ClientFormat::Chat,
            json!([{ "type": "web_search" }]),
            json!("required"),
        ),
        (
            ClientFormat::Responses,
            json!([{ "type": "web_search_2025_08_26" }]),
            json!({ "type": "web_search" }),
        ),
        (
            ClientFormat::Messages,
            json!([search, { "name": "own", "input_schema": { "type": "object" } }]),
            json!({ "type": "tool", "name": "web_search" }),
        ),
    ] {
        let pair = own_pair(caller);
        let mut body = pair.body(CallParams {
            prompt: "Hello",
            ..CallParams::default()
        });
        body["tools"] = tools;
        body["tool_choice"] = choice;
        let got = pair.call(&harness, &body).await;
        assert_eq!(got.status, 400, "{}", got.text());
        assert!(
            got.text().contains("let the model choose"),
            "{}",
            got.text()
        );
        body["tool_choice"] = match caller {
            ClientFormat::Messages => json!({ "type": "auto" }),
            ClientFormat::Chat | ClientFormat::Responses | ClientFormat::Gemini => json!("auto"),
        };
        let got = pair.call(&harness, &body).await;
        assert_eq!(got.status, 200, "{}", got.text());
    }
    harness.audit().await;
}

#[tokio::test]
async fn a_misspelt_field_is_ignored_with_the_right_name_at_every_depth() {
    let harness = harness(TestOptions::default()).await;
    let pair = own_pair(ClientFormat::Chat);
    let mut body = ask(pair);
    body["temprature"] = json!(0.5);
    body["messages"][0]["contents"] = json!("hi");
    let reported = quote(&harness, pair, &pair.model(), &body).await.json();
    let fate = |name: &str| {
        let fields = reported["fields"].as_array().unwrap();
        let found = fields.iter().find(|one| one["field"] == name).unwrap();
        [&found["fate"], &found["code"], &found["fix"]].map(|it| it.as_str().unwrap().to_owned())
    };
    let expected = |name: &str| {
        let fix = format!("did you mean `{name}`?");
        ["ignored", "unknown_field", &fix].map(ToOwned::to_owned)
    };
    assert_eq!(fate("temprature"), expected("temperature"));
    assert_eq!(fate("messages[0].contents"), expected("content"));
    let got = pair.call(&harness, &body).await;
    let warnings = got.header("trunkline-warnings").unwrap();
    assert!(
        warnings.ends_with(";dropped=messages[0].contents,temprature"),
        "{warnings}"
    );
    let body = served(&harness).await.to_string();
    assert!(
        !body.contains("temprature") && !body.contains("contents"),
        "{body}"
    );
}

#[tokio::test]
async fn an_operator_lets_a_field_through_by_a_record_or_for_a_provider_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(TestOptions::default().providers).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let options = TestOptions {
        providers: folder.path().to_owned(),
        ..TestOptions::default()
    };
    let harness = harness(options).await;
    let pair = own_pair(ClientFormat::Chat);
    let mut body = ask(pair);
    body["messages"][0]["x_mark"] = json!({ "any": [1] });
    let arrives = async |harness: &TestGateway| {
        // The upstream refuses what it does not know; what it got is what counts.
        pair.call(harness, &body).await;
        served(harness).await["messages"][0]["x_mark"].clone()
    };
    assert_eq!(arrives(&harness).await, Value::Null);
    let at = folder.path();
    pass_field(at, "sim_chat", "openai_chat", "messages[].x_mark").unwrap();
    harness.gateway.refresh().await.unwrap();
    assert_eq!(arrives(&harness).await, json!({ "any": [1] }));
    trunkline_upstream::drop_field(at, "sim_chat", "openai_chat", "messages[].x_mark").unwrap();
    harness.gateway.refresh().await.unwrap();
    assert_eq!(arrives(&harness).await, Value::Null);

    let record = format!(
        "[models.{}]\ngroups = [\"default\"]\npass_fields = [\"messages[].x_mark\"]\n\
         [models.{0}.prices]\nbilling_unit = \"tokens\"\n\
         standard = {{ input = 2000000, output = 8000000 }}\n",
        pair.model()
    );
    harness.sell(&record).await;
    assert_eq!(arrives(&harness).await, json!({ "any": [1] }));
}

#[tokio::test]
async fn a_beta_flag_goes_on_by_list_and_is_named_otherwise() {
    let harness = harness(TestOptions::default()).await;
    let pair = own_pair(ClientFormat::Messages);
    let flags = "context-management-2025-06-27, mcp-client-2025-04-04";
    let got = pair
        .call_with(&harness, &ask(pair), &[("anthropic-beta", flags)])
        .await;
    assert_eq!(got.status, 200, "{}", got.text());
    let record = last_served(&harness.simulator).await.unwrap();
    let sent = record
        .headers
        .iter()
        .find(|(name, _)| name == "anthropic-beta");
    assert_eq!(sent.unwrap().1, "context-management-2025-06-27");
    let warnings = got.header("trunkline-warnings").unwrap();
    let ending = ";dropped=anthropic-beta=mcp-client-2025-04-04";
    assert!(warnings.ends_with(ending), "{warnings}");
}
