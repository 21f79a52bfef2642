//! Finished files: by the link and by `…/content`, in parts, before and after they are ours.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::json;
use trunkline_gateway::VideoJob;
use trunkline_testkit::test_clock;

use crate::test_gateway::{GatewayResponse, TestGateway, TestOptions};
use crate::videos::{
    CAT, MONEY, cat, column, ended, generation, generation_with, made, moved, quick, spent,
    task_view, work,
};

const HOST: &str = "http://127.0.0.1:8080";

/// Works until a task is done, and leaves its file where it is.
async fn done(harness: &TestGateway, id: &str) -> String {
    for _ in 0..200 {
        trunkline_gateway::claim_video_jobs(&harness.gateway, VideoJob::Submit)
            .await
            .unwrap();
        trunkline_gateway::claim_video_jobs(&harness.gateway, VideoJob::Poll)
            .await
            .unwrap();
        let task = task_view(harness, id).await;
        if task["status"] == "completed" {
            let url = task["metadata"]["url"].as_str().unwrap();
            return url.strip_prefix(HOST).unwrap().to_owned();
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    panic!("{id} was never done");
}

/// Without a key, as any client with the link.
async fn follow(
    harness: &TestGateway,
    path: &str,
    extra: &[(&'static str, &str)],
) -> GatewayResponse {
    let unknown = (harness.address, "");
    let sent = harness.send_as(unknown, Method::GET, path, Bytes::new(), extra);
    GatewayResponse::read(sent.await).await
}

async fn upstream_file(harness: &TestGateway) -> Bytes {
    let job = harness.simulator.video_jobs().pop().unwrap();
    let path = format!("/_media/{}.mp4", job.id);
    let there = (harness.simulator.address(), "x");
    let sent = harness.send_as(there, Method::GET, &path, Bytes::new(), &[]);
    GatewayResponse::read(sent.await).await.body
}

/// Tries to keep a file until it is kept, without waiting for its turn.
async fn mirror(harness: &TestGateway, id: &str) {
    for _ in 0..100 {
        harness
            .db
            .ask("UPDATE app.video_schedule SET due_at = app.now() WHERE job = 'mirror' RETURNING ''")
            .await;
        trunkline_gateway::claim_video_jobs(&harness.gateway, VideoJob::Mirror)
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        if column(harness, id, "media_path IS NOT NULL").await == "true" {
            return;
        }
    }
    panic!("the file of {id} was never kept");
}

// covers: D-4-08, D-4-09, D-4-10, D-4-11, D-4-12, D-4-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_served_in_ranges_before_it_is_stored_and_after() {
    let harness = generation(quick()).await;
    let id = made(&harness, &cat("")).await;
    let link = done(&harness, &id).await;
    let file = upstream_file(&harness).await;
    assert!(file.len() > 100);
    let ends: i64 = link
        .split("Expires=")
        .nth(1)
        .unwrap()
        .split('&')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let task = task_view(&harness, &id).await;
    assert!((task["expires_at"].as_i64().unwrap() - ends).abs() <= 2);
    let content = format!("/v1/videos/{id}/content");
    for is_ours in [false, true] {
        if is_ours {
            mirror(&harness, &id).await;
            harness.simulator.clone().stop().await;
        }
        assert_eq!(
            column(&harness, &id, "media_path IS NOT NULL").await,
            is_ours.to_string()
        );
        let linked = follow(&harness, &link, &[]).await;
        assert_eq!((linked.status.as_u16(), &linked.body), (200, &file));
        assert_eq!(linked.header("content-type").as_deref(), Some("video/mp4"));
        let whole = harness.get(&content).await;
        assert_eq!((whole.status.as_u16(), &whole.body), (200, &file));
        // G-18
        for file in [&linked, &whole] {
            let sniffed = file.header("x-content-type-options");
            assert_eq!(sniffed.as_deref(), Some("nosniff"));
        }
        for path in [&content, &link] {
            let head = harness.send(Method::HEAD, path, Bytes::new()).await;
            assert_eq!(head.status, 200);
            assert_eq!(head.headers["content-length"], file.len().to_string());
            assert!(GatewayResponse::read(head).await.body.is_empty());
            let part = [("range", "bytes=4-7")];
            let part = harness
                .send_with(Method::GET, path, Bytes::new(), &part)
                .await;
            let part = GatewayResponse::read(part).await;
            assert_eq!((part.status.as_u16(), &part.body), (206, &file.slice(4..8)));
            let reported = format!("bytes 4-7/{}", file.len());
            assert_eq!(part.header("content-range"), Some(reported));
        }
    }
    let last = follow(&harness, &link, &[("range", "bytes=-4")]).await;
    assert_eq!(last.body, file.slice(file.len() - 4..));
    let beyond = follow(&harness, &link, &[("range", "bytes=99999999-")]).await;
    assert_eq!(beyond.status, 416);
    let other = [("range", "bytes=4-7"), ("if-range", "\"another\"")];
    assert_eq!(follow(&harness, &link, &other).await.status, 200);
}

// covers: G-4.2-17
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_ends_with_its_time_and_an_altered_one_never_worked() {
    let clock = test_clock();
    let harness = generation_with(TestOptions {
        settings: quick(),
        paid: MONEY,
        clock: Arc::new(clock.clone()),
        ..TestOptions::default()
    })
    .await;
    let id = made(&harness, &cat("")).await;
    let link = done(&harness, &id).await;
    assert_eq!(follow(&harness, &link, &[]).await.status, 200);
    let account = format!("/{}/", harness.account.number());
    let (other, last) = ("/987654/", link.chars().last().unwrap());
    let flipped = if last == 'A' { 'B' } else { 'A' };
    // The last sign of a signature may carry bits that do not count; the first counts whole.
    let signature = link.split("Signature=").nth(1).unwrap();
    let first = signature.chars().nth(8).unwrap();
    let changed = if first == 'x' { 'y' } else { 'x' };
    let mut signs: Vec<char> = signature.chars().collect();
    signs[8] = changed;
    let forged: String = signs.into_iter().collect();
    let altered = [
        link.replace(signature, &forged),
        link.replacen(&account, other, 1),
        link.replace("Expires=1", "Expires=2"),
        format!("{link}&more=1"),
        format!("{link}{flipped}"),
        link.split('?').next().unwrap().to_owned(),
        link.replacen(&id, "task_00000000000000000000000000000000", 1),
    ];
    for wrong in altered {
        assert_ne!(wrong, link);
        let got = follow(&harness, &wrong, &[]).await;
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (403, "link_refused"),
            "{wrong}"
        );
    }
    clock.shift_seconds(86_300);
    harness.gateway.refresh().await.unwrap();
    assert_eq!(follow(&harness, &link, &[]).await.status, 200);
    clock.shift_seconds(110);
    let got = follow(&harness, &link, &[]).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (403, "link_refused")
    );
    harness.gateway.refresh().await.unwrap();
    let fresh = task_view(&harness, &id).await;
    let fresh = fresh["metadata"]["url"]
        .as_str()
        .unwrap()
        .strip_prefix(HOST)
        .unwrap();
    assert_eq!(follow(&harness, fresh, &[]).await.status, 200);
}

// covers: G-4.2-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_vendors_file_is_fetched_by_our_link() {
    let harness = generation(quick()).await;
    let png = "https://example.com/a.png";
    let bodies = [
        cat(""),
        json!({ "model": "doubao-seedance-2-5-260628", "prompt": "x" }),
        json!({ "model": "kling-v3", "prompt": "x" }),
        json!({ "model": "kling-3.0-turbo", "prompt": "x" }),
        json!({ "model": "kling-v3-omni", "prompt": "x", "metadata": { "aspect_ratio": "1:1" } }),
        json!({ "model": "MiniMax-H3", "prompt": "x", "metadata": { "ratio": "16:9" } }),
        json!({ "model": "MiniMax-Hailuo-2.3", "prompt": "x" }),
        json!({ "model": "happyhorse-1.1-i2v", "input_reference": png }),
    ];
    for body in bodies {
        let id = made(&harness, &body).await;
        let link = done(&harness, &id).await;
        assert!(
            link.starts_with("/media/") && link.contains("?Expires="),
            "{link}"
        );
        let before = follow(&harness, &link, &[]).await;
        assert_eq!(before.status, 200, "{body}: {}", before.text());
        mirror(&harness, &id).await;
        assert_eq!(
            follow(&harness, &link, &[]).await.body,
            before.body,
            "{body}"
        );
    }
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_shows_a_file_and_with_download_saves_it_under_its_name() {
    let harness = generation(quick()).await;
    let id = made(&harness, &cat("")).await;
    let link = done(&harness, &id).await;
    let save = format!("{link}&download=1");
    let named = format!("attachment; filename=\"{id}.mp4\"");
    // First as the upstream has it, then as ours.
    for place in ["upstream", "store"] {
        let inline = follow(&harness, &link, &[]).await;
        assert_eq!(inline.status, 200, "{place}: {}", inline.text());
        assert_eq!(inline.header("content-disposition"), None, "{place}");
        let saved = follow(&harness, &save, &[]).await;
        assert_eq!(saved.status, 200, "{place}: {}", saved.text());
        let reported = saved.header("content-disposition");
        assert_eq!(reported.as_deref(), Some(named.as_str()), "{place}");
        assert_eq!(saved.body, inline.body, "{place}");
        // A download that was broken off goes on.
        let rest = follow(&harness, &save, &[("range", "bytes=4-7")]).await;
        assert_eq!(rest.status, 206, "{place}");
        assert_eq!(rest.body, inline.body[4..8], "{place}");
        for more in ["&download=0", "&download=1&download=1", "&x=1"] {
            let got = follow(&harness, &format!("{link}{more}"), &[]).await;
            assert_eq!(got.status, 403, "{place} {more}: {}", got.text());
            assert_eq!(got.header("content-disposition"), None);
        }
        mirror(&harness, &id).await;
    }
    harness.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_file_is_fetched_again_and_a_missing_one_fails_no_task() {
    let harness = generation(quick()).await;
    let late = made(&harness, &cat("[[job:file_later:2]]")).await;
    let link = done(&harness, &late).await;
    mirror(&harness, &late).await;
    let files = harness.simulator.requests();
    let files = files
        .iter()
        .filter(|served| served.path.starts_with("/_media/"));
    let statuses: Vec<u16> = files.map(|served| served.status).collect();
    assert_eq!(statuses, [500, 500, 200]);
    assert_eq!(follow(&harness, &link, &[]).await.status, 200);
    let never = made(&harness, &cat("[[job:no_file]]")).await;
    assert_eq!(ended(&harness, &never).await["status"], "completed");
    let link = done(&harness, &never).await;
    let got = follow(&harness, &link, &[]).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (502, "upstream_error")
    );
    work(&harness).await;
    assert_eq!(task_view(&harness, &never).await["status"], "completed");
    assert_eq!(moved(&harness, &never, "charge").await, CAT);
    assert_eq!(moved(&harness, &never, "refund").await, 0);
    assert_eq!(spent(&harness).await, 2 * CAT);
    let unfinished = made(&harness, &cat("[[job:stuck]]")).await;
    let got = harness
        .get(&format!("/v1/videos/{unfinished}/content"))
        .await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (404, "not_found")
    );
    harness.audit().await;
}
