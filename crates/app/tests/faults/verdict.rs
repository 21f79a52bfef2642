//! The checker: client histories, the upstream's truth and the books, joined.

use std::collections::BTreeMap;
use std::time::Duration;

use trunkline_ledger::usage::{self, UsageRow};
use trunkline_simulator::Served;
use trunkline_terms::RequestId;

use crate::arena::{Arena, INPUT, MONEY, OUTPUT};
use crate::load::{Call, Told};

/// Nothing may be pending so long after the last fault.
const HEAL: Duration = Duration::from_secs(60);

/// What came out, for the log.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) complete: usize,
    pub(crate) failed: usize,
    pub(crate) left: usize,
    pub(crate) unknown: usize,
}

/// Waits until nothing is pending, then judges every call.
pub(crate) async fn judge(arena: &Arena, calls: &[Call]) -> Counts {
    settle_down(arena).await;
    let truth: BTreeMap<String, Vec<Served>> =
        arena
            .simulator
            .truth()
            .into_iter()
            .fold(BTreeMap::new(), |mut all, served| {
                if let Some(marker) = served.marker.clone() {
                    all.entry(marker).or_default().push(served);
                }
                all
            });
    let mut counts = Counts::default();
    let (mut known, mut doubtful) = (0, 0);
    for call in calls {
        let row = find(arena, call).await;
        let net = row.as_ref().map_or(0, |row| {
            row.paid.nanos() + row.trial.nanos() - row.refunded.nanos()
        });
        let served = truth.get(&call.marker).map_or(&[][..], Vec::as_slice);
        check(call, row.as_ref(), net, served);
        match &call.told {
            Told::Complete => counts.complete += 1,
            Told::Failed(_) => counts.failed += 1,
            Told::Left => counts.left += 1,
            Told::Unknown => counts.unknown += 1,
        }
        known += net;
        if call.id.is_none() {
            doubtful += call.most;
        }
    }
    let (paid, held) = arena.balance().await;
    assert_eq!(held, 0);
    let of_nobody = MONEY - paid - known;
    assert!(
        (0..=doubtful).contains(&of_nobody),
        "{of_nobody} nano-USD were charged for calls nobody knows of (at most {doubtful} could be)"
    );
    arena.audit().await;
    counts
}

fn check(call: &Call, row: Option<&UsageRow>, net: i64, served: &[Served]) {
    let finished: Vec<&Served> = served.iter().filter(|served| served.finished).collect();
    match &call.told {
        Told::Complete => {
            let row = row.unwrap_or_else(|| panic!("a whole answer without a row: {call:?}"));
            assert_eq!(row.outcome, "complete", "{call:?}");
            let served = finished
                .last()
                .unwrap_or_else(|| panic!("served by nobody: {call:?}"));
            let tokens = |count: u64| i64::try_from(count).unwrap();
            let price =
                tokens(served.prompt_tokens) * INPUT + tokens(served.completion_tokens) * OUTPUT;
            assert_eq!(net, price, "{call:?} {served:?}");
        }
        Told::Failed(_) => assert_eq!(net, 0, "failed and charged: {call:?} {row:?}"),
        Told::Left | Told::Unknown => {
            assert!((0..=call.most).contains(&net), "{call:?} {row:?}");
        }
    }
}

async fn find(arena: &Arena, call: &Call) -> Option<UsageRow> {
    let id: RequestId = call.id.as_ref()?.parse().unwrap();
    usage::find(&arena.data, arena.account, id).await.unwrap()
}

async fn settle_down(arena: &Arena) {
    let began = tokio::time::Instant::now();
    while arena.balance().await.1 != 0 {
        assert!(
            began.elapsed() < HEAL,
            "still held: {:?}",
            arena.balance().await
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

mod bites {
    //! The checker is no checker if it cannot say no.

    use super::*;

    fn call(told: Told) -> Call {
        Call {
            marker: "m".to_owned(),
            id: None,
            told,
            most: 100_000,
        }
    }

    fn row(outcome: &str) -> UsageRow {
        UsageRow {
            model: String::new(),
            endpoint: String::new(),
            group: String::new(),
            units: serde_json::Value::Null,
            tier: None,
            estimated: false,
            paid: trunkline_terms::Money::ZERO,
            trial: trunkline_terms::Money::ZERO,
            cost: None,
            refunded: trunkline_terms::Money::ZERO,
            outcome: outcome.to_owned(),
            price_version: String::new(),
            warnings: Vec::new(),
        }
    }

    fn served() -> Served {
        Served {
            number: 1,
            marker: Some("m".to_owned()),
            key: String::new(),
            model: String::new(),
            stream: false,
            body: bytes::Bytes::new(),
            body_sha256: [0; 32],
            headers: Vec::new(),
            path: String::new(),
            fault: None,
            status: 200,
            prompt_tokens: 3,
            cache_read_tokens: 0,
            cache_written_5m_tokens: 0,
            cache_written_1h_tokens: 0,
            completion_tokens: 2,
            told_usage: Some((3, 2)),
            finished: true,
            client_left: false,
            received_at_micros: 0,
        }
    }

    #[test]
    fn what_is_right_passes() {
        let price = 3 * INPUT + 2 * OUTPUT;
        check(
            &call(Told::Complete),
            Some(&row("complete")),
            price,
            &[served()],
        );
        check(
            &call(Told::Failed("x".to_owned())),
            Some(&row("upstream_failed")),
            0,
            &[],
        );
        check(&call(Told::Unknown), None, 0, &[]);
    }

    #[test]
    #[should_panic(expected = "without a row")]
    fn a_whole_answer_that_was_not_charged_is_found() {
        check(&call(Told::Complete), None, 0, &[served()]);
    }

    #[test]
    #[should_panic(expected = "left == right")]
    fn a_whole_answer_at_another_price_is_found() {
        check(
            &call(Told::Complete),
            Some(&row("complete")),
            1,
            &[served()],
        );
    }

    #[test]
    #[should_panic(expected = "failed and charged")]
    fn a_failure_that_was_charged_is_found() {
        check(
            &call(Told::Failed("x".to_owned())),
            Some(&row("complete")),
            5,
            &[],
        );
    }

    #[test]
    #[should_panic]
    fn an_unknown_call_beyond_its_bound_is_found() {
        check(&call(Told::Unknown), Some(&row("complete")), 100_001, &[]);
    }
}
