//! Media that move the price: measured it is exact, not measured it is the most it can be, and strict
//! mode refuses that, and every trap.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use trunkline_gateway::{Settings, VideoJob};

use crate::nodes::nanos;
use crate::test_gateway::{GatewayResponse, TestGateway};
use crate::videos::{
    CAT, column, ended, generation, made, make, make_with, moved, quick, spent, task_view,
};

/// A private address, which the guarded fetcher refuses.
const PRIVATE: &str = "http://10.0.0.1";
const STRICT: [(&str, &str); 1] = [("trunkline-strict", "true")];
const PNG: &str = "https://example.com/a.png";

fn clip(harness: &TestGateway, name: &str) -> String {
    format!("http://{}/_media/{name}", harness.simulator.address())
}

fn reference(url: &str) -> Value {
    json!({ "model": "wan2.7-r2v", "prompt": "x", "video_url": url })
}

/// A request with a clip at an address.
type BodyOf = fn(&str) -> Value;

fn native(url: &str) -> Value {
    json!({ "model": "MiniMax-H3", "prompt": "x", "video_url": url, "duration": 4 })
}

fn content(model: &str, url: &str) -> Value {
    let part =
        json!({ "type": "video_url", "role": "reference_video", "video_url": { "url": url } });
    json!({ "model": model, "prompt": "x", "metadata": { "content": [part] } })
}

async fn quoted(harness: &TestGateway, body: &Value) -> Value {
    let ask = json!({ "endpoint": "videos", "body": body }).to_string();
    let sent = harness.send(Method::POST, "/v1/quotes", Bytes::from(ask));
    let got = GatewayResponse::read(sent.await).await;
    assert_eq!(got.status, 200, "{}", got.text());
    got.json()
}

// covers: D-6-M-01, D-6-M-02, D-6-M-04, D-7-VID-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn media_that_can_be_measured_have_an_exact_price() {
    let harness = generation(quick()).await;
    let seven = clip(&harness, "clip-7s.mp4");
    let edit = json!({ "model": "wan2.7-videoedit", "video_url": seven });
    let native = json!({ "model": "MiniMax-H3", "prompt": "x", "video_url": seven, "duration": 4 });
    let many = json!({ "model": "MiniMax-H3", "prompt": "x", "duration": 4, "images": [PNG, PNG, PNG, PNG, PNG, PNG, PNG] });
    let cases = [
        (reference(&seven), 1_200_000_000),
        (reference(&clip(&harness, "clip-3s.mov")), 800_000_000),
        (edit, 493_850_000),
        (content("doubao-seedance-2-5-260628", &seven), 2_592_000_000),
        (native, 880_000_000),
        (many, 400_000_000),
    ];
    let mut sum = 0;
    for (body, price) in cases {
        let quote = quoted(&harness, &body).await;
        assert_eq!(
            (&quote["exact"], nanos(&quote["price_usd"])),
            (&json!(true), price),
            "{body}"
        );
        let id = made(&harness, &body).await;
        assert_eq!(moved(&harness, &id, "charge").await, price, "{body}");
        assert_eq!(ended(&harness, &id).await["status"], "completed");
        assert_eq!(moved(&harness, &id, "settlement_adjustment").await, 0);
        sum += price;
    }
    assert_eq!(spent(&harness).await, sum);
    harness.audit().await;
}

/// A file of the simulator.
pub(crate) async fn file_bytes(harness: &TestGateway, name: &str) -> Bytes {
    let (to, path) = ((harness.simulator.address(), ""), format!("/_media/{name}"));
    let sent = harness.send_as(to, Method::GET, &path, Bytes::new(), &[]);
    let got = GatewayResponse::read(sent.await).await;
    assert_eq!(got.status, 200);
    got.body
}

/// A server that shows one clip so many times, and then another.
async fn two_faced(first: &Bytes, then: &Bytes, times: u64) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    // The simulated vendor goes by the name: it gets ten seconds.
    let url = format!("http://{}/clip-10s.mp4", listener.local_addr().unwrap());
    let (first, then) = (first.clone(), then.clone());
    #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
    tokio::spawn(async move {
        let mut requests = 0;
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut received = [0; 4096];
            if stream.read(&mut received).await.is_err() {
                continue;
            }
            requests += 1;
            let clip = if requests <= times { &first } else { &then };
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: video/mp4\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                clip.len()
            );
            let whole = [head.as_bytes(), clip].concat();
            drop(stream.write_all(&whole).await);
            drop(stream.shutdown().await);
        }
    });
    url
}

