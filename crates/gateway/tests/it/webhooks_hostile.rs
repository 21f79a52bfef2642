//! Receivers that fail, hang, redirect, flood, hang up or fail TLS verification, and addresses that are
//! not public or not any more.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::net::TcpListener;
use trunkline_account_api::WebhookSettings;
use trunkline_gateway::Settings;
use trunkline_types::Topic;
use trunkline_upstream::safe_fetch::{Resolve, Resolving, SafeFetchSettings, SafeFetcher};

use crate::test_gateway::{TestGateway, TestOptions};
use crate::webhooks_receiver::{
    FLOOD, Receiver, ReceiverBehaviour, act, all, counted, deliveries, happens, hook, make, post,
    until, work,
};

fn with(webhooks: WebhookSettings) -> TestOptions {
    TestOptions {
        settings: Settings {
            webhooks,
            ..Settings::default()
        },
        ..TestOptions::default()
    }
}

/// Something happens, and the first try of it does not succeed.
async fn fails(
    harness: &TestGateway,
    made: &crate::webhooks_receiver::CreatedWebhook,
) -> serde_json::Value {
    happens(harness, Topic::BalanceLow, json!({})).await;
    let list = until(harness, made, |list| list[0]["last_error"].is_string()).await;
    assert_eq!(
        (&list[0]["state"], &list[0]["tries"]),
        (&json!("waiting"), &json!(1))
    );
    list[0].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_leads_elsewhere_is_not_followed() {
    let harness = TestGateway::new().await;
    let (receiver, victim) = (Receiver::start().await, Receiver::start().await);
    let made = hook(&harness, &receiver).await;
    for status in [301, 302, 303, 307, 308] {
        let to = victim.url("/admin");
        receiver.behave(ReceiverBehaviour::Status(status, vec![("location", to)]));
        let reported = fails(&harness, &made).await;
        assert_eq!(
            (&reported["last_error"], &reported["last_status"]),
            (&json!("redirect"), &json!(status))
        );
    }
    assert_eq!(receiver.received().len(), 5);
    assert!(victim.received().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_a_gigabyte_of_thanks_is_read_to_its_bound_and_counts_as_thanks() {
    let harness = TestGateway::new().await;
    let receiver = Receiver::start().await;
    let made = hook(&harness, &receiver).await;
    receiver.behave(ReceiverBehaviour::Flood);
    happens(&harness, Topic::BalanceLow, json!({})).await;
    until(&harness, &made, all("delivered")).await;
    let taken = receiver.flooded.load(Ordering::SeqCst);
    assert!(
        taken < FLOOD / 10,
        "what the sockets hold, and no more: {taken}"
    );
    assert_eq!(receiver.received().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_hangs_up_is_absent_or_untrusted_is_retried_later() {
    let harness = TestGateway::new().await;
    let receiver = Receiver::start().await;
    let made = hook(&harness, &receiver).await;
    receiver.behave(ReceiverBehaviour::Close);
    assert_eq!(fails(&harness, &made).await["last_error"], "closed");

    let unknown = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", unknown.local_addr().unwrap());
    drop(unknown);
    let away = make(&harness, &json!({ "url": url })).await;
    let unsure = json!({ "url": format!("https://{}/", receiver.address) });
    let unsure = make(&harness, &unsure).await;
    assert_eq!(fails(&harness, &away).await["last_error"], "unreachable");
    let reported = until(&harness, &unsure, |list| list[0]["last_error"].is_string()).await;
    assert_eq!(reported[0]["last_error"], "tls");
    assert_eq!(reported[0]["last_status"], json!(null));
    // Of all that nothing came over the line that should have been secured.
    assert!(receiver.received().iter().all(|one| one.path == "/hook"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hanging_receiver_delays_no_other_and_times_out() {
    let harness = TestGateway::build(with(WebhookSettings {
        at_once: 4,
        per_webhook: 2,
        wait: Duration::from_secs(20),
        lease: Duration::from_secs(60),
        ..WebhookSettings::default()
    }))
    .await;
    let (hanging, healthy) = (Receiver::start().await, Receiver::start().await);
    hanging.behave(ReceiverBehaviour::Hang);
    let hung = hook(&harness, &hanging).await;
    for _ in 0..10 {
        happens(&harness, Topic::BalanceLow, json!({})).await;
    }
    let began = Instant::now();
    let well = hook(&harness, &healthy).await;
    happens(&harness, Topic::BalanceLow, json!({})).await;
    until(&harness, &well, all("delivered")).await;
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(
        hanging.received().len(),
        2,
        "as many as one webhook may have"
    );
    let reported = until(&harness, &hung, |list| {
        list.iter().any(|one| one["last_error"] == "timeout")
    });
    reported.await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_answers_410_is_paused_and_resumed_with_the_backlog() {
    let harness = TestGateway::new().await;
    let receiver = Receiver::start().await;
    let made = hook(&harness, &receiver).await;
    receiver.answer(410);
    let first = happens(&harness, Topic::BalanceLow, json!({})).await;
    counted(&harness, "paused", 1).await;
    let view = harness.get(&made.path).await.json();
    assert_eq!(
        (&view["state"], &view["paused_reason"]),
        (&json!("paused"), &json!("gone"))
    );
    receiver.answer(200);
    let second = happens(&harness, Topic::BalanceLow, json!({})).await;
    for _ in 0..10 {
        work(&harness.data, &harness.gateway).await;
    }
    assert_eq!(
        receiver.received().len(),
        1,
        "nothing is sent to who is gone"
    );
    let replay = format!("{}/deliveries/{first}/replay", made.path);
    let refused = post(&harness, &replay, &json!({})).await;
    assert_eq!(
        (refused.status.as_u16(), refused.code().as_str()),
        (400, "webhook_paused")
    );
    let resumed = act(&harness, &format!("{}/resume", made.path)).await;
    assert_eq!(resumed["state"], "active");
    until(&harness, &made, all("delivered")).await;
    let mut ids: Vec<String> = receiver.received()[1..]
        .iter()
        .map(|one| one.id())
        .collect();
    ids.sort();
    let mut expected = [first.to_string(), second.to_string()];
    expected.sort();
    assert_eq!(ids, expected);
}

/// Says of every name what it is told to, in turns; the last one stays.
struct Turns(Mutex<VecDeque<IpAddr>>);

impl Resolve for Turns {
    fn resolve<'a>(&'a self, _host: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let mut turns = self.0.lock().unwrap();
            let first = turns.front().copied();
            if turns.len() > 1 {
                turns.pop_front();
            }
            let first = first.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
            Ok(vec![first])
        })
    }
}

/// A gateway that reaches one address of this machine; names turn as they are told.
async fn harness_with_dns(turns: &[&str]) -> TestGateway {
    let settings = SafeFetchSettings {
        allowed: vec!["127.0.0.1/32".parse().unwrap()],
        has_high_ports: true,
        ..SafeFetchSettings::default()
    };
    let turns = turns.iter().map(|one| one.parse().unwrap()).collect();
    let resolver = Arc::new(Turns(Mutex::new(turns)));
    TestGateway::build(TestOptions {
        fetcher: Some(SafeFetcher::with_resolver(settings, resolver).unwrap()),
        ..TestOptions::default()
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_leads_inside_is_refused_when_it_is_given() {
    for inside in ["10.0.0.1", "127.0.0.2", "169.254.169.254", "::1"] {
        let harness = harness_with_dns(&[inside]).await;
        let ask = json!({ "url": "http://hooks.example/" });
        let got = post(&harness, "/v1/webhooks", &ask).await;
        assert_eq!(got.status, 400, "{inside}: {}", got.text());
        assert!(!got.text().contains(inside), "{}", got.text());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_turns_inside_later_is_not_reached() {
    let harness = harness_with_dns(&["127.0.0.1", "127.0.0.2"]).await;
    let victim = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let port = victim.local_addr().unwrap().port();
    let url = format!("http://hooks.example:{port}/");
    let made = make(&harness, &json!({ "url": url })).await;
    assert_eq!(fails(&harness, &made).await["last_error"], "not_public");
    let knock = tokio::time::timeout(Duration::from_millis(300), victim.accept());
    assert!(knock.await.is_err(), "no connection was made");
    assert_eq!(deliveries(&harness, &made).await.len(), 1);
}
