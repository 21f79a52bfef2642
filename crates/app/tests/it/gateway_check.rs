//! `trunkline gateway-check`: the bench for any gateway, run against a `trunkline dev` and its simulator.

use std::collections::BTreeSet;
use std::process::Output;
use std::time::Instant;

use serde_json::Value;
use tokio::process::Command;

use crate::dev::{DEV, Dev, TRUNKLINE, audit};

/// One whose keys may send as fast as the bench does.
async fn without_limits() -> Dev {
    let mut command = Command::new(TRUNKLINE);
    command
        .args(DEV)
        .arg("/dev/null")
        .env("TRUNKLINE__LIMITS__REQUESTS_PER_MINUTE", "100000");
    Dev::started(command).await
}

async fn checked(dev: &Dev, words: &[&str]) -> Output {
    let output = Command::new(TRUNKLINE)
        .args(["gateway-check", "--json", "--target", dev.text("base_url")])
        .args(["--key", dev.text("key")])
        .args(["--simulator", dev.text("simulator_url")])
        .args(words)
        .output();
    output.await.unwrap()
}

fn reported(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_gateway_passes_every_check_of_the_bench_or_the_profile_says_why_not() {
    let dev = without_limits().await;
    let folder = tempfile::tempdir().unwrap();
    let (page, saved) = (folder.path().join("page.html"), folder.path().join("saved"));
    let began = Instant::now();
    let output = checked(
        &dev,
        &[
            "--page",
            page.to_str().unwrap(),
            "--save",
            saved.to_str().unwrap(),
        ],
    )
    .await;
    let took = began.elapsed();
    let report = reported(&output);
    assert!(output.status.success(), "{report:#}");
    let score = &report["score"];
    let number = |name: &str| score[name].as_u64().unwrap();
    assert!(number("checks") >= 200, "{score:#}");
    assert_eq!(number("not_run"), 0, "{score:#}");
    assert_eq!(number("passed") + number("explained"), number("checks"));
    assert!(number("charges") > 150, "{score:#}");
    assert_eq!(score["usd_wrong_per_1000_calls"], "0", "{score:#}");
    println!("{score} in {took:?}");

    #[expect(clippy::disallowed_methods, reason = "files that the command wrote")]
    let (page, saved) = (
        std::fs::read_to_string(page).unwrap(),
        std::fs::read_to_string(saved).unwrap(),
    );
    let saved: Value = serde_json::from_str(&saved).unwrap();
    let results = saved["results"].as_array().unwrap();
    let ids: BTreeSet<&str> = results.iter().map(|r| r["id"].as_str().unwrap()).collect();
    for id in ids {
        assert!(page.contains(&format!("<code>{id}</code>")), "{id}");
    }
    // A page that is sent around holds no key.
    assert!(!page.contains(dev.text("key")));
    audit(&dev).await;
    dev.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bench_finds_a_gateway_that_charges_a_wrong_price_or_has_no_such_model() {
    let dev = without_limits().await;
    let folder = tempfile::tempdir().unwrap();
    let own = include_str!("../../../gateway-check/profiles/trunkline.toml");
    let profile = folder.path().join("profile.toml");
    let wrong = own
        .replace("output = \"3\"", "output = \"2.5\"")
        .replace("gemini-sim-claude", "no-such-model");
    std::fs::write(&profile, wrong).unwrap();
    let words = ["--profile", profile.to_str().unwrap(), "--only"];
    let plain = [words.as_slice(), &["answers/plain/chat-"]].concat();
    let output = checked(&dev, &plain).await;
    let report = reported(&output);
    assert_eq!(output.status.code(), Some(1), "{report:#}");
    let score = &report["score"];
    assert_eq!(score["failed"], 8, "{report:#}");
    // Half a dollar too much for a million of output tokens, twelve in each of six calls: 0.006 for a thousand; the
    // two that were refused cost nothing, which is right.
    assert_eq!(score["usd_wrong_per_1000_calls"], "0.0045", "{report:#}");
    let found = report["unexplained"].to_string();
    assert!(
        found.contains("charged $") && found.contains("status 404"),
        "{report:#}"
    );
    dev.end().await;
}