/// Every link in what an upstream was sent.
pub(crate) fn links(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) if text.starts_with("http") => vec![text.clone()],
        Value::Array(list) => list.iter().flat_map(links).collect(),
        Value::Object(map) => map.values().flat_map(links).collect(),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// G-16: the server shows two seconds to us, and ten to the vendor.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vendor_gets_the_clip_that_was_measured_whatever_its_server_shows_to_others() {
    let harness = generation(quick()).await;
    let two = file_bytes(&harness, "clip-2s.mp4").await;
    let ten = file_bytes(&harness, "clip-10s.mp4").await;
    assert_ne!(two, ten);
    let mut sum = 0;
    let cases: [(BodyOf, i64); 3] = [
        (reference, 700_000_000),
        (native, 480_000_000),
        (
            |url| content("doubao-seedance-2-5-260628", url),
            1_512_000_000,
        ),
    ];
    for (body, price) in cases {
        let url = two_faced(&two, &ten, 2).await;
        let id = made(&harness, &body(&url)).await;
        assert_eq!(moved(&harness, &id, "charge").await, price, "{id}");
        let job = harness.simulator.video_jobs().pop().unwrap();
        let sent = links(&job.body);
        let [link] = sent.as_slice() else {
            panic!("one link in {}", job.body)
        };
        let path = link.strip_prefix("http://127.0.0.1:8080").unwrap();
        let got = harness.send_as((harness.address, ""), Method::GET, path, Bytes::new(), &[]);
        let got = GatewayResponse::read(got.await).await;
        assert_eq!(got.header("content-type").as_deref(), Some("video/mp4"));
        assert!(got.body == two, "what was measured is what is sent");
        assert_eq!(ended(&harness, &id).await["status"], "completed");
        sum += price;
    }
    // One that changes before it is copied is refused, and so is one whose server is gone by then.
    let url = two_faced(&two, &ten, 1).await;
    let got = make(&harness, &reference(&url)).await;
    assert_eq!(got.status, 400, "{}", got.text());
    assert_eq!(got.json()["error"]["param"], "video_url");
    assert!(got.text().contains("another one"), "{}", got.text());
    assert_eq!(spent(&harness).await, sum);
    harness.audit().await;
}

/// Without an address that vendors can reach, what was measured goes as data to those that take data; by others the
/// clip is fetched at its own link, and their count is billed (G-16).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_public_url_a_measured_clip_goes_as_data_or_the_vendors_count_is_billed() {
    let harness = generation(Settings {
        vendors_reach_links: false,
        ..quick()
    })
    .await;
    let two = file_bytes(&harness, "clip-2s.mp4").await;
    let ten = file_bytes(&harness, "clip-10s.mp4").await;
    let as_data = format!("data:video/mp4;base64,{}", STANDARD.encode(&two));
    let seedance: BodyOf = |url| content("doubao-seedance-2-5-260628", url);
    let mut sum = 0;
    for (body, price) in [(native as BodyOf, 480_000_000), (seedance, 1_512_000_000)] {
        let url = two_faced(&two, &ten, 2).await;
        let id = made(&harness, &body(&url)).await;
        assert_eq!(moved(&harness, &id, "charge").await, price, "{id}");
        let job = harness.simulator.video_jobs().pop().unwrap();
        assert_eq!(links(&job.body), Vec::<String>::new());
        assert!(job.body.to_string().contains(&as_data), "{price}");
        assert_eq!(ended(&harness, &id).await["status"], "completed");
        sum += price;
    }
    // This vendor takes links only, and gets ten seconds; the other clip is too large to be sent as data.
    let large = Bytes::from([two.as_ref(), &vec![0; 10_000_000]].concat());
    let cases = [
        (reference as BodyOf, &two, 3_500_000_000, 1_500_000_000),
        (seedance, &large, 7_560_000_000, 7_560_000_000),
    ];
    for (body, first, most, price) in cases {
        let url = two_faced(first, &ten, 1).await;
        let quote = quoted(&harness, &body(&url)).await;
        assert_eq!(quote["exact"], false, "{quote}");
        let url = two_faced(first, &ten, 1).await;
        let id = made(&harness, &body(&url)).await;
        assert_eq!(moved(&harness, &id, "charge").await, most, "{id}");
        let job = harness.simulator.video_jobs().pop().unwrap();
        assert_eq!(links(&job.body), [url]);
        assert_eq!(ended(&harness, &id).await["status"], "completed");
        let adjusted = moved(&harness, &id, "settlement_adjustment").await;
        assert_eq!(adjusted, most - price, "{id}");
        sum += price;
    }
    assert_eq!(spent(&harness).await, sum);
    harness.audit().await;
}

