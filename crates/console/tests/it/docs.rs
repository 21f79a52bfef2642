//! The documentation, as browsers and programs get it.

use std::fs;
use std::path::Path;

use http::Method;
use trunkline_store::people::Role;

use crate::client::{DASH_URL, TestConsole, request};
use crate::people::Browser;

fn pages(list: &str) -> Vec<String> {
    let links = list.split("](").skip(1);
    let paths = links.map(|link| link.split(')').next().unwrap());
    paths
        .map(|path| path.strip_prefix(DASH_URL).unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn every_page_is_there_for_people_and_for_programs() {
    let test_console = TestConsole::new().await;
    let list = test_console.get("/llms.txt").await;
    assert_eq!(list.header("content-type"), "text/plain; charset=utf-8");
    let list = String::from_utf8(list.body.to_vec()).unwrap();
    let pages = pages(&list);
    assert!(pages.len() > 30, "{pages:?}");
    for twin in pages {
        let text = test_console.get(&twin).await;
        assert_eq!(text.status, 200, "{twin}");
        assert_eq!(text.header("content-type"), "text/markdown; charset=utf-8");
        assert!(text.body.starts_with(b"# "), "{twin}");
        let path = twin.strip_suffix(".md").unwrap();
        let path = path.strip_suffix("/index").unwrap_or(path);
        let page = test_console.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        let html = String::from_utf8(page.body.to_vec()).unwrap();
        assert_eq!(
            html.matches("<h1>").count(),
            1,
            "{path} has one first heading"
        );
        assert_eq!(
            html.matches("aria-current=\"page\"").count(),
            1,
            "{path} is in the list"
        );
        assert!(
            !html.contains(" style=") && !html.contains("<script>"),
            "{path}"
        );
    }
    let whole = test_console.get("/llms-full.txt").await;
    assert!(whole.body.len() > 100_000);
}

// covers: S-1-12
#[tokio::test]
async fn the_rule_of_acceptable_use_is_published_for_people_and_for_programs() {
    let test_console = TestConsole::new().await;
    for path in ["/docs/social", "/docs/social.md", "/llms-full.txt"] {
        let page = test_console.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        let text = String::from_utf8(page.body.to_vec()).unwrap();
        for rule in [
            "Follow each platform",
            "terms and the data-protection rules that apply to you",
            "do not build profiles of individuals",
        ] {
            assert!(text.contains(rule), "{path}: {rule}");
        }
    }
    let page = test_console.get("/docs/social").await;
    let html = String::from_utf8(page.body.to_vec()).unwrap();
    // Where the console's link leads.
    assert!(html.contains("id=\"acceptable-use\""));
}

#[tokio::test]
async fn a_page_may_load_what_is_ours_alone_and_is_not_sent_twice() {
    let test_console = TestConsole::new().await;
    let page = test_console.get("/docs/quickstart").await;
    let rules = page.header("content-security-policy").to_owned();
    for rule in [
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
    ] {
        assert!(rules.contains(rule), "{rules}");
    }
    assert!(!rules.contains("unsafe"), "{rules}");
    for path in [
        "/docs",
        "/docs/quickstart",
        "/docs/quickstart.md",
        "/docs/search.json",
        "/docs/assets/docs.css",
        "/docs/assets/docs.js",
        "/docs/assets/mark.svg",
        "/llms.txt",
        "/openapi/gateway.json",
    ] {
        let first = test_console.get(path).await;
        assert_eq!(first.status, 200, "{path}");
        let mut repeated = request(Method::GET, path);
        let tag = first.headers["etag"].clone();
        repeated.headers_mut().insert("if-none-match", tag);
        assert_eq!(test_console.ask(repeated).await.status, 304, "{path}");
    }
    // The interface's own answers still may load nothing.
    let other = test_console.get("/healthz").await;
    assert_eq!(
        other.header("content-security-policy"),
        "default-src 'none'; frame-ancestors 'none'"
    );
}

#[tokio::test]
async fn what_is_not_there_is_404_with_help_and_what_is_nearly_there_leads_on() {
    let test_console = TestConsole::new().await;
    for path in [
        "/docs/no-such-page",
        "/docs/no-such-page.md",
        "/docs/errors/no_such_code",
    ] {
        let got = test_console.get(path).await;
        assert_eq!(got.status, 404, "{path}");
        let html = String::from_utf8(got.body.to_vec()).unwrap();
        assert!(html.contains("Page not found"), "{path}");
        // What was asked for is nowhere in the answer, whatever it holds.
        assert!(!html.contains("no-such-page"), "{path}");
    }
    for (path, to) in [
        ("/docs/", "/docs"),
        ("/docs/index", "/docs"),
        ("/docs/quickstart/", "/docs/quickstart"),
        (
            "/docs/errors/model_not_found",
            "/docs/errors#model_not_found",
        ),
    ] {
        let got = test_console.get(path).await;
        assert_eq!((got.status.as_u16(), got.header("location")), (308, to));
    }
    let posted = test_console
        .ask(request(Method::POST, "/docs/quickstart"))
        .await;
    assert_eq!(posted.status, 405);
}

#[tokio::test]
async fn an_errors_address_leads_to_its_entry() {
    let test_console = TestConsole::new().await;
    let error = test_console
        .get("/api/no-such-thing")
        .await
        .error(404, "not_found");
    let address = error["doc_url"].as_str().unwrap();
    let (page, heading) = address.split_once('#').unwrap();
    let got = test_console.get(page.strip_prefix(DASH_URL).unwrap()).await;
    let html = String::from_utf8(got.body.to_vec()).unwrap();
    assert!(
        html.contains(&format!("<h3 id=\"{heading}\">")),
        "{address}"
    );
}

#[tokio::test]
async fn the_interfaces_are_pages_made_of_their_documents() {
    let test_console = TestConsole::new().await;
    for (document, page) in [
        ("/openapi/gateway.json", "/docs/api.md"),
        ("/openapi.json", "/docs/console-api.md"),
    ] {
        let document = test_console.get(document).await.json();
        let page = String::from_utf8(test_console.get(page).await.body.to_vec()).unwrap();
        let paths = document["paths"].as_object().unwrap();
        assert!(paths.len() > 5);
        for (path, item) in paths {
            for method in item.as_object().unwrap().keys() {
                let heading = format!("\n### {} {path}\n", method.to_uppercase());
                assert!(page.contains(&heading), "{heading}");
            }
        }
    }
    let gateway = test_console.get("/openapi/gateway.json").await.json();
    assert_eq!(gateway["servers"][0]["url"], "http://127.0.0.1:8080");
}

#[tokio::test]
async fn an_operator_finds_every_built_in_provider_and_its_proof_in_the_documentation() {
    let test_console = TestConsole::new().await;
    // A customer finds none of it, and is not led there.
    let account = test_console.organisation("Acme").await;
    let email = "ada@example.com";
    let customer = test_console.member(account, email, Role::Owner).await;
    for browser in [&Browser::new(&test_console), &customer] {
        for path in ["/docs/providers.md", "/docs/channels", "/docs/backup"] {
            assert_eq!(browser.get(path).await.status, 404, "{path}");
        }
        let list = browser.get("/llms.txt").await;
        let list = String::from_utf8(list.body.to_vec()).unwrap();
        assert!(!list.contains("## Operate"), "{list}");
    }
    let operator = test_console.operator().await;
    let page = operator.get("/docs/providers.md").await;
    let page = String::from_utf8(page.body.to_vec()).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../upstream/providers");
    let mut listed = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let text = String::from_utf8(fs::read(entry.unwrap().path()).unwrap()).unwrap();
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key));
            line.unwrap().trim_matches([' ', '=', '"']).to_owned()
        };
        let (name, proof) = (value("name"), value("proof"));
        let row = format!("| `{name}` | {proof} | ");
        let is_for_tests = name.starts_with("simulator");
        assert_eq!(page.contains(&row), !is_for_tests, "{row}");
        if !is_for_tests {
            listed.push(name);
        }
    }
    assert!(listed.len() > 45, "{listed:?}");
    assert!(!page.contains("{{"), "the table stands in its place");
}
