//! Tries that fail: how many, for how long, and what is never reported.

use std::time::Instant;

use serde_json::json;
use trunkline_testkit::all_at_once;

use super::{Browser, PASSWORD};
use crate::client::{Response, TestConsole};

const ADA: &str = "ada@example.com";

async fn fail(browser: &Browser<'_>, email: &str, times: usize) {
    for _ in 0..times {
        let got = browser.sign_in(email, "a wrong password").await;
        got.error(401, "sign_in_failed");
    }
}

fn reported(got: &Response) -> String {
    let mut error = got.error(401, "sign_in_failed");
    error["request_id"] = json!(null);
    error.to_string()
}

#[tokio::test]
async fn after_five_failures_an_address_rests_and_longer_each_time() {
    let test_console = TestConsole::new().await;
    test_console.operator().await;
    let browser = Browser::new(&test_console);
    fail(&browser, ADA, 4).await;
    assert_eq!(
        browser.sign_in(ADA, PASSWORD).await.status.as_u16(),
        200,
        "four are nothing"
    );
    fail(&browser, ADA, 5).await;
    for wait in [60, 120, 240, 480, 900, 900] {
        let locked = browser.sign_in(ADA, PASSWORD).await;
        let unknown = Browser::from(&test_console, "198.51.100.1")
            .sign_in("x@example.com", "no")
            .await;
        assert_eq!(
            reported(&locked),
            reported(&unknown),
            "the response does not reveal the lockout"
        );
        test_console.db.shift_clock(wait - 2).await;
        browser
            .sign_in(ADA, PASSWORD)
            .await
            .error(401, "sign_in_failed");
        test_console.db.shift_clock(3).await;
        fail(&browser, ADA, 1).await;
    }
    test_console.db.shift_clock(901).await;
    assert_eq!(browser.sign_in(ADA, PASSWORD).await.status.as_u16(), 200);
    fail(&browser, ADA, 4).await;
    let after = browser.sign_in(ADA, PASSWORD).await;
    assert_eq!(after.status.as_u16(), 200, "a good one starts anew");
}

#[tokio::test]
async fn an_unknown_address_cools_down_too() {
    let test_console = TestConsole::new().await;
    let browser = Browser::new(&test_console);
    fail(&browser, "nobody@example.com", 8).await;
    let locked = test_console
        .db
        .ask(
            "SELECT count(*)::text FROM app.sign_in_attempt WHERE kind = 'address' \
        AND failures = 5 AND locked_until > app.now()",
        )
        .await;
    assert_eq!(locked, ["1"]);
    let kept = test_console
        .db
        .ask("SELECT string_agg(encode(subject_hash, 'escape'), ' ') FROM app.sign_in_attempt")
        .await;
    assert!(!kept[0].contains("nobody"), "addresses are kept as hashes");
}

#[tokio::test]
async fn a_network_has_thirty_failures_an_hour_and_is_then_told_to_wait() {
    let test_console = TestConsole::new().await;
    test_console.operator().await;
    let browser = Browser::from(&test_console, "203.0.113.9");
    for number in 0..30 {
        fail(&browser, &format!("x{number}@example.com"), 1).await;
    }
    let neighbour = Browser::from(&test_console, "203.0.113.200");
    let refused = neighbour.sign_in(ADA, PASSWORD).await;
    let error = refused.error(429, "too_many_attempts");
    assert_eq!(error["retryable"], true);
    let wait: i64 = refused.header("retry-after").parse().unwrap();
    assert!((3_500..=3_600).contains(&wait), "{wait}");
    let elsewhere = Browser::from(&test_console, "203.0.114.9");
    assert_eq!(elsewhere.sign_in(ADA, PASSWORD).await.status.as_u16(), 200);
    test_console.db.shift_clock(wait + 1).await;
    assert_eq!(neighbour.sign_in(ADA, PASSWORD).await.status.as_u16(), 200);
}

