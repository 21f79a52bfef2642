//! `trunkline mcp`: the protocol over both transports, and agents that ask for a price and give a sub-agent a capped
//! key. Claude Code starts the server itself and speaks over pipes; opencode calls one that runs, over HTTP.

mod session;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use self::session::{HttpServer, Pipes, post};
use crate::clients::ledger_rows::{Customer, key_status, nanos};
use crate::clients::sandbox::{Sandbox, run};
use crate::clients::{claude, opencode, upstreams};
use crate::dev::{Dev, TRUNKLINE, audit};

const TOOLS: [&str; 5] = ["quote", "balance", "usage", "models", "create_sub_key"];
const KNOWN_WITHIN: Duration = Duration::from_secs(20);

/// A new customer whose key the node knows already.
async fn customer(dev: &Dev, usd: &str) -> Customer {
    let customer = Customer::with_usd(dev, usd).await;
    let began = Instant::now();
    while key_status(dev, &customer.key).await != 200 {
        assert!(began.elapsed() < KNOWN_WITHIN, "the key is not known");
        sleep(Duration::from_millis(50)).await;
    }
    customer
}

fn chat(model: &str) -> Value {
    json!({
        "model": model, "max_completion_tokens": 60,
        "messages": [{ "role": "user", "content": "Hello [[tokens:50]]" }],
    })
}

fn quote_of(model: &str) -> Value {
    json!({ "endpoint": "/v1/chat/completions", "body": chat(model) })
}

/// What a tool answered, which it did not refuse.
fn done(answer: &Value) -> Value {
    let result = &answer["result"];
    assert_eq!(result["isError"], false, "{answer:#}");
    let structured = result["structuredContent"].clone();
    let text = result["content"][0]["text"].as_str().unwrap();
    let text: Value = serde_json::from_str(text).unwrap();
    assert_eq!(text, structured, "{answer:#}");
    structured
}

/// The code of what a tool refused.
fn refused(answer: &Value) -> String {
    let result = &answer["result"];
    assert_eq!(result["isError"], true, "{answer:#}");
    let error = &result["structuredContent"]["error"];
    assert!(error["message"].as_str().unwrap().len() > 5, "{answer:#}");
    error["code"].as_str().unwrap().to_owned()
}

