//! Stripe's own SDKs pointed at the simulator. A script calls the API; what people and banks do at Stripe it asks for,
//! line by line, and this side plays it.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;
use tokio::time::timeout;
use trunkline_simulator::{Settings, Simulator, StripeDeliveries, StripeWebhook};

const KEY: &str = "sk_test_sdk_7777";
const SECRET: &str = "whsec_sdk";
/// The SDKs take some seconds to load on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// Something below the folder of SDKs.
fn installed(name: &str) -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "where the home is, is no configuration of ours"
    )]
    let home = std::env::var_os("HOME").expect("a home");
    let path = PathBuf::from(home).join(".cache/trunkline/sdk").join(name);
    assert!(
        path.exists(),
        "the SDKs are not installed: run just setup (no {})",
        path.display()
    );
    path
}

/// Does at Stripe what a script asks for, and returns the answer.
async fn play(simulator: &Simulator, line: &str) -> String {
    let stripe = simulator.stripe();
    let words: Vec<&str> = line.split(' ').collect();
    match words.as_slice() {
        ["pay", session] => stripe.pay(session).unwrap(),
        ["expire", session] => {
            assert!(stripe.expire(session));
            "done".to_owned()
        }
        ["dispute", intent, cents] => stripe.dispute(intent, cents.parse().unwrap()).unwrap(),
        ["deliver", port] => {
            let webhook = StripeWebhook {
                address: format!("127.0.0.1:{port}"),
                path: "/".to_owned(),
                secret: SECRET.to_owned(),
            };
            let events = stripe.events();
            // Beside each event goes a forged one.
            let deliveries = StripeDeliveries {
                forged: 1,
                ..StripeDeliveries::faithful()
            };
            let (good, forged) = webhook.send(&events, deliveries).await.unwrap();
            assert_eq!(good, vec![200; events.len()]);
            assert_eq!(forged, vec![400; events.len()]);
            "done".to_owned()
        }
        other => panic!("no such request: {other:?}"),
    }
}

/// Runs a script to its good end.
async fn runs(program: PathBuf, script: &str) {
    let settings = Settings {
        keys: vec![KEY.to_owned()],
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/sdk");
    let root = format!("http://{}", simulator.address());
    let mut child = Command::new(program)
        .arg(folder.join(script))
        .args([root.as_str(), KEY, SECRET])
        .env("SDK_FOLDER", installed("node"))
        .env("NO_PROXY", "*")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let talk = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            let answer = play(&simulator, &line).await;
            stdin
                .write_all(format!("{answer}\n").as_bytes())
                .await
                .unwrap();
        }
        child.wait().await.unwrap()
    };
    let status = timeout(PATIENCE, talk)
        .await
        .expect("the SDK comes to an end");
    assert!(status.success(), "{script}: {status}");
    let requests = simulator.requests();
    assert!(requests.iter().any(|served| served.status == 402));
    assert!(requests.iter().any(|served| served.status == 401));
    simulator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stripe_for_python_pays_refunds_pages_events_and_believes_the_simulators_webhooks() {
    runs(installed("venv/bin/python"), "stripe_payments.py").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stripe_for_node_pays_refunds_pages_events_and_believes_the_simulators_webhooks() {
    // Debian's Node is too old for it.
    runs(installed("../clients/bin/node"), "stripe_payments.mjs").await;
}
