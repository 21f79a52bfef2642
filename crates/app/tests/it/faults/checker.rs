//! The checker: client histories, the upstream's truth and the books, joined.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use trunkline_ledger::usage::{self, UsageRow};
use trunkline_simulator::RequestRecord;
use trunkline_types::RequestId;

use crate::faults::client_view::ClientView;
use crate::faults::formats::Pair;
use crate::faults::load::Call;
use crate::faults::process_harness::{INPUT, MONEY, OUTPUT, ProcessHarness};

/// Nothing may be pending so long after the last fault.
const HEAL: Duration = Duration::from_secs(60);

/// What came out of calls, for the log.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) complete: usize,
    pub(crate) failed: usize,
    pub(crate) left: usize,
    pub(crate) unknown: usize,
}

/// The same of each pair of formats, streamed or not.
pub(crate) type Results = BTreeMap<(Pair, bool), Counts>;

/// Waits until nothing is pending, then judges every call.
pub(crate) async fn judge(harness: &ProcessHarness, calls: &[Call]) -> Results {
    settle_down(harness).await;
    let truth: BTreeMap<String, Vec<RequestRecord>> = harness
        .simulator
        .requests()
        .into_iter()
        .fold(BTreeMap::new(), |mut all, served| {
            if let Some(marker) = served.marker.clone() {
                all.entry(marker).or_default().push(served);
            }
            all
        });
    let mut results = Results::new();
    let (mut known, mut doubtful) = (0, 0);
    for call in calls {
        let row = find(harness, call).await;
        let net = row.as_ref().map_or(0, |row| {
            row.paid.nanos() + row.trial.nanos() - row.refunded.nanos()
        });
        let served = truth.get(&call.marker).map_or(&[][..], Vec::as_slice);
        check(call, row.as_ref(), net, served);
        let counts = results.entry((call.pair, call.stream)).or_default();
        match &call.reported {
            ClientView::Complete => counts.complete += 1,
            ClientView::Failed(_) => counts.failed += 1,
            ClientView::Left => counts.left += 1,
            ClientView::Unknown => counts.unknown += 1,
            ClientView::Nonsense(_) => {}
        }
        known += net;
        if call.id.is_none() {
            doubtful += call.most;
        }
    }
    let (paid, held) = harness.balance().await;
    assert_eq!(held, 0);
    let unattributed = MONEY - paid - known;
    assert!(
        (0..=doubtful).contains(&unattributed),
        "{unattributed} nano-USD were charged for unknown calls (at most {doubtful} could be)"
    );
    harness.audit().await;
    results
}

fn check(call: &Call, row: Option<&UsageRow>, net: i64, served: &[RequestRecord]) {
    let finished: Vec<&RequestRecord> = served.iter().filter(|served| served.finished).collect();
    match &call.reported {
        ClientView::Complete => {
            let row = row.unwrap_or_else(|| panic!("a whole answer without a row: {call:?}"));
            assert_eq!(row.outcome, "complete", "{call:?}");
            assert_eq!(row.endpoint, call.pair.caller.as_str(), "{call:?}");
            let served = finished
                .last()
                .unwrap_or_else(|| panic!("served by no node: {call:?}"));
            let tokens = |count: u64| i64::try_from(count).unwrap();
            let price =
                tokens(served.prompt_tokens) * INPUT + tokens(served.completion_tokens) * OUTPUT;
            assert_eq!(net, price, "{call:?} {served:?}");
        }
        ClientView::Failed(_) => assert_eq!(net, 0, "failed and charged: {call:?} {row:?}"),
        ClientView::Left | ClientView::Unknown => {
            assert!((0..=call.most).contains(&net), "{call:?} {row:?}");
            // Who left pays for what had come, and who was cut off for what was written down whole.
            if let Some(row) = row.filter(|_| net > 0) {
                let left = call.reported == ClientView::Left && row.outcome == "client_gone";
                assert!(left || row.outcome == "complete", "{call:?} {row:?}");
                assert_eq!(net, price_of(row), "{call:?} {row:?}");
            }
        }
        ClientView::Nonsense(what) => panic!("neither an answer nor an error: {call:?} {what}"),
    }
}

/// An answer that has begun breaks off only where the gateway was killed under it; whatever else fails
/// has an error of its format. `kills` are the times from before each kill until it was done.
pub(crate) fn check_broken(calls: &[Call], kills: &[(Instant, Instant)]) {
    for call in calls {
        let broken = call.reported == ClientView::Unknown && call.id.is_some();
        let killed =
            |(before, after): &(Instant, Instant)| call.began <= *after && call.ended >= *before;
        assert!(!broken || kills.iter().any(killed), "broken off: {call:?}");
    }
}