/// Calls with a key until one is refused, and says with what.
async fn spend_all(dev: &Dev, key: &str) -> (usize, u16) {
    let url = format!("{}/chat/completions", dev.api());
    for served in 0..200 {
        let (status, _) = post(&url, Some(key), &[], &chat("gpt-5-mini")).await;
        if status != 200 {
            return (served, status);
        }
    }
    panic!("a key without an end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_the_mcp_server_gets_a_price_that_holds_and_a_sub_key_that_cannot_spend_more() {
    let dev = Dev::start().await;
    let ada = customer(&dev, "5").await;
    let mut pipes = Pipes::start(&dev, &ada).await;
    let listed = pipes.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools.iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, TOOLS);
    for tool in &tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }

    let balance = done(&pipes.call("balance", json!({})).await);
    assert_eq!(nanos(balance["paid_usd"].as_str().unwrap()), nanos("5"));
    let models = done(
        &pipes
            .call("models", json!({ "search": "GPT-5-mini" }))
            .await,
    );
    assert_eq!(models["models"][0]["id"], "gpt-5-mini", "{models:#}");
    let one = done(&pipes.call("models", json!({ "limit": 1 })).await);
    assert_eq!(one["models"].as_array().unwrap().len(), 1);
    assert!(one["found"].as_u64().unwrap() > 1, "{one:#}");

    let quote = done(&pipes.call("quote", quote_of("gpt-5-mini")).await);
    let locked = [("trunkline-quote", quote["id"].as_str().unwrap())];
    let url = format!("{}/chat/completions", dev.api());
    let (status, _) = post(&url, Some(&ada.key), &locked, &chat("gpt-5-mini")).await;
    assert_eq!(status, 200);
    let charged = nanos("5") - ada.left(&dev).await;
    let most = nanos(quote["maximum_usd"].as_str().unwrap());
    assert!(0 < charged && charged <= most, "{charged} of {quote:#}");

    let cap = "0.001";
    let params = json!({ "name": "sub-agent", "cap_usd": cap, "expires_in_seconds": 600,
        "models": ["gpt-5-mini"] });
    let made = done(&pipes.call("create_sub_key", params).await);
    assert_eq!(made["base_url"], dev.text("base_url"), "{made:#}");
    let sub_key = made["key"].as_str().unwrap();
    assert!(made["expires_at"].as_i64().is_some(), "{made:#}");
    let (served, status) = spend_all(&dev, sub_key).await;
    assert!(served > 1 && status == 402, "{served} {status}");
    let of_key = json!({ "key": made["id"], "group_by": "key" });
    let usage = done(&pipes.call("usage", of_key).await);
    let spent = nanos(usage["totals"]["charged_usd"].as_str().unwrap());
    assert!(0 < spent && spent <= nanos(cap), "{usage:#}");
    assert_eq!(pipes.end().await, Some(0));
    audit(&dev).await;
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_reads_from_the_mcp_server_why_the_gateway_refused() {
    let dev = Dev::start().await;
    let ada = customer(&dev, "1").await;
    let mut pipes = Pipes::start(&dev, &ada).await;
    let body = quote_of("no-such-model");
    let url = format!("{}/quotes", dev.api());
    let (_, direct) = post(&url, Some(&ada.key), &[], &body).await;
    let code = direct["error"]["code"].as_str().unwrap();
    assert_eq!(refused(&pipes.call("quote", body).await), code);

    // A key that has no end is not made for a sub-agent, and a misspelt field is not taken for none.
    for arguments in [
        json!({ "name": "x", "expires_in_seconds": 60 }),
        json!({ "name": "x", "cap_usd": "1" }),
        json!({ "name": "x", "cap_usd": null, "expires_in_seconds": 60 }),
        json!({ "name": "x", "cap_usd": "1", "expires_in_seconds": 60, "model": ["gpt-5-mini"] }),
    ] {
        let answer = pipes.call("create_sub_key", arguments).await;
        assert_eq!(refused(&answer), "invalid_arguments", "{answer:#}");
    }
    let answer = pipes.call("delete_everything", json!({})).await;
    assert_eq!(answer["error"]["code"], -32_602, "{answer:#}");
    // The connection outlives a message that is no message, and one that is too long.
    pipes.write("this is not JSON").await;
    let long = "x".repeat(4_100_000);
    pipes.write(&long).await;
    done(&pipes.call("balance", json!({})).await);
    assert_eq!(pipes.end().await, Some(0));

    let stranger = Customer {
        key: "sk-tl-unknown".to_owned(),
        ..ada
    };
    let mut pipes = Pipes::start(&dev, &stranger).await;
    let answer = pipes.call("balance", json!({})).await;
    assert_eq!(
        answer["result"]["structuredContent"]["error"]["status"], 401,
        "{answer:#}"
    );
    assert_eq!(pipes.end().await, Some(0));
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_caller_of_the_mcp_server_over_http_asks_with_its_own_key() {
    let dev = Dev::start().await;
    let (ada, grace, other) = (
        customer(&dev, "2").await,
        customer(&dev, "3").await,
        customer(&dev, "4").await,
    );
    // Its own key, if it had one, would be no caller's.
    let server = HttpServer::start(&dev, &other.key).await;
    for (customer, usd) in [(&ada, "2"), (&grace, "3"), (&ada, "2")] {
        let balance = done(&server.call(&customer.key, "balance", json!({})).await);
        assert_eq!(nanos(balance["paid_usd"].as_str().unwrap()), nanos(usd));
    }
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let (status, answer) = server.post(None, &[], &ping).await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (401, &json!("missing_api_key"))
    );
    for header in [("host", "evil.example"), ("origin", "https://evil.example")] {
        let (status, _) = server.post(Some(&ada.key), &[header], &ping).await;
        assert_eq!(status, 403, "{header:?}");
    }
    let long = json!({ "jsonrpc": "2.0", "id": 1, "method": "x".repeat(4_100_000) });
    let (status, _) = server.post(Some(&ada.key), &[], &long).await;
    assert_eq!(status, 413);
    let (status, _) = post(&format!("{}/other", server.url), Some(&ada.key), &[], &ping).await;
    assert_eq!(status, 404);
    assert_eq!(server.end().await, Some(0));
    dev.end().await;
}

