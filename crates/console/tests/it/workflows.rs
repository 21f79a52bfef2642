//! `GET /api/workflows` and `GET /api/workflows/{slug}`.

use serde_json::{Value, json};

use crate::client::{TestConsole, record};

fn slugs(page: &Value) -> Vec<&str> {
    let data = page["data"].as_array().unwrap();
    data.iter()
        .map(|one| one["slug"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_list_is_read_page_by_page_and_says_when_it_ends() {
    let test_console = TestConsole::new().await;
    let empty = test_console.get("/api/workflows").await.json();
    assert_eq!(empty, json!({ "data": [], "next": null }));
    for name in ["c", "a", "d", "b", "e"] {
        test_console.keep(&record(name)).await;
    }
    let mut path = "/api/workflows?limit=2".to_owned();
    let mut seen = Vec::new();
    for expected in [vec!["a", "b"], vec!["c", "d"], vec!["e"]] {
        let page = test_console.get(&path).await.json();
        assert_eq!(slugs(&page), expected);
        seen.push(page["next"].clone());
        path = format!(
            "/api/workflows?limit=2&after={}",
            page["next"].as_str().unwrap_or("e")
        );
    }
    assert_eq!(seen, [json!("b"), json!("d"), Value::Null]);
    let all = test_console.get("/api/workflows?limit=5").await.json();
    assert_eq!(
        (slugs(&all).len(), &all["next"]),
        (5, &Value::Null),
        "exactly a page is the last"
    );
    let whole = test_console.get("/api/workflows").await.json();
    assert_eq!(whole, all, "fifty if no limit is sent");
}

#[tokio::test]
async fn the_largest_page_knows_whether_there_is_another() {
    let test_console = TestConsole::new().await;
    for number in 0..=100 {
        test_console.keep(&record(&format!("w-{number:03}"))).await;
    }
    let page = test_console.get("/api/workflows?limit=100").await.json();
    assert_eq!((slugs(&page).len(), &page["next"]), (100, &json!("w-099")));
    let rest = test_console
        .get("/api/workflows?limit=100&after=w-099")
        .await
        .json();
    assert_eq!((slugs(&rest), &rest["next"]), (vec!["w-100"], &Value::Null));
}

// covers: G-9-03
#[tokio::test]
async fn one_workflow_is_shown_as_it_was_written_with_what_follows_from_it() {
    let test_console = TestConsole::new().await;
    let mut clip = record("clip");
    test_console.keep(&clip).await;
    clip["title"] = json!("Clip");
    test_console.keep(&clip).await;
    let view = test_console.get("/api/workflows/clip").await.json();
    assert_eq!(view["workflow"], clip);
    assert_eq!(
        (&view["revision"], &view["runnable"]),
        (&json!(2), &json!(false))
    );
    let because = view["not_runnable_because"].as_str().unwrap();
    assert!(
        because.contains("contract_only_not_executable"),
        "{because}"
    );
    let digest = view["semantic_digest_sha256"].as_str().unwrap();
    assert_eq!(digest.len(), 64);

    for contract in ["contract_locked_not_executable", "verified"] {
        clip["contract_status"] = json!(contract);
        test_console.keep(&clip).await;
    }
    let binding = &mut clip["runtime_binding"];
    binding["status"] = json!("verified");
    binding["last_verified_at"] = json!("2026-01-31T12:00:00Z");
    binding["semantic_digest_sha256"] = json!(digest);
    test_console.keep(&clip).await;
    let view = test_console.get("/api/workflows/clip").await.json();
    assert_eq!(
        (&view["revision"], &view["runnable"]),
        (&json!(5), &json!(true))
    );
    assert_eq!(view["not_runnable_because"], Value::Null);
    let listed = test_console.get("/api/workflows").await.json();
    let expected = json!({
        "slug": "clip",
        "workflow_id": "clip",
        "title": "Clip",
        "summary": clip["summary"],
        "last_modified": "2026-01-31",
        "contract_status": "verified",
        "binding_status": "verified",
        "runnable": true,
        "revision": 5,
    });
    assert_eq!(listed["data"], json!([expected]));
}

#[tokio::test]
async fn a_wrong_parameter_is_named_and_an_unknown_slug_is_not_found() {
    let test_console = TestConsole::new().await;
    for (query, param) in [
        ("limit=0", json!("limit")),
        ("limit=101", json!("limit")),
        ("after=A", json!("after")),
        ("after=", json!("after")),
        ("limit=x", Value::Null),
        ("limit=-1", Value::Null),
        ("limit=1&limit=2", Value::Null),
        ("offset=3", Value::Null),
    ] {
        let got = test_console.get(&format!("/api/workflows?{query}")).await;
        let error = got.error(400, "invalid_request");
        assert_eq!(error["param"], param, "{query}: {error}");
        assert_eq!(error["type"], "invalid_request_error");
        let message = error["message"].as_str().unwrap();
        let field = query.split('=').next().unwrap();
        assert!(
            message.contains(field) || param == field,
            "{query}: {message}"
        );
    }
    for slug in ["A", "a--b", "%ff", "a%00", &"a".repeat(201)] {
        let got = test_console.get(&format!("/api/workflows/{slug}")).await;
        assert_eq!(got.error(400, "invalid_request")["param"], "slug", "{slug}");
    }
    let error = test_console
        .get("/api/workflows/none")
        .await
        .error(404, "not_found");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("\"none\"") && message.contains("/api/workflows"),
        "{message}"
    );
    assert_eq!(error["type"], "not_found_error");
}
