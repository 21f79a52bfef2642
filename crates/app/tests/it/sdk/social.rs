//! Social data of a running `trunkline dev`: every cell is sold, and has a channel.

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::Command;
use trunkline_social::Cells;

use crate::dev::{Dev, TRUNKLINE, audit};

/// What a command against a running one prints.
pub(crate) async fn reply(dev: &Dev, words: &[&str]) -> Value {
    let output = Command::new(TRUNKLINE)
        .args(words)
        .args(["--json", "--config", "/dev/null"])
        .env("TRUNKLINE__DATABASE__URL", dev.text("database_url"))
        .output();
    let output = output.await.unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A status, a head and a body, by the plainest of clients.
async fn get(url: &str, key: &str) -> (u16, String, Value) {
    let (host, path) = url
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    let head = format!("host: {host}\r\nauthorization: Bearer {key}\r\nconnection: close");
    let text = format!("GET /{path} HTTP/1.1\r\n{head}\r\n\r\n");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"));
    (status, head.to_lowercase(), body)
}

#[tokio::test]
async fn dev_sells_every_cell_through_a_channel_to_a_paying_customer() {
    let dev = Dev::start().await;
    let cells = Cells::builtin().unwrap();
    let count = cells.all().count();
    let listed = reply(&dev, &["social", "list"]).await;
    assert_eq!(listed["available"], count, "suggested prices are applied");
    let channels = reply(&dev, &["channel", "list"]).await;
    let channels = channels["channels"].as_array().unwrap();
    let to_source = channels
        .iter()
        .filter(|channel| channel["provider"] == "tikhub");
    let [channel] = to_source.collect::<Vec<_>>()[..] else {
        panic!("{channels:?}");
    };
    assert_eq!(channel["models"].as_object().unwrap().len(), count);
    let root = dev.text("simulator_url").trim_end_matches("/v1");
    assert_eq!(channel["base_url"], root);
    let account = dev.ready["account"].to_string();
    let view = reply(&dev, &["account", "show", &account]).await;
    assert_eq!(view["balance"]["topped_up"], true, "{view}");
    let key = dev.text("key");
    let catalog = format!("{}/api/social/catalog", dev.text("dash_url"));
    let (_, _, catalog) = get(&catalog, key).await;
    let catalog = catalog["cells"].as_array().unwrap();
    assert_eq!(catalog.len(), count);
    assert!(catalog.iter().all(|cell| cell["status"] == "available"));
    // What the greeting shows.
    let call = format!("{}/social/douyin/search?keyword=coffee", dev.api());
    let (status, head, result) = get(&call, key).await;
    assert_eq!(status, 200, "{result}");
    assert_eq!(result["object"], "social.result");
    assert!(head.contains("trunkline-cost-usd: 0.02"), "{head}");
    audit(&dev).await;
    dev.end().await;
}
