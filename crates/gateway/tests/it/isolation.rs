//! One customer's calls take nothing from another: upstream answers that a prompt can provoke count for the
//! account that provoked them, until several accounts or a probe of our own have seen the same.

use bytes::Bytes;
use http::Method;
use trunkline_simulator::{Fault, Rule, Settings as SimulatorSettings, Simulator};
use trunkline_store::{PolicyFields, channels};

use crate::format_pairs::CoolDowns;
use crate::test_gateway::{
    CANARY, ChannelOptions, GatewayResponse, TestGateway, TestOptions, account, ask,
};
use crate::upstreams::always;

const MONEY: i64 = 10_000_000_000;
const FAST: [(&str, &str); 1] = [("sim-fast", "sim-fast")];

impl TestGateway {
    /// A key of another customer with money.
    pub(crate) async fn customer(&self) -> String {
        let other = account(&self.console, MONEY, 0).await;
        self.key_of(other, PolicyFields::default()).await
    }

    pub(crate) async fn chat_as(&self, key: &str, prompt: &str) -> GatewayResponse {
        let body = Bytes::from(ask(prompt).to_string());
        let path = "/v1/chat/completions";
        let sender = (self.address, key);
        GatewayResponse::read(self.send_as(sender, Method::POST, path, body, &[]).await).await
    }

    async fn credential_is_paused(&self, channel: &str) -> bool {
        let mut session = self.console.session().await.unwrap();
        let found = channels::find(&mut session, channel).await.unwrap();
        found.unwrap().credentials[0].paused_reason.is_some()
    }

    /// A pause or a resumption is written behind the call that found it.
    pub(crate) async fn becomes_paused(&self, channel: &str, paused: bool) {
        while self.credential_is_paused(channel).await != paused {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        self.gateway.refresh().await.unwrap();
    }
}

pub(crate) async fn with_hands(rests: &CoolDowns) -> TestGateway {
    TestGateway::build(TestOptions {
        clock: rests.clock(),
        ..TestOptions::default()
    })
    .await
}

async fn simulator(settings: SimulatorSettings) -> Simulator {
    Simulator::start(settings).await.unwrap()
}

/// One channel for all customers, as it was attacked.
// covers: D-3-78
#[tokio::test]
async fn one_customer_that_provokes_refusals_takes_the_channel_from_no_other_customer() {
    let rests = CoolDowns::new();
    let harness = with_hands(&rests).await;
    let victim = harness.customer().await;
    let mut served = 0;
    for fault in [
        "status:401",
        "status:402",
        "status:403",
        "status:404",
        "status:429",
        "rate_limited:600",
        "status:500",
        "status:503",
        "close_before_headers",
    ] {
        rests.rest();
        harness.simulator.clear_requests();
        for _ in 0..6 {
            let prompt = format!("[[id:attack]] [[fault:{fault}]]");
            let attack = harness.chat(&ask(&prompt)).await;
            assert_ne!(attack.status, 200, "{fault}");
            harness.gateway.probe_channels().await;
            let got = harness.chat_as(&victim, "Hello [[tokens:3]]").await;
            assert_eq!(got.status, 200, "{fault}: {}", got.text());
            served += 1;
        }
        let mut requests = harness.simulator.requests().into_iter();
        let is_attack = requests.any(|one| one.marker.as_deref() == Some("attack"));
        assert!(is_attack, "{fault} did not reach the channel");
        assert!(!harness.credential_is_paused("first").await, "{fault}");
    }
    assert_eq!(served, 9 * 6);
    harness.audit().await;
}

#[tokio::test]
async fn refusals_that_calls_of_several_customers_met_pause_a_credential_until_a_probe_works() {
    let rests = CoolDowns::new();
    let harness = with_hands(&rests).await;
    let refused = "[[fault:status:401]]";
    let mut others = Vec::new();
    for _ in 0..4 {
        let other = harness.customer().await;
        assert_eq!(harness.chat_as(&other, refused).await.status, 502);
        others.push(other);
    }
    assert!(!harness.credential_is_paused("first").await);
    assert_eq!(harness.chat(&ask(refused)).await.status, 502);
    harness.becomes_paused("first", true).await;
    let sixth = harness.customer().await;
    let got = harness.chat_as(&sixth, "Hello").await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (503, "no_available_route")
    );
    harness.gateway.probe_channels().await;
    harness.becomes_paused("first", false).await;
    for key in [&sixth, &others[0], &harness.key] {
        assert_eq!(harness.chat_as(key, "Hello").await.status, 200);
    }
}