/// A field anywhere in what an agent printed; it may stand in JSON that is text in JSON.
fn found(value: &Value, field: &str) -> Option<Value> {
    match value {
        Value::Object(fields) => match fields.get(field) {
            Some(value) => Some(value.clone()),
            None => fields.values().find_map(|value| found(value, field)),
        },
        Value::Array(list) => list.iter().find_map(|value| found(value, field)),
        Value::String(text) => {
            let inner: Value = serde_json::from_str(text).ok()?;
            found(&inner, field)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// What the prompt of an agent asks for; `prefix` is what it puts before the name of a tool.
fn prompt(prefix: &str) -> String {
    let sub_key = json!({ "name": "sub-agent", "cap_usd": "0.25", "expires_in_seconds": 600 });
    format!(
        "What would it cost? [[call:{prefix}quote {}]] [[call:{prefix}create_sub_key {sub_key}]]",
        json!({ "endpoint": "/v1/chat/completions",
            "body": { "model": "gpt-5-mini", "max_completion_tokens": 60,
                "messages": [{ "role": "user", "content": "Hello" }] } }),
    )
}

/// The price and the key that an agent got. The price is that of the gateway.
async fn assert_told(dev: &Dev, customer: &Customer, events: &[Value]) -> Customer {
    let events = json!(events);
    let quoted = found(&events, "maximum_usd").unwrap_or_else(|| panic!("{events:#}"));
    let params = json!({ "endpoint": "/v1/chat/completions",
        "body": { "model": "gpt-5-mini", "max_completion_tokens": 60,
            "messages": [{ "role": "user", "content": "Hello" }] } });
    let url = format!("{}/quotes", dev.api());
    let (_, quote) = post(&url, Some(&customer.key), &[], &params).await;
    assert_eq!(quoted, quote["maximum_usd"], "{quote:#}");
    let key = found(&events, "key").unwrap_or_else(|| panic!("{events:#}"));
    Customer {
        key: key.as_str().unwrap().to_owned(),
        ..customer.clone()
    }
}

/// The key's own budget is the cap, and what was spent with it is not more.
async fn assert_capped(dev: &Dev, sub_agent: &Customer) -> i128 {
    let own = sub_agent.get(&dev.api(), "/key").await;
    let view = sub_agent
        .get(&dev.api(), &format!("/keys/{}", own["id"]))
        .await;
    let budget = &view["budgets"][0];
    assert_eq!(
        nanos(budget["limit_usd"].as_str().unwrap()),
        nanos("0.25"),
        "{view:#}"
    );
    let used = nanos(budget["used_usd"].as_str().unwrap());
    assert!(used <= nanos("0.25"), "{view:#}");
    used
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claude_code_asks_for_a_price_and_starts_a_sub_agent_with_a_capped_key() {
    let dev = Dev::start().await;
    let ada = customer(&dev, "5").await;
    let scratch = Sandbox::new();
    let model = upstreams::CLAUDE.model;
    let servers = json!({ "mcpServers": { "trunkline": {
        "command": TRUNKLINE, "args": ["mcp"],
        "env": { "TRUNKLINE_BASE_URL": dev.text("base_url"), "TRUNKLINE_KEY": &ada.key },
    }}});
    scratch.settings("mcp.json", &servers.to_string());
    let tools = "mcp__trunkline__quote,mcp__trunkline__create_sub_key";
    let mut command = claude::claude_with(&scratch, &dev, &ada, model, tools);
    // It would look for tools of servers first; the model here calls what it is told to call.
    command
        .env("ENABLE_TOOL_SEARCH", "false")
        .arg("--strict-mcp-config")
        .arg("--mcp-config")
        .arg(scratch.home().join("mcp.json"))
        .args(["-p", &prompt("mcp__trunkline__")]);
    let reply = run(&mut command).await;
    let sub_agent = assert_told(&dev, &ada, &reply.events()).await;
    claude::a_turn(&scratch, &dev, &sub_agent, model).await;
    assert!(assert_capped(&dev, &sub_agent).await > 0);
    audit(&dev).await;
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opencode_asks_for_a_price_and_makes_a_capped_key_over_http() {
    let dev = Dev::start().await;
    let ada = customer(&dev, "5").await;
    let server = HttpServer::start(&dev, "").await;
    let scratch = Sandbox::new();
    let servers = json!({ "trunkline": {
        "type": "remote", "url": server.url, "oauth": false,
        "headers": { "Authorization": format!("Bearer {}", ada.key) },
    }});
    let model = upstreams::CHAT.model;
    let mut command = opencode::opencode_with(&scratch, &dev, &ada, model, &servers);
    let reply = run(opencode::asking(&mut command, &prompt("trunkline_"))).await;
    let sub_agent = assert_told(&dev, &ada, &reply.events()).await;
    let url = format!("{}/chat/completions", dev.api());
    let (status, _) = post(&url, Some(&sub_agent.key), &[], &chat("gpt-5-mini")).await;
    assert_eq!(status, 200);
    assert!(assert_capped(&dev, &sub_agent).await > 0);
    assert_eq!(server.end().await, Some(0));
    audit(&dev).await;
    dev.end().await;
}
