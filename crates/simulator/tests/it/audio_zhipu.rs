//! Zhipu's recognition over a real socket.

use serde_json::json;
use trunkline_simulator::{Fault, transcript};

use crate::audio::{form, only_call, sha256, upload, wav};
use crate::client::{always, ask, started};

const HEAR: &str = "/api/paas/v4/audio/transcriptions";
const MODEL: [(&str, &str); 1] = [("model", "glm-asr-2512")];

#[tokio::test]
async fn a_file_is_written_down() {
    let simulator = started().await;
    let file = wav(30_000, 9);
    let got = upload(&simulator, HEAR, &MODEL, &file).await;
    let reported = got.json();
    assert_eq!(reported["text"], transcript(&sha256(&file), "en"));
    assert_eq!(reported["model"], "glm-asr-2512");
    assert!(
        reported["id"].is_string()
            && reported["request_id"].is_string()
            && reported["created"].is_u64()
    );
    let call = only_call(&simulator);
    assert_eq!((call.vendor, call.millis), ("zhipu", 30_000));
}

#[tokio::test]
async fn what_is_too_long_too_large_or_no_audio_is_refused() {
    let simulator = started().await;
    let mut large = wav(1_000, 0);
    large.resize(25 * 1024 * 1024 + 1, 0);
    for file in [wav(30_001, 9), large, b"OggS nothing else".to_vec()] {
        let got = upload(&simulator, HEAR, &MODEL, &file).await;
        assert_eq!(
            (got.status, &got.json()["error"]["code"]),
            (400, &json!("1214"))
        );
    }
    let got = upload(&simulator, HEAR, &[("model", "glm-9")], &wav(500, 0)).await;
    assert_eq!(
        (got.status, &got.json()["error"]["code"]),
        (400, &json!("1211"))
    );
    let body = form(&MODEL, Some(("a.wav", &wav(500, 0))));
    let kind = "content-type: multipart/form-data; boundary=b0undary\r\n";
    let got = ask(&simulator, "POST", HEAR, kind, &body).await;
    assert_eq!(
        (got.status, &got.json()["error"]["code"]),
        (401, &json!("1001"))
    );
    assert_eq!(simulator.audio_calls(), []);
}

#[tokio::test]
async fn faults_are_in_the_vendors_words() {
    let simulator = started().await;
    for (fault, status, code) in [
        (
            Fault::RateLimited {
                retry_after_secs: 2,
            },
            429,
            "1302",
        ),
        (Fault::Status(500), 500, "500"),
        (Fault::Status(413), 413, "1214"),
        (Fault::ErrorInside200, 200, "1234"),
    ] {
        simulator.clear_plans();
        simulator.plan(always(fault));
        let got = upload(&simulator, HEAR, &MODEL, &wav(500, 0)).await;
        assert_eq!(
            (got.status, &got.json()["error"]["code"]),
            (status, &json!(code))
        );
    }
    simulator.clear_plans();
    simulator.plan(always(Fault::CloseMidStream { after_frames: 1 }));
    let got = upload(&simulator, HEAR, &MODEL, &wav(500, 0)).await;
    assert!(!got.is_whole && got.is_closed);
}