// covers: D-3-78
#[tokio::test]
async fn a_credential_that_a_probe_found_refused_resumes_when_a_probe_finds_it_accepted() {
    let rests = CoolDowns::new();
    let harness = with_hands(&rests).await;
    let strict = simulator(SimulatorSettings {
        keys: vec!["another key".to_owned()],
        ..SimulatorSettings::default()
    })
    .await;
    let address = strict.address();
    harness
        .channel("strict", &strict.base_url(), 0, &FAST)
        .await;
    assert_eq!(harness.chat(&ask("Hello")).await.status, 200);
    harness.gateway.probe_channels().await;
    harness.becomes_paused("strict", true).await;
    strict.stop().await;
    let open = simulator(SimulatorSettings {
        bind: address,
        ..SimulatorSettings::default()
    })
    .await;
    assert_eq!(harness.chat(&ask("Hello")).await.status, 200);
    assert_eq!(open.requests().len(), 0, "it is paused");
    rests.rest();
    harness.gateway.probe_channels().await;
    harness.becomes_paused("strict", false).await;
    let before = open.requests().len();
    assert_eq!(harness.chat(&ask("Hello")).await.status, 200);
    assert_eq!(open.requests().len(), before + 1);
    open.stop().await;
}

#[tokio::test]
async fn calls_for_a_model_that_one_of_two_channels_lacks_all_succeed_at_the_other() {
    let harness = TestGateway::new().await;
    let lacking = simulator(SimulatorSettings::default()).await;
    let absent = [("sim-fast", "no-such-model")];
    harness
        .channel("lacking", &lacking.base_url(), 10, &absent)
        .await;
    for number in 0..6 {
        let got = harness.chat(&ask(&format!("Hello {number}"))).await;
        assert_eq!(got.status, 200, "{}", got.text());
    }
    // Calls of one customer mark it for that customer; our own list of models marks it for all.
    let absent = "trunkline_channel_model_absent{channel=\"lacking\",model=\"sim-fast\"} 1";
    let sent = lacking.requests().len();
    assert!(sent <= 1, "sent {sent} requests");
    while lacking.requests().is_empty() {
        let number = harness.simulator.requests().len();
        assert_eq!(
            harness.chat(&ask(&format!("More {number}"))).await.status,
            200
        );
    }
    assert!(!harness.metrics().await.contains(absent));
    harness.gateway.probe_channels().await;
    assert!(harness.metrics().await.contains(absent));
    let sent = lacking.requests().len();
    let victim = harness.customer().await;
    for number in 0..12 {
        let got = harness.chat_as(&victim, &format!("Hello {number}")).await;
        assert_eq!(got.status, 200, "{}", got.text());
    }
    assert_eq!(lacking.requests().len(), sent);
    lacking.stop().await;
}

#[tokio::test]
async fn a_model_that_no_channel_has_is_a_missing_route_and_not_the_customers_mistake() {
    let harness = TestGateway::new().await;
    harness.simulator.plan(always(Fault::Status(404)));
    let got = harness.chat(&ask("Hello")).await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (503, "no_available_route")
    );
    assert_eq!(got.json()["error"]["charged"], false);
    assert_eq!(harness.posted_at_rest().await, MONEY);
}

// covers: D-3-71
#[tokio::test]
async fn another_credential_of_the_channel_serves_a_call_whose_first_one_is_refused_or_limited() {
    let harness = TestGateway::new().await;
    let three = simulator(SimulatorSettings::default()).await;
    for (key, fault) in [
        (CANARY, Fault::Status(401)),
        (
            "limited-credential-0123456789",
            Fault::RateLimited {
                retry_after_secs: 1,
            },
        ),
    ] {
        three.plan(Rule {
            key: Some(key.to_owned()),
            ..always(fault)
        });
    }
    let models = [("unserved", "sim-fast")];
    let options = ChannelOptions {
        more_credentials: &[
            ("limited", "limited-credential-0123456789"),
            ("good", "good-credential-0123456789"),
        ],
        ..ChannelOptions::default()
    };
    harness
        .channel_with("three", &three.base_url(), &models, options)
        .await;
    harness
        .channel("dead", "http://127.0.0.1:1/v1", 0, &models)
        .await;
    for number in 0..8 {
        let customer = harness.customer().await;
        let mut body = ask(&format!("Hello {number}"));
        body["model"] = "unserved".into();
        let sender = (harness.address, customer.as_str());
        let body = Bytes::from(body.to_string());
        let path = "/v1/chat/completions";
        let sent = harness.send_as(sender, Method::POST, path, body, &[]);
        let got = GatewayResponse::read(sent.await).await;
        assert_eq!(got.status, 200, "{}", got.text());
    }
    three.stop().await;
}
