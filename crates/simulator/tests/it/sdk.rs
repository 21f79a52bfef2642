//! The vendors' SDKs pointed at the simulator. What they accept and how they complain is the
//! nearest thing to the vendors that a machine without their services has.

use std::collections::BTreeSet;

use serde_json::json;
use trunkline_simulator::{AudioWork, AwsKey, Settings, SocialCall, VideoSettings};

use run::{EMAIL, GoogleKey, KEY, reads, started, started_with};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_vendors_sdk_is_content_with_the_simulator() {
    let simulator = started().await;
    let base_url = simulator.base_url();
    reads(&simulator, "openai_chat.py", &[&base_url, KEY]).await;
    simulator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_vendors_sdk_is_content_with_responses() {
    let simulator = started().await;
    let base_url = simulator.base_url();
    reads(&simulator, "responses.py", &[&base_url, KEY]).await;
    simulator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_vendors_sdk_is_content_with_videos() {
    let simulator = started().await;
    let base_url = simulator.base_url();
    reads(&simulator, "openai_videos.py", &[&base_url, KEY]).await;
    simulator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_vendors_sdk_is_content_with_pictures() {
    let simulator = started().await;
    let base_url = simulator.base_url();
    reads(&simulator, "openai_images.py", &[&base_url, KEY]).await;
    let calls = simulator.image_calls();
    assert!(calls.iter().any(|call| call.has_mask && call.sources == 2));
    assert!(calls.iter().all(|call| call.vendor == "openai"));
    simulator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_vendors_sdk_is_content_with_azure_and_the_small_endpoints() {
    let simulator = started().await;
    let base_url = simulator.base_url();
    reads(&simulator, "azure_small.py", &[&base_url, KEY]).await;
    simulator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn anthropics_sdk_is_content_with_the_simulator_and_with_its_bedrock() {
    let simulator = started().await;
    let root = format!("http://{}", simulator.address());
    let aws = AwsKey::simulators();
    let words = [root.as_str(), KEY, &aws.id, &aws.secret];
    reads(&simulator, "anthropic_messages.py", &words).await;
    simulator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn googles_sdk_is_content_with_the_simulator_and_with_its_vertex() {
    let key = GoogleKey::made();
    let simulator = started_with(key.settings()).await;
    let root = format!("http://{}", simulator.address());
    let account = json!({
        "type": "service_account",
        "project_id": "project-1",
        "private_key_id": "1",
        "private_key": key.private_pem,
        "client_email": EMAIL,
        "client_id": "1",
        "token_uri": format!("{root}/token"),
    });
    let words = [root.as_str(), KEY, &account.to_string()];
    reads(&simulator, "gemini.py", &words).await;
    let truth = simulator.requests();
    let tokens = truth.iter().filter(|served| served.path == "/token");
    assert!(tokens.clone().any(|served| served.status == 200));
    assert!(tokens.clone().any(|served| served.status == 400));
    simulator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arks_sdk_is_content_with_the_simulators_video_jobs() {
    let settings = Settings {
        video: VideoSettings {
            wait_millis: 300,
            run_millis: 600,
            ..VideoSettings::default()
        },
        ..Settings::default()
    };
    let simulator = started_with(settings).await;
    let root = format!("http://{}", simulator.address());
    reads(&simulator, "ark_video.py", &[&root, KEY]).await;
    let made = simulator.video_jobs();
    assert!(made.len() >= 3 && made.iter().all(|job| job.vendor == "ark"));
    simulator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn alibabas_sdk_is_content_with_the_video_jobs_of_dashscope() {
    let simulator = started().await;
    let base_url = format!("http://{}/api/v1", simulator.address());
    reads(&simulator, "dashscope_video.py", &[&base_url, KEY]).await;
    simulator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_vendors_sdk_is_content_with_speech_and_recognition() {
    let simulator = started().await;
    let base_url = simulator.base_url();
    reads(&simulator, "openai_audio.py", &[&base_url, KEY]).await;
    let calls = simulator.audio_calls();
    for work in [
        AudioWork::Speech,
        AudioWork::Transcription,
        AudioWork::Translation,
    ] {
        assert!(calls.iter().any(|call| call.work == work), "{work:?}");
    }
    simulator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arks_sdk_is_content_with_the_simulators_pictures() {
    let simulator = started().await;
    let root = format!("http://{}", simulator.address());
    reads(&simulator, "ark_images.py", &[&root, KEY]).await;
    let calls = simulator.image_calls();
    assert!(
        calls
            .iter()
            .any(|call| call.requested == 3 && call.made == 2)
    );
    simulator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn alibabas_sdk_is_content_with_the_speech_and_recognition_of_dashscope() {
    let simulator = started().await;
    let base_url = format!("http://{}/api/v1", simulator.address());
    reads(&simulator, "dashscope_audio.py", &[&base_url, KEY]).await;
    let calls = simulator.audio_calls();
    let mut tasks = calls.iter().filter(|call| call.work == AudioWork::Task);
    assert!(tasks.any(|call| call.millis == 1_200 && call.text.is_some()));
    simulator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn alibabas_sdk_is_content_with_the_pictures_of_dashscope() {
    let simulator = started().await;
    let base_url = format!("http://{}/api/v1", simulator.address());
    reads(&simulator, "dashscope_images.py", &[&base_url, KEY]).await;
    let calls = simulator.image_calls();
    assert!(calls.iter().any(|call| call.is_edit && call.made == 3));
    simulator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tikhubs_sdk_calls_every_cell_and_meets_every_failure_by_name() {
    let simulator = started().await;
    let root = format!("http://{}", simulator.address());
    reads(&simulator, "tikhub_social.py", &[&root, KEY]).await;
    let calls = simulator.social_calls();
    let billed = calls.iter().filter(|call| call.is_billed);
    let paths: BTreeSet<&str> = billed.map(|call| call.path.as_str()).collect();
    // Official accounts and everything else are searched at one path, so 101 cells are 100 paths.
    assert_eq!(paths.len(), 100);
    let is_charged_right = |call: &&SocialCall| call.is_billed == (call.status == 200);
    assert!(calls.iter().all(|call| is_charged_right(&call)));
    let largest = ("cursor".to_owned(), "9223372036854775807".to_owned());
    assert!(calls.iter().any(|call| call.params.contains(&largest)));
    simulator.stop().await;
}

#[cfg(test)]
mod run {
    use std::path::PathBuf;
    use std::time::Duration;

    use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
    use aws_lc_rs::rsa::{KeyPair, KeySize};
    use aws_lc_rs::signature::KeyPair as _;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use tokio::process::Command;
    use tokio::time::timeout;
    use trunkline_simulator::{RequestRecord, ServiceAccount, Settings, Simulator, VertexSettings};

    pub(super) const KEY: &str = "sk-simulator-sdk-7777";
    pub(super) const EMAIL: &str = "gateway@project-1.iam.gserviceaccount.com";
    /// A second account, for what one must not see of the other.
    const OTHER_KEY: &str = "sk-simulator-sdk-8888";
    /// The SDKs take some seconds to load on a busy machine, Google's more than the others.
    const PATIENCE: Duration = Duration::from_secs(240);

    /// The key of a service account, made for one run.
    pub(super) struct GoogleKey {
        pub(super) private_pem: String,
        public_pem: String,
    }

    impl GoogleKey {
        pub(super) fn made() -> Self {
            let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
            let public: PublicKeyX509Der<'_> = key.public_key().as_der().unwrap();
            let private: Pkcs8V1Der<'_> = key.as_der().unwrap();
            Self {
                private_pem: pem("PRIVATE KEY", private.as_ref()),
                public_pem: pem("PUBLIC KEY", public.as_ref()),
            }
        }

        /// A simulator that knows this key.
        pub(super) fn settings(&self) -> Settings {
            let account = ServiceAccount {
                email: EMAIL.to_owned(),
                public_key_pem: self.public_pem.clone(),
            };
            Settings {
                vertex: VertexSettings {
                    accounts: vec![account],
                    ..VertexSettings::default()
                },
                ..Settings::default()
            }
        }
    }

    pub(super) async fn started() -> Simulator {
        started_with(Settings::default()).await
    }

    pub(super) async fn started_with(settings: Settings) -> Simulator {
        let settings = Settings {
            keys: vec![KEY.to_owned(), OTHER_KEY.to_owned()],
            ..settings
        };
        Simulator::start(settings).await.unwrap()
    }

    /// Runs a script of an SDK to its good end.
    pub(super) async fn reads(simulator: &Simulator, script: &str, words: &[&str]) {
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
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/sdk");
        // Proxies of the machine must not stand between two ends of a loopback.
        let run = Command::new(python)
            .arg(folder.join(script))
            .args(words)
            .env("NO_PROXY", "*")
            // What scripts share must leave nothing behind in the tree.
            .env("PYTHONDONTWRITEBYTECODE", "1")
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
        let truth = simulator.requests();
        let refused = truth.iter().filter(|served| served.status >= 400).count();
        assert!(refused > 0 && truth.len() > refused);
        // Google's SDK gives a stream up as soon as it meets a comment, which is a fault of ours.
        let stayed = |served: &RequestRecord| !served.client_left || served.fault.is_some();
        assert!(truth.iter().all(stayed), "{truth:#?}");
    }

    fn pem(kind: &str, der: &[u8]) -> String {
        let digits = STANDARD.encode(der);
        let lines: Vec<&str> = digits
            .as_bytes()
            .chunks(64)
            .map(|line| std::str::from_utf8(line).expect("base64 is ASCII"))
            .collect();
        let inside = lines.join("\n");
        format!("-----BEGIN {kind}-----\n{inside}\n-----END {kind}-----\n")
    }
}