#[tokio::test]
async fn a_successful_sign_in_does_not_count_against_the_network() {
    let test_console = TestConsole::new().await;
    test_console.operator().await;
    let browser = Browser::new(&test_console);
    for _ in 0..35 {
        assert_eq!(browser.sign_in(ADA, PASSWORD).await.status.as_u16(), 200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tries_at_once_are_many() {
    let test_console = TestConsole::new().await;
    test_console.operator().await;
    // The right password is the last of twenty that are tried at the same moment.
    let tries = (0..20).map(|number| {
        let test_console = &test_console;
        async move {
            let browser = Browser::new(test_console);
            let password = format!("guess number {number}");
            browser.sign_in(ADA, &password).await.status.as_u16()
        }
    });
    let statuses = all_at_once(tries.collect()).await;
    assert!(statuses.iter().all(|status| *status != 200), "{statuses:?}");
    let counted = test_console
        .db
        .ask("SELECT failures::text FROM app.sign_in_attempt WHERE kind = 'address'")
        .await;
    assert_eq!(counted, ["5"], "from the sixth on nothing is looked at");
    let right = Browser::new(&test_console).sign_in(ADA, PASSWORD).await;
    right.error(401, "sign_in_failed");
}

#[tokio::test]
async fn step_up_and_change_of_the_password_count_as_tries() {
    let test_console = TestConsole::new().await;
    let browser = test_console.operator().await;
    for _ in 0..3 {
        let body = json!({ "password": "a wrong password" });
        browser
            .post("/api/session/step-up", body)
            .await
            .error(401, "sign_in_failed");
    }
    for _ in 0..2 {
        let body = json!({ "current": "a wrong password", "password": "a brand new one" });
        browser
            .post("/api/password/change", body)
            .await
            .error(401, "sign_in_failed");
    }
    let body = json!({ "password": PASSWORD });
    browser
        .post("/api/session/step-up", body)
        .await
        .error(401, "sign_in_failed");
    assert_eq!(
        browser.session().await["signed_in"],
        true,
        "the device stays signed in"
    );
}

#[tokio::test]
async fn failures_of_strangers_lock_the_operator_out_of_no_device_that_is_known() {
    let test_console = TestConsole::new().await;
    let browser = test_console.operator().await;
    assert_eq!(browser.sign_in(ADA, PASSWORD).await.status.as_u16(), 200);
    // The finding: six wrong tries, by anyone. Then as many as the operator's own network has.
    for _ in 0..6 {
        let stranger = Browser::from(&test_console, "198.51.100.7");
        fail(&stranger, ADA, 1).await;
    }
    for number in 0..31 {
        let neighbour = Browser::new(&test_console);
        neighbour
            .sign_in(&format!("x{number}@example.com"), "no")
            .await;
    }
    let body = json!({ "password": PASSWORD });
    let stepped = browser.post("/api/session/step-up", body).await;
    assert_eq!(stepped.status.as_u16(), 200, "step-up has its own count");
    assert_eq!(browser.sign_in(ADA, PASSWORD).await.status.as_u16(), 200);
    Browser::from(&test_console, "203.0.113.4")
        .sign_in(ADA, PASSWORD)
        .await
        .error(401, "sign_in_failed");
    // A known device is no way to guess on: five failures are five.
    fail(&browser, ADA, 5).await;
    browser
        .sign_in(ADA, PASSWORD)
        .await
        .error(401, "sign_in_failed");
    // A month without a sign-in, and the device is a stranger's.
    test_console.db.shift_clock(31 * 86_400).await;
    for _ in 0..5 {
        fail(&Browser::from(&test_console, "198.51.100.7"), ADA, 1).await;
    }
    browser
        .sign_in(ADA, PASSWORD)
        .await
        .error(401, "sign_in_failed");
}

#[tokio::test]
async fn an_unknown_address_takes_as_long_as_a_wrong_password() {
    let test_console = TestConsole::new().await;
    test_console.operator().await;
    let time = async |email: &'static str, address| {
        let browser = Browser::from(&test_console, address);
        let mut best = std::time::Duration::MAX;
        for _ in 0..4 {
            let began = Instant::now();
            browser.sign_in(email, "a wrong password").await;
            best = best.min(began.elapsed());
        }
        best
    };
    let (known, unknown) = (
        time(ADA, "192.0.2.1").await,
        time("no@example.com", "192.0.2.1").await,
    );
    // The hash is by far the longest part; without it an unknown address would be many times faster.
    let fair = known < unknown.saturating_mul(3) && unknown < known.saturating_mul(3);
    assert!(fair, "{known:?} {unknown:?}");
}

#[tokio::test]
async fn what_is_over_is_swept_away() {
    let test_console = TestConsole::new().await;
    test_console.operator().await;
    test_console.setup_token().await;
    fail(&Browser::new(&test_console), "x@example.com", 1).await;
    assert_eq!(
        trunkline_store::people::sweep(&test_console.people)
            .await
            .unwrap(),
        0
    );
    test_console.db.shift_clock(40 * 86_400).await;
    let gone = trunkline_store::people::sweep(&test_console.people)
        .await
        .unwrap();
    assert!(
        gone >= 5,
        "a sign-in, two links, an address, a network: {gone}"
    );
    for table in ["sign_in", "person_token", "sign_in_attempt"] {
        let left = test_console
            .db
            .ask(&format!("SELECT count(*)::text FROM app.{table}"))
            .await;
        assert_eq!(left, ["0"], "{table}");
    }
}