/// A server that knows no parts and sends a movie whose end never comes, at a pace; how much it has sent.
async fn endless(pause: Duration, piece: usize) -> (String, Arc<AtomicU64>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/clip.mp4", listener.local_addr().unwrap());
    let sent = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&sent);
    #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // An answer before the question is none to a client that minds the order.
            let mut received = [0; 4096];
            if stream.read(&mut received).await.is_err() {
                continue;
            }
            let head =
                b"HTTP/1.1 200 OK\r\ncontent-type: video/mp4\r\ncontent-length: 9000000000\r\n\r\n";
            // Its kind, and then its pictures: what tells its length would stand behind them.
            let mut video = b"\0\0\0\x18ftypisom\0\0\0\0isommp42\0\0\0\x01mdat".to_vec();
            video.extend(8_999_999_000_u64.to_be_bytes());
            let zeros = vec![0; piece];
            let begun = [head.as_slice(), &video].concat();
            let mut going = stream.write_all(&begun).await.is_ok();
            while going {
                tokio::time::sleep(pause).await;
                going = stream.write_all(&zeros).await.is_ok();
                count.fetch_add(piece as u64, Ordering::Relaxed);
            }
        }
    });
    (url, sent)
}

// covers: D-6-M-03
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_or_large_file_is_abandoned_after_10_seconds_or_64_megabytes() {
    let harness = generation(quick()).await;
    let (slow, _) = endless(Duration::from_millis(100), 100).await;
    let began = std::time::Instant::now();
    let quote = quoted(&harness, &reference(&slow)).await;
    let took = began.elapsed().as_secs_f64();
    assert_eq!(quote["exact"], json!(false), "{quote}");
    assert!((9.0..16.0).contains(&took), "{took}");
    let (large, sent) = endless(Duration::ZERO, 1_000_000).await;
    let began = std::time::Instant::now();
    let quote = quoted(&harness, &reference(&large)).await;
    assert_eq!(quote["exact"], json!(false), "{quote}");
    let megabytes = sent.load(Ordering::Relaxed) / 1_000_000;
    // Beside what was read, some lies in the buffers between us. A slow machine gives up by the clock.
    let by_the_clock = began.elapsed().as_secs() >= 9;
    assert!(
        megabytes < 80 && (megabytes >= 63 || by_the_clock),
        "{megabytes}"
    );
}

// covers: D-2-65, D-2-66, D-2-67, D-6-M-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unmeasurable_media_reserve_the_maximum_and_refund_the_difference() {
    let harness = generation(quick()).await;
    // One vendor reads the length from the name, another from the query.
    let seven = format!("{PRIVATE}/clip-7s.mp4?ms=7000");
    let edit = json!({ "model": "wan2.7-videoedit", "video_url": seven });
    let native = json!({ "model": "MiniMax-H3", "prompt": "x", "video_url": seven, "duration": 4 });
    // What is charged at first, and what it comes to.
    let cases = [
        (reference(&seven), 3_500_000_000, 1_200_000_000),
        (edit, 705_500_000, 493_850_000),
        // The upstream counts more than the most: never raised.
        (
            reference(&format!("{PRIVATE}/clip-40s.mp4")),
            3_500_000_000,
            3_500_000_000,
        ),
        // The upstream does not tell what went in: the most is the best estimate.
        (
            content("doubao-seedance-2-5-260628", &seven),
            7_560_000_000,
            7_560_000_000,
        ),
        (native, 1_520_000_000, 880_000_000),
    ];
    let mut sum = 0;
    for (body, most, price) in cases {
        let quote = quoted(&harness, &body).await;
        assert_eq!(
            (&quote["exact"], &quote["price_usd"]),
            (&json!(false), &Value::Null)
        );
        assert_eq!(nanos(&quote["maximum_usd"]), most, "{body}");
        let id = made(&harness, &body).await;
        assert_eq!(moved(&harness, &id, "charge").await, most, "{body}");
        while column(&harness, &id, "state").await != "completed" {
            trunkline_gateway::claim_video_jobs(&harness.gateway, VideoJob::Poll)
                .await
                .unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let adjusted = moved(&harness, &id, "settlement_adjustment").await;
        assert_eq!(adjusted, most - price, "{body}");
        if adjusted > 0 {
            let uuid = id.strip_prefix("task_").unwrap();
            let query = format!(
                "SELECT (t.xmin::text = r.xmin::text)::text FROM app.video_task AS t
                 JOIN ledger.transfer AS r ON r.request_id = t.id
                 WHERE t.id = '{uuid}' AND r.kind = 'settlement_adjustment'"
            );
            assert_eq!(harness.db.ask(&query).await, ["true"], "one transaction");
        }
        sum += price;
    }
    assert_eq!(spent(&harness).await, sum);
    harness.audit().await;
}

