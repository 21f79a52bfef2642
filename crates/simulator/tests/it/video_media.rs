//! Files of finished jobs: real clips of the right length, in parts, for a while, without a key.

use std::time::Duration;

use serde_json::json;
use tokio::process::Command;
use trunkline_simulator::{Phase, Simulator};

use crate::client::{Response, ask, started};

const SUBMIT: &str = "/api/v1/services/aigc/video-generation/video-synthesis";

/// A finished job of seven seconds: its id.
async fn finished(simulator: &Simulator, prompt: &str) -> String {
    let body = json!({"model": "wan2.7-t2v", "input": {"prompt": format!("{prompt} [[job:ms:0]]")},
        "parameters": {"duration": 7}});
    let head = "authorization: Bearer k\r\nx-dashscope-async: enable\r\n";
    let body = body.to_string();
    let got = ask(simulator, "POST", SUBMIT, head, body.as_bytes()).await;
    let id = got.json()["output"]["task_id"].as_str().unwrap().to_owned();
    while simulator.video_jobs().pop().unwrap().phase() != Phase::Succeeded {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    id
}

async fn get(simulator: &Simulator, file: &str, head: &str) -> Response {
    ask(simulator, "GET", &format!("/_media/{file}"), head, b"").await
}

/// The inside of a box, by its path.
fn inside<'a>(bytes: &'a [u8], path: &[&str]) -> Option<&'a [u8]> {
    let Some((name, rest)) = path.split_first() else {
        return Some(bytes);
    };
    let mut left = bytes;
    while left.len() >= 8 {
        let length = u32::from_be_bytes(left[..4].try_into().unwrap()) as usize;
        assert!(
            (8..=left.len()).contains(&length),
            "a box ends where its parent does"
        );
        if left[4..8] == *name.as_bytes() {
            return inside(&left[8..length], rest);
        }
        left = &left[length..];
    }
    None
}

fn number(bytes: &[u8], place: usize) -> u32 {
    u32::from_be_bytes(bytes[place * 4..place * 4 + 4].try_into().unwrap())
}

#[tokio::test]
async fn the_file_of_a_job_is_a_clip_as_long_as_the_job_says() {
    let simulator = started().await;
    let id = finished(&simulator, "a cat").await;
    let got = get(&simulator, &format!("{id}.mp4"), "").await;
    assert_eq!(
        (got.status, got.header("content-type")),
        (200, Some("video/mp4"))
    );
    assert!(got.is_whole && got.body.len() < 2_000);
    let head = inside(&got.body, &["moov", "mvhd"]).unwrap();
    assert_eq!((number(head, 3), number(head, 4)), (1_000, 7_000));
    assert_eq!(&inside(&got.body, &["ftyp"]).unwrap()[..4], b"isom");
    let media = ["moov", "trak", "mdia"];
    let handler = inside(&got.body, &[&media[..], &["hdlr"]].concat()).unwrap();
    assert_eq!(&handler[8..12], b"vide");
    // The table points at the one sample, which begins with its own length and is a whole picture.
    let table = [&media[..], &["minf", "stbl"]].concat();
    let part = |name: &'static str| inside(&got.body, &[&table[..], &[name]].concat()).unwrap();
    let (offset, size) = (number(part("stco"), 2) as usize, number(part("stsz"), 1));
    let sample = &got.body[offset..];
    assert_eq!((number(sample, 0) + 4, sample[4]), (size, 0x65));
    assert_eq!(inside(&got.body, &["mdat"]).unwrap().len(), size as usize);
    assert_eq!(number(part("stts"), 3), 7_000);
}

#[tokio::test]
async fn ffprobe_agrees_where_there_is_one() {
    let simulator = started().await;
    let id = finished(&simulator, "a cat").await;
    let url = format!("http://{}/_media/{id}.mp4", simulator.address());
    let arguments = [
        "-v",
        "error",
        "-count_frames",
        "-of",
        "csv=p=0",
        "-show_entries",
    ];
    let arguments = arguments
        .iter()
        .chain(&["stream=codec_name,width,height,nb_read_frames:format=duration"]);
    let run = Command::new("ffprobe")
        .args(arguments)
        .arg(&url)
        .output()
        .await;
    match run {
        Ok(output) => {
            let text = String::from_utf8(output.stdout).unwrap();
            assert_eq!(text.trim(), "h264,16,16,1\n7.000000");
            assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
        }
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound),
    }
}

#[tokio::test]
async fn parts_and_heads_are_served() {
    let simulator = started().await;
    let id = finished(&simulator, "a cat").await;
    let file = format!("{id}.mp4");
    let whole = get(&simulator, &file, "").await;
    let length = whole.body.len();
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    let part = get(&simulator, &file, "range: bytes=4-7\r\n").await;
    assert_eq!((part.status, part.body.as_slice()), (206, &b"ftyp"[..]));
    let reported = format!("bytes 4-7/{length}");
    assert_eq!(part.header("content-range"), Some(reported.as_str()));
    let end = get(&simulator, &file, "range: bytes=-10\r\n").await;
    assert_eq!(end.body, whole.body[length - 10..]);
    let beyond = get(&simulator, &file, &format!("range: bytes={length}-\r\n")).await;
    let reported = format!("bytes */{length}");
    assert_eq!(
        (beyond.status, beyond.header("content-range")),
        (416, Some(reported.as_str()))
    );
    let head = ask(&simulator, "HEAD", &format!("/_media/{file}"), "", b"").await;
    let reported = length.to_string();
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some(reported.as_str()))
    );
    assert!(head.body.is_empty());
    let wrong = ask(&simulator, "POST", &format!("/_media/{file}"), "", b"").await;
    assert_eq!(wrong.status, 405);
}

#[tokio::test]
async fn a_link_ends_and_a_file_can_be_missing_or_late() {
    let simulator = started().await;
    let id = finished(&simulator, "a cat").await;
    for (query, status) in [
        ("Expires=4102444800&Signature=x", 200),
        ("Signature=x&Expires=1", 403),
        ("Expires=x", 403),
    ] {
        let got = get(&simulator, &format!("{id}.mp4?{query}"), "").await;
        assert_eq!(got.status, status, "{query}");
    }
    assert_eq!(get(&simulator, "missing.mp4", "").await.status, 404);
    let missing = finished(&simulator, "[[job:no_file]]").await;
    assert_eq!(
        get(&simulator, &format!("{missing}.mp4"), "").await.status,
        404
    );
    let late = finished(&simulator, "[[job:file_later:2]]").await;
    for status in [500, 500, 200, 200] {
        assert_eq!(
            get(&simulator, &format!("{late}.mp4"), "").await.status,
            status
        );
    }
}

#[tokio::test]
async fn a_name_may_ask_for_a_clip_of_any_length_and_wrapping() {
    let simulator = started().await;
    for (file, kind, brand) in [
        ("clip-11s.mp4", "video/mp4", Some(b"isom")),
        ("clip-11s.mov", "video/quicktime", Some(b"qt  ")),
        ("clip-11s.webm", "video/webm", None),
    ] {
        let got = get(&simulator, file, "").await;
        assert_eq!((got.status, got.header("content-type")), (200, Some(kind)));
        match brand {
            Some(brand) => {
                assert_eq!(&inside(&got.body, &["ftyp"]).unwrap()[..4], brand);
                assert_eq!(
                    number(inside(&got.body, &["moov", "mvhd"]).unwrap(), 4),
                    11_000
                );
            }
            None => assert_eq!(got.body[..4], [0x1a, 0x45, 0xdf, 0xa3]),
        }
    }
}
