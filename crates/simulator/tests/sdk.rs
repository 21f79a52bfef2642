//! The vendor's SDK pointed at the simulator. What it accepts and how it complains is the nearest
//! thing to the vendor that a machine without its service has.

use std::path::PathBuf;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;
use trunkline_simulator::{Settings, Simulator};

const KEY: &str = "sk-simulator-sdk-7777";
/// The SDK takes some seconds to load on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_vendors_sdk_is_content_with_the_simulator() {
    #[expect(
        clippy::disallowed_methods,
        reason = "where the home is, is no configuration of ours"
    )]
    let home = std::env::var_os("HOME").expect("a home");
    let python = PathBuf::from(home).join(".cache/trunkline/sdk/venv/bin/python");
    assert!(
        python.exists(),
        "the SDKs are not installed: run just setup (no {})",
        python.display()
    );
    let settings = Settings {
        keys: vec![KEY.to_owned()],
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/sdk/openai_chat.py");
    // Proxies of the machine must not stand between two ends of a loopback.
    let run = Command::new(python)
        .arg(script)
        .arg(simulator.base_url())
        .arg(KEY)
        .env("NO_PROXY", "*")
        .kill_on_drop(true)
        .output();
    let output = timeout(PATIENCE, run)
        .await
        .expect("the SDK comes to an end")
        .unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let truth = simulator.truth();
    let refused = truth.iter().filter(|served| served.status >= 400).count();
    assert!(refused > 0 && truth.len() > refused);
    assert!(truth.iter().all(|served| !served.client_left), "{truth:#?}");
    simulator.stop().await;
}
