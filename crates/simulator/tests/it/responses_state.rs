//! What is kept between two responses: for whom, for how long, and how its absence is told.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_simulator::{Fault, Simulator, Spelling};

use crate::client::{always, ask, post_as, started};
use crate::responses::{PATH, asking, names, respond, streaming};

fn continuing(mut body: Value, id: &str) -> Value {
    body["previous_response_id"] = json!(id);
    body
}

async fn id_of(simulator: &Simulator, body: &Value) -> String {
    let answer = respond(simulator, body).await.json();
    answer["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_response_is_continued_by_the_key_that_made_it_and_by_no_other() {
    let simulator = started().await;
    let id = id_of(&simulator, &asking("hello")).await;
    let body = continuing(asking("go on"), &id);
    let own = respond(&simulator, &body).await;
    assert_eq!(own.status, 200);
    // hello, five words of four to five bytes, go on: 5 + 25 + 5 bytes in three items.
    assert_eq!(own.json()["usage"]["input_tokens"], 9 + 9);
    let foreign = post_as(&simulator, "sk-other-5678", PATH, &body).await;
    assert_eq!(foreign.status, 400);
    let error = &foreign.json()["error"];
    assert_eq!(error["code"], "previous_response_not_found");
    assert_eq!(error["param"], "previous_response_id");
    let path = format!("{PATH}/{id}");
    let head = "authorization: Bearer sk-other-5678\r\n";
    for method in ["GET", "DELETE"] {
        let got = ask(&simulator, method, &path, head, b"").await;
        assert_eq!(got.status, 404, "{method}");
    }
}

#[tokio::test]
async fn what_is_not_to_be_stored_is_not() {
    let simulator = started().await;
    let mut body = asking("hello");
    body["store"] = json!(false);
    let id = id_of(&simulator, &body).await;
    let got = respond(&simulator, &continuing(asking("on"), &id)).await;
    assert_eq!(got.status, 400);
    let failed = id_of(&simulator, &asking("[[fail:server_error]]")).await;
    let got = respond(&simulator, &continuing(asking("on"), &failed)).await;
    assert_eq!(got.status, 400);
}

#[tokio::test]
async fn a_rule_makes_a_fresh_id_unknown_for_a_while_and_then_known() {
    let simulator = started().await;
    let mut rule = always(Fault::NotReady {
        secs: 1,
        spelling: Spelling::Status404,
    });
    rule.times = Some(1);
    simulator.plan(rule);
    let fresh = respond(&simulator, &asking("hello")).await;
    assert_eq!(fresh.status, 200);
    let id = fresh.json()["id"].as_str().unwrap().to_owned();
    let body = continuing(asking("on"), &id);
    let early = respond(&simulator, &body).await;
    assert_eq!(early.status, 404);
    assert_eq!(early.json()["error"]["code"], "previous_response_not_found");
    // It can be looked at meanwhile: only continuing it fails.
    let head = "authorization: Bearer sk-test-1234\r\n";
    let stored = ask(&simulator, "GET", &format!("{PATH}/{id}"), head, b"").await;
    assert_eq!(stored.status, 200);
    let mut status = early.status;
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        status = respond(&simulator, &body).await.status;
        if status == 200 {
            break;
        }
    }
    assert_eq!(status, 200);
}

#[tokio::test]
async fn an_unknown_id_is_told_in_each_of_its_spellings() {
    let simulator = started().await;
    for (spelling, status, code) in [
        ("status400", 400, json!("previous_response_not_found")),
        ("status404", 404, json!("previous_response_not_found")),
        ("no_code", 400, Value::Null),
    ] {
        for body in [asking, streaming] {
            let body = body(&format!("[[not_found:{spelling}]]"));
            let got = respond(&simulator, &continuing(body, "resp_x")).await;
            assert_eq!(got.status, status, "{spelling}");
            assert_eq!(got.json()["error"]["code"], code, "{spelling}");
        }
    }
    for (spelling, events, place) in [
        ("error_event", vec!["error"], "/code"),
        ("nested_error_event", vec!["error"], "/error/code"),
        (
            "failed_event",
            vec!["response.failed"],
            "/response/error/code",
        ),
        (
            "late_failed_event",
            vec![
                "response.created",
                "response.in_progress",
                "response.failed",
            ],
            "/response/error/code",
        ),
    ] {
        let prompt = format!("[[not_found:{spelling}]]");
        let got = respond(&simulator, &continuing(streaming(&prompt), "resp_x")).await;
        assert_eq!((got.status, got.is_whole), (200, true), "{spelling}");
        assert_eq!(names(&got), events, "{spelling}");
        let (_, last) = got.events().pop().unwrap();
        assert_eq!(
            last.pointer(place),
            Some(&json!("previous_response_not_found")),
            "{spelling}: {last}"
        );
        let whole = respond(&simulator, &continuing(asking(&prompt), "resp_x")).await;
        assert_eq!(whole.status, 400, "{spelling}");
    }
    assert!(
        simulator
            .requests()
            .iter()
            .all(|served| !served.client_left)
    );
}

#[tokio::test]
async fn a_deleted_response_is_gone_and_its_pages_were_whole() {
    let simulator = started().await;
    let mut id = id_of(&simulator, &asking("one")).await;
    for prompt in ["two", "three"] {
        id = id_of(&simulator, &continuing(asking(prompt), &id)).await;
    }
    let head = "authorization: Bearer sk-test-1234\r\n";
    let items = format!("{PATH}/{id}/input_items");
    let all = ask(&simulator, "GET", &items, head, b"").await.json();
    let ids: Vec<&str> = all["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["id"].as_str().unwrap())
        .collect();
    assert_eq!((ids.len(), &all["has_more"]), (5, &json!(false)));
    assert_eq!(all["data"][0]["content"][0]["text"], "three");
    let path = format!("{items}?limit=2&order=asc&after={}", ids[4]);
    let page = ask(&simulator, "GET", &path, head, b"").await.json();
    assert_eq!(page["first_id"], ids[3]);
    assert_eq!(page["last_id"], ids[2]);
    assert_eq!(page["has_more"], true);
    for wrong in ["limit=0", "limit=101", "limit=x", "order=up", "after=msg_x"] {
        let path = format!("{items}?{wrong}");
        let got = ask(&simulator, "GET", &path, head, b"").await;
        assert_eq!(got.status, 400, "{wrong}");
    }
    let path = format!("{PATH}/{id}");
    let gone = ask(&simulator, "DELETE", &path, head, b"").await.json();
    assert_eq!(
        gone,
        json!({"id": id, "object": "response", "deleted": true})
    );
    let got = ask(&simulator, "GET", &path, head, b"").await;
    assert_eq!(got.status, 404);
    let got = respond(&simulator, &continuing(asking("on"), &id)).await;
    assert_eq!(got.status, 400);
}