// covers: D-2-66
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bound_that_fails_comes_back_whole() {
    let harness = generation(quick()).await;
    let body = json!({ "model": "wan2.7-r2v", "prompt": "x [[job:fail:InternalError]]",
        "video_url": format!("{PRIVATE}/clip-7s.mp4") });
    let id = made(&harness, &body).await;
    assert_eq!(ended(&harness, &id).await["status"], "failed");
    assert_eq!(moved(&harness, &id, "refund").await, 3_500_000_000);
    assert_eq!(moved(&harness, &id, "settlement_adjustment").await, 0);
    assert_eq!(spent(&harness).await, 0);
    harness.audit().await;
}

// covers: D-6-M-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strict_mode_refuses_what_cannot_be_measured_and_takes_what_can() {
    let harness = generation(quick()).await;
    for url in [
        format!("{PRIVATE}/clip-7s.mp4"),
        clip(&harness, "nothing.mp4"),
    ] {
        let refused = make_with(&harness, &reference(&url), &STRICT).await;
        assert_eq!(
            (refused.status.as_u16(), refused.code().as_str()),
            (400, "unpriceable"),
            "{url}"
        );
    }
    assert_eq!(spent(&harness).await, 0);
    let measured = reference(&clip(&harness, "clip-7s.mp4"));
    let body = json!({ "model": "wan2.7-r2v", "prompt": "x", "video_url": measured["video_url"],
        "size": "1280*720", "duration": 5 });
    let taken = make_with(&harness, &body, &STRICT).await;
    assert_eq!(taken.status, 200, "{}", taken.text());
    assert_eq!(spent(&harness).await, 1_200_000_000);
    harness.audit().await;
}

// covers: D-6-A-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strict_mode_refuses_every_trap_that_is_only_named_without_it() {
    let harness = generation(quick()).await;
    let page = include_str!("../../../../docs/guide/errors.md");
    let traps = [
        ("wan2.7-t2v", json!({ "size": "1000*1000" }), "size_folded"),
        ("wan2.7-t2v", json!({ "seconds": "8" }), "field_ignored"),
        (
            "wan2.7-r2v",
            json!({ "input_reference": PNG, "images": [PNG] }),
            "reference_overridden",
        ),
        (
            "happyhorse-1.1-t2v",
            json!({ "images": [PNG] }),
            "references_not_assembled",
        ),
        (
            "doubao-seedance-2-5-260628",
            json!({ "seconds": "5", "duration": 6 }),
            "seconds_wins",
        ),
        (
            "kling-v3",
            json!({ "input_reference": PNG }),
            "frame_field_unread",
        ),
        ("kling-v3", json!({ "size": "1280*720" }), "size_table_miss"),
        (
            "kling-3.0-turbo",
            json!({ "metadata": { "sound": "off" } }),
            "audio_forced",
        ),
        (
            "kling-v3",
            json!({ "metadata": { "stranger": 1 } }),
            "metadata_ignored",
        ),
        (
            "MiniMax-Hailuo-2.3",
            json!({ "image": PNG }),
            "media_dropped",
        ),
    ];
    let mut made = 0;
    for (model, fields, code) in traps {
        let mut body = fields.clone();
        body["model"] = json!(model);
        body["prompt"] = json!("x");
        let refused = make_with(&harness, &body, &STRICT).await;
        assert_eq!(
            (refused.status.as_u16(), refused.code().as_str()),
            (400, code),
            "{body}"
        );
        assert_eq!(harness.simulator.video_jobs().len(), made, "{body}");
        let taken = make(&harness, &body).await;
        assert_eq!(taken.status, 200, "{body}: {}", taken.text());
        let reported = taken.header("trunkline-warnings").unwrap();
        assert!(reported.contains(code), "{reported}");
        let warnings = &taken.json()["metadata"]["warnings"];
        let mut notes = warnings.as_array().unwrap().iter();
        assert!(notes.any(|note| note["code"] == code), "{warnings}");
        assert!(
            page.contains(&format!("\n### `{code}`\n")),
            "{code} is not explained"
        );
        made += 1;
        assert_eq!(harness.simulator.video_jobs().len(), made);
    }
    let plain = json!({ "model": "wan2.7-t2v", "prompt": "x", "size": "1280*720", "duration": 5 });
    let before = spent(&harness).await;
    let taken = make_with(&harness, &plain, &STRICT).await;
    assert_eq!(taken.status, 200, "{}", taken.text());
    assert_eq!(spent(&harness).await - before, CAT);
    let id = taken.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(
        task_view(&harness, &id).await["metadata"].get("warnings"),
        None
    );
}
