//! Limits at the command line: of accounts, of models and platforms; and defaults that the configuration overrides.

use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::process::Command;

use crate::admin_cli::AdminCli;
use crate::dev::{DEV, Dev, TRUNKLINE};
use crate::sdk::customer::{Sent, send_bytes};

/// Everything that a customer meets at once, far below its default.
const LOW: &str = "[limits]
requests_per_minute = 8
[edge]
max_body_bytes = 20000
[upstream]
stream_idle_seconds = 1
whole_call_seconds = 2
[uploads]
max_bytes = 3000
";

async fn post(dev: &Dev, path: &str, kind: &str, body: &[u8]) -> Sent {
    let authorization = format!("Bearer {}", dev.text("key"));
    let headers = [
        ("authorization", authorization.as_str()),
        ("content-type", kind),
    ];
    send_bytes("POST", &format!("{}{path}", dev.api()), &headers, body).await
}

async fn chat(dev: &Dev, prompt: &str, stream: bool) -> Sent {
    let messages = json!([{ "role": "user", "content": prompt }]);
    let body =
        json!({ "model": "sim-fast", "messages": messages, "max_tokens": 50, "stream": stream });
    let bytes = body.to_string();
    post(
        dev,
        "/chat/completions",
        "application/json",
        bytes.as_bytes(),
    )
    .await
}

fn code(sent: &Sent) -> (u16, Value) {
    (sent.status, sent.json()["error"]["code"].clone())
}

// covers: D-5-19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_overrides_defaults_by_configuration_and_customers_meet_them() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(LOW.as_bytes()).unwrap();
    let mut command = Command::new(TRUNKLINE);
    command.args(DEV).arg(file.path());
    let dev = Dev::started(command).await;

    let hello = chat(&dev, "Hello [[tokens:2]]", false).await;
    assert_eq!(hello.status, 200, "{}", hello.text());
    let large = chat(&dev, &"a ".repeat(10_000), false).await;
    assert_eq!(code(&large), (413, json!("request_too_large")));
    let form = [
        &b"--x\r\ncontent-disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n"[..],
        b"--x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n",
        &[0; 4_000],
        b"\r\n--x--\r\n",
    ];
    let kind = "multipart/form-data; boundary=x";
    let upload = post(&dev, "/audio/transcriptions", kind, &form.concat()).await;
    assert_eq!(upload.status, 413, "{}", upload.text());

    // Six minutes shorter than the defaults.
    let began = Instant::now();
    let slow = chat(&dev, "[[fault:hang_before_headers]]", false).await;
    assert_eq!(slow.status, 504, "{}", slow.text());
    let silent = chat(&dev, "[[tokens:20]] [[fault:hang_mid_stream:3]]", true).await;
    assert!(
        silent.text().contains("upstream_timeout"),
        "{}",
        silent.text()
    );
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "{:?}",
        began.elapsed()
    );

    let mut statuses = Vec::new();
    for _ in 0..9 {
        statuses.push(chat(&dev, "Hello [[tokens:2]]", false).await.status);
    }
    assert_eq!(statuses.last(), Some(&429), "{statuses:?}");
    dev.end().await;
}

#[tokio::test]
async fn limits_are_set_listed_and_removed_and_wrong_ones_are_explained() {
    let cli = AdminCli::new().await;
    let id = cli.account("Ada").to_string();
    let set = cli.json(&["account", "limits", &id, "--rpm", "50"]);
    assert_eq!(set["limits"]["requests_per_minute"], json!(50));
    let reply = cli.run(&["account", "limits", &id, "--concurrent", "4"]);
    assert!(reply.out.contains("4 concurrent calls"), "{reply:?}");
    let kept = cli
        .db
        .ask("SELECT concat(requests_per_minute, '/', concurrent_calls) FROM app.account")
        .await;
    assert_eq!(kept, ["/4"], "what is not named has no limit any more");
    let unknown = cli.refused(&["account", "limits", "987654321"]);
    assert!(unknown.contains("there is no account"), "{unknown}");
    let of = ["limit", "set", "model", "sim-fast"];
    cli.json(&[&of[..], &["--rpm", "3"]].concat());
    let own = ["--account", &id, "--tpm", "9"];
    cli.json(&[&of[..], &own].concat());
    cli.json(&["limit", "set", "platform", "reddit", "--concurrent", "2"]);
    let all = cli.json(&["limit", "list"]);
    assert_eq!(all["limits"].as_array().unwrap().len(), 3, "{all}");
    assert!(cli.run(&["limit", "list"]).out.contains("every"));
    let nothing = cli.refused(&of);
    assert!(nothing.contains("needs a number"), "{nothing}");
    let wrong = cli.refused(&[&of[..], &["--concurrent", "0"]].concat());
    assert!(wrong.contains("must be from 1"), "{wrong}");
    cli.json(&["limit", "remove", "model", "sim-fast"]);
    let gone = cli.refused(&["limit", "remove", "model", "sim-fast"]);
    assert!(gone.contains("limit list"), "{gone}");
    let all = cli.json(&["limit", "list"]);
    assert_eq!(all["limits"].as_array().unwrap().len(), 2, "{all}");
}
