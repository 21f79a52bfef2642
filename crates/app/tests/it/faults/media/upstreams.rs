//! Rows U: who makes pictures, speech and transcripts fails in every way it can. Each model here has two
//! channels, and every fault strikes on both: how often the upstream was asked tells who was asked again.

use super::{Call, Kind, MediaHarness, MediaResult};

/// A fault, what its caller is told, and how often each kind is asked for.
struct FaultCase {
    fault: &'static str,
    status: u16,
    code: &'static str,
    pictures: usize,
    others: usize,
}

const fn strike(
    fault: &'static str,
    (status, code): (u16, &'static str),
    (pictures, others): (usize, usize),
) -> FaultCase {
    FaultCase {
        fault,
        status,
        code,
        pictures,
        others,
    }
}

const FAILED: (u16, &str) = (502, "upstream_error");
const SILENT: (u16, &str) = (504, "upstream_timeout");

/// Before an answer. What left for a maker of pictures is not sent again, unless that one refused it.
const STRIKES: [FaultCase; 6] = [
    strike("status:500", FAILED, (1, 2)),
    strike("status:503", FAILED, (2, 2)),
    strike("close_before_headers", FAILED, (1, 2)),
    strike("hang_before_headers", SILENT, (1, 2)),
    strike("garbage_frame:0", FAILED, (1, 2)),
    strike("rate_limited:1", (429, "upstream_rate_limited"), (2, 2)),
];

/// In the middle of an answer that is read whole.
const HALVES: [FaultCase; 3] = [
    strike("close_mid_stream", FAILED, (1, 2)),
    strike("truncated_json", FAILED, (1, 2)),
    strike("wrong_content_length", FAILED, (1, 2)),
];

async fn struck(harness: &MediaHarness, kind: Kind, strike: &FaultCase) -> Call {
    let name: String = strike
        .fault
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let marker = format!("{}-{name}", kind.hasty());
    let params = format!("[[id:{marker}]] [[fault:{}]]", strike.fault);
    let call = harness.ask(kind, kind.hasty(), &params).await;
    let result = MediaResult::Failed(strike.status, strike.code.to_owned());
    assert_eq!(call.result, result, "{call:?}");
    let times = match kind {
        Kind::Picture => strike.pictures,
        Kind::Speech | Kind::Transcript => strike.others,
    };
    assert_eq!(
        harness.served(&marker).len(),
        times,
        "{kind:?} {}",
        strike.fault
    );
    call
}

/// A good call, which shows that the channel is there.
async fn good(harness: &MediaHarness, kind: Kind) -> Call {
    let call = harness.ask(kind, kind.hasty(), "good").await;
    assert!(matches!(call.result, MediaResult::Whole(_)), "{call:?}");
    call
}

async fn all_strikes(harness: &MediaHarness, kind: Kind, strikes: &[FaultCase]) -> Vec<Call> {
    let mut calls = Vec::new();
    for strike in strikes {
        calls.push(struck(harness, kind, strike).await);
        // Bare bytes have no form that could be wrong.
        if strike.code != "upstream_rate_limited" {
            calls.push(good(harness, kind).await);
        }
    }
    calls
}

// row: U2
// row: U5
// row: U6
// row: U7
#[tokio::test]
async fn a_failed_image_vendor_is_free_and_retried_only_after_a_refusal() {
    let harness = MediaHarness::new(false).await;
    let mut calls = all_strikes(&harness, Kind::Picture, &STRIKES[..4]).await;
    harness.compare(&calls).await;
    // Channels that fail five times in a row rest; a new life knows nothing of that.
    let mut harness = harness;
    harness.process.kill_gateway().await;
    harness.process.start_gateway().await;
    calls.extend(all_strikes(&harness, Kind::Picture, &HALVES).await);
    calls.extend(all_strikes(&harness, Kind::Picture, &STRIKES[4..]).await);
    harness.compare(&calls).await;
}

// row: U2
// row: U6
// row: U7
#[tokio::test]
async fn speech_failing_before_its_first_byte_is_free_and_fails_over() {
    let harness = MediaHarness::new(false).await;
    let strikes = STRIKES
        .iter()
        .filter(|one| !one.fault.starts_with("garbage"));
    let mut calls = Vec::new();
    for strike in strikes {
        calls.extend(all_strikes(&harness, Kind::Speech, std::slice::from_ref(strike)).await);
    }
    harness.compare(&calls).await;
}

// row: U3
// row: U10
#[tokio::test]
async fn cut_silent_or_mismeasured_audio_is_aborted_and_free() {
    let harness = MediaHarness::new(false).await;
    let text = "A rather long sentence. ".repeat(8);
    let mut calls = Vec::new();
    for fault in [
        "close_mid_stream:3",
        "hang_mid_stream:3",
        "wrong_content_length",
    ] {
        let params = format!("{text}[[fault:{fault}]]");
        let call = harness.ask(Kind::Speech, "hasty-voice", &params).await;
        assert_eq!(
            call.result,
            MediaResult::Broken,
            "{fault}: a part looks whole"
        );
        calls.push(call);
        calls.push(good(&harness, Kind::Speech).await);
    }
    // What is no audio between the sounds is passed on: bytes have no form that we could hold them to.
    let params = format!("{text}[[fault:garbage_frame:3]]");
    let call = harness.ask(Kind::Speech, "hasty-voice", &params).await;
    assert!(matches!(call.result, MediaResult::Whole(_)), "{call:?}");
    calls.push(call);
    harness.compare(&calls).await;
}

// row: U2
// row: U5
// row: U6
// row: U7
#[tokio::test]
async fn a_listener_that_fails_is_free_and_another_one_is_asked() {
    let mut harness = MediaHarness::new(false).await;
    let mut calls = all_strikes(&harness, Kind::Transcript, &STRIKES[..4]).await;
    harness.process.kill_gateway().await;
    harness.process.start_gateway().await;
    calls.extend(all_strikes(&harness, Kind::Transcript, &HALVES).await);
    calls.extend(all_strikes(&harness, Kind::Transcript, &STRIKES[4..]).await);
    harness.compare(&calls).await;
}