/// What the units of a row cost.
fn price_of(row: &UsageRow) -> i64 {
    let unit = |face: &str| row.units[face].as_i64().unwrap_or(0);
    unit("input") * INPUT + unit("output") * OUTPUT
}

async fn find(harness: &ProcessHarness, call: &Call) -> Option<UsageRow> {
    let id: RequestId = call.id.as_ref()?.parse().unwrap();
    usage::find(&harness.data, harness.account, id)
        .await
        .unwrap()
}

async fn settle_down(harness: &ProcessHarness) {
    let began = tokio::time::Instant::now();
    while harness.balance().await.1 != 0 {
        assert!(
            began.elapsed() < HEAL,
            "still held: {:?}",
            harness.balance().await
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

mod detects {
    //! The checker is no checker if it cannot say no.

    use super::*;

    fn call(reported: ClientView) -> Call {
        Call {
            marker: "m".to_owned(),
            pair: Pair::CHAT,
            stream: true,
            id: None,
            reported,
            most: 100_000,
            began: Instant::now(),
            ended: Instant::now(),
        }
    }

    fn row(outcome: &str) -> UsageRow {
        UsageRow {
            model: String::new(),
            endpoint: "chat".to_owned(),
            group: String::new(),
            measured: trunkline_types::Usage::unknown(),
            units: serde_json::json!({ "input": 3, "output": 2 }),
            tier: None,
            estimated: false,
            paid: trunkline_types::Money::ZERO,
            trial: trunkline_types::Money::ZERO,
            cost: None,
            refunded: trunkline_types::Money::ZERO,
            outcome: outcome.to_owned(),
            price_version: String::new(),
            warnings: Vec::new(),
        }
    }

    fn served() -> RequestRecord {
        RequestRecord {
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
            &call(ClientView::Complete),
            Some(&row("complete")),
            price,
            &[served()],
        );
        check(
            &call(ClientView::Failed("x".to_owned())),
            Some(&row("upstream_failed")),
            0,
            &[],
        );
        check(&call(ClientView::Unknown), None, 0, &[]);
        check(
            &call(ClientView::Unknown),
            Some(&row("complete")),
            price,
            &[],
        );
        check(
            &call(ClientView::Left),
            Some(&row("client_gone")),
            price,
            &[],
        );
    }

    #[test]
    #[should_panic(expected = "broken off")]
    fn an_answer_that_breaks_off_under_a_living_gateway_is_found() {
        let before = Instant::now();
        let mut broken = call(ClientView::Unknown);
        broken.id = Some("id".to_owned());
        check_broken(&[broken.clone()], &[(before, Instant::now())]);
        let later = broken.ended + Duration::from_secs(1);
        check_broken(&[broken], &[(later, later)]);
    }

    #[test]
    #[should_panic(expected = "neither an answer nor an error")]
    fn an_end_that_is_none_of_its_format_is_found() {
        check(
            &call(ClientView::Nonsense("data: {}".to_owned())),
            None,
            0,
            &[],
        );
    }

    #[test]
    #[should_panic(expected = "left == right")]
    fn a_whole_answer_that_was_booked_as_another_formats_is_found() {
        let mut wrong = row("complete");
        wrong.endpoint = "gemini".to_owned();
        let price = 3 * INPUT + 2 * OUTPUT;
        check(
            &call(ClientView::Complete),
            Some(&wrong),
            price,
            &[served()],
        );
    }

    #[test]
    #[should_panic(expected = "upstream_failed")]
    fn a_call_that_broke_off_and_was_charged_for_a_failure_is_found() {
        let price = 3 * INPUT + 2 * OUTPUT;
        check(
            &call(ClientView::Unknown),
            Some(&row("upstream_failed")),
            price,
            &[],
        );
    }

    #[test]
    #[should_panic(expected = "left == right")]
    fn a_client_that_left_and_paid_another_price_than_its_units_is_found() {
        check(&call(ClientView::Left), Some(&row("client_gone")), 1, &[]);
    }

    #[test]
    #[should_panic(expected = "without a row")]
    fn a_whole_answer_that_was_not_charged_is_found() {
        check(&call(ClientView::Complete), None, 0, &[served()]);
    }

    #[test]
    #[should_panic(expected = "left == right")]
    fn a_whole_answer_at_another_price_is_found() {
        check(
            &call(ClientView::Complete),
            Some(&row("complete")),
            1,
            &[served()],
        );
    }

    #[test]
    #[should_panic(expected = "failed and charged")]
    fn a_failure_that_was_charged_is_found() {
        check(
            &call(ClientView::Failed("x".to_owned())),
            Some(&row("complete")),
            5,
            &[],
        );
    }

    #[test]
    #[should_panic]
    fn an_unknown_call_beyond_its_bound_is_found() {
        check(
            &call(ClientView::Unknown),
            Some(&row("complete")),
            100_001,
            &[],
        );
    }
}
