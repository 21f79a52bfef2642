//! The capacity of the day: one number for all nodes, by the database's clock.

use bytes::Bytes;
use http::Method;
use serde_json::json;
use trunkline_gateway::{Settings, SocialSettings};
use trunkline_store::PolicyFields;

use crate::response::GatewayResponse;
use crate::social::harness::{PAID, escaped, path};
use crate::test_gateway::{TestGateway, account};

const PAIR: &str = "kuaishou/search";

async fn harness(capacity: i64) -> TestGateway {
    let settings = Settings {
        social: SocialSettings {
            daily_capacity: capacity,
            ..SocialSettings::default()
        },
        ..Settings::default()
    };
    Box::pin(TestGateway::social_with(settings, PAID, 0)).await
}

fn is_used_up(got: &GatewayResponse) -> bool {
    let body = got.json();
    got.status == 429
        && body["error"]["code"] == json!("social_data_capacity_reached")
        && body["error"]["reason"] == json!("daily_capacity")
}

// covers: S-7-10, S-7-11, S-8-01, S-8-02, D-3-65, D-3-66
#[tokio::test]
async fn the_capacity_is_shared_by_all_and_there_again_at_midnight() {
    const HOUR: i64 = 3_600;
    let harness = harness(2).await;
    harness.two_weeks_ahead().await;
    let other = account(&harness.console, PAID, 0).await;
    let other = harness.key_of(other, PolicyFields::default()).await;
    assert_eq!(harness.look(PAIR, "keyword=a").await.status, 200);
    let path = path(PAIR, "keyword=a");
    let send = async || {
        let sender = (harness.address, other.as_str());
        GatewayResponse::read(
            harness
                .send_as(sender, Method::GET, &path, Bytes::new(), &[])
                .await,
        )
        .await
    };
    assert_eq!(send().await.status, 200);
    let got = send().await;
    assert!(is_used_up(&got), "{}", got.text());
    let got = harness.look(PAIR, "keyword=a").await;
    assert!(is_used_up(&got), "{}", got.text());
    // Until midnight, by the database's clock: within a minute of what it says.
    let reported: i64 = got.header("retry-after").unwrap().parse().unwrap();
    let sql = "SELECT extract(epoch FROM date_trunc('day', app.now() AT TIME ZONE 'UTC') + interval '1 day'
                 - app.now() AT TIME ZONE 'UTC')::bigint::text";
    let left: i64 = harness.db.ask(sql).await[0].parse().unwrap();
    assert!((reported - left).abs() < 60, "{reported} {left}");
    harness.db.shift_clock(left + HOUR).await;
    assert_eq!(harness.look(PAIR, "keyword=a").await.status, 200);
    assert_eq!(send().await.status, 200);
    assert!(is_used_up(&send().await));
    harness.posted_at_rest().await;
    harness.audit_but_for_the_clock().await;
}

#[tokio::test]
async fn what_was_not_delivered_takes_no_place_of_the_day() {
    let harness = harness(1).await;
    for case in ["empty", "500", "429", "close", "null"] {
        let query = format!("keyword={}", escaped(&format!("[[social:{case}]]")));
        let got = harness.look(PAIR, &query).await;
        assert!(!is_used_up(&got), "{case}: {}", got.text());
        assert_ne!(got.status, 200, "{case}");
    }
    assert_eq!(harness.look(PAIR, "keyword=a").await.status, 200);
    assert!(is_used_up(&harness.look(PAIR, "keyword=a").await));
    harness.posted_at_rest().await;
    harness.audit().await;
}
