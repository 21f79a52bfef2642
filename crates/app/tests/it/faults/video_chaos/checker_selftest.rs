//! The checker is no checker if it cannot say no.

use serde_json::Value;
use trunkline_simulator::VideoJob;

use super::checker::{Counts, check};
use super::clients::{ClientAnswer, ClientBehaviour, VideoTask};
use super::scenarios::Scenario;
use super::tables::{Row, Transfer};

const PRICE: i64 = 500;
const PAID_WALLET: i64 = 2;
const TRIAL_WALLET: i64 = 3;
const SALES: i64 = 9;

fn task(answer: &[ClientAnswer]) -> VideoTask {
    VideoTask {
        marker: "video".to_owned(),
        shape: 0,
        scenario: Scenario::Done,
        behaviour: ClientBehaviour::Once,
        customer: 0,
        body: String::new(),
        answer: answer.to_vec(),
        cancelled: false,
    }
}

fn made(id: &str) -> ClientAnswer {
    ClientAnswer::Made {
        id: id.to_owned(),
        cost: Some("0.0000005".to_owned()),
    }
}

fn refused(charged: bool) -> ClientAnswer {
    ClientAnswer::Refused {
        status: 503,
        charged,
        text: String::new(),
    }
}

fn charge(wallet: i64, amount: i64) -> Transfer {
    Transfer {
        kind: "charge".to_owned(),
        debit: wallet,
        credit: SALES,
        amount,
    }
}

fn refund(wallet: i64, amount: i64) -> Transfer {
    Transfer {
        kind: "refund".to_owned(),
        debit: SALES,
        credit: wallet,
        amount,
    }
}

fn row(id: &str, state: &str, transfers: &[Transfer]) -> Row {
    Row {
        id: id.to_owned(),
        hash: String::new(),
        state: state.to_owned(),
        amount: PRICE,
        exact: true,
        upstream: Some(format!("job of {id}")),
        code: (state == "failed").then(|| "any".to_owned()),
        hold: Some("settled".to_owned()),
        transfers: transfers.to_vec(),
        losses: Vec::new(),
        mirrored: false,
    }
}

/// A task that is done, its charge split.
fn done(id: &str) -> Row {
    row(
        id,
        "completed",
        &[charge(PAID_WALLET, 400), charge(TRIAL_WALLET, 100)],
    )
}

/// A task that failed, its charge given back.
fn failed(id: &str) -> Row {
    let transfers = [
        charge(PAID_WALLET, 400),
        charge(TRIAL_WALLET, 100),
        refund(TRIAL_WALLET, 100),
        refund(PAID_WALLET, 400),
    ];
    row(id, "failed", &transfers)
}

/// The job of a task; it ended well.
fn job(id: &str) -> VideoJob {
    VideoJob {
        id: format!("job of {id}"),
        vendor: "any",
        model: String::new(),
        key: String::new(),
        marker: Some("video".to_owned()),
        reference: None,
        body: Value::Null,
        seconds: 5,
        created_micros: 0,
        begins_micros: 0,
        ends_micros: Some(0),
        fails: None,
        cancelled_micros: None,
        is_odd: false,
        polls: 1,
    }
}

fn failing(id: &str) -> VideoJob {
    VideoJob {
        fails: Some(("any".to_owned(), String::new())),
        ..job(id)
    }
}

fn judged(task: &VideoTask, rows: &[Row], jobs: &[VideoJob]) {
    check(task, rows, jobs, PRICE, &mut Counts::default());
}

#[test]
fn what_is_right_passes() {
    judged(&task(&[made("a")]), &[done("a")], &[job("a")]);
    judged(&task(&[made("a")]), &[failed("a")], &[failing("a")]);
    judged(&task(&[refused(false)]), &[], &[]);
    judged(&task(&[ClientAnswer::Broken]), &[done("a")], &[job("a")]);
    judged(&task(&[ClientAnswer::Broken]), &[], &[]);
    let mut late = failed("a");
    late.losses.push("late_result".to_owned());
    judged(&task(&[made("a")]), &[late], &[job("a")]);
    let mut lost = row("a", "failed", &[]);
    lost.upstream = None;
    lost.losses.push("unknown_outcome".to_owned());
    judged(&task(&[made("a")]), &[lost], &[job("b")]);
}

#[test]
#[should_panic(expected = "the task is not there")]
fn a_task_that_a_client_was_told_of_and_that_is_gone_is_found() {
    judged(&task(&[made("a")]), &[], &[]);
}

#[test]
#[should_panic(expected = "told an error, and charged")]
fn an_error_that_was_charged_is_found() {
    judged(&task(&[refused(false)]), &[done("a")], &[job("a")]);
}

#[test]
#[should_panic(expected = "says it was charged")]
fn an_error_that_does_not_say_that_it_is_free_is_found() {
    judged(&task(&[refused(true)]), &[], &[]);
}

#[test]
#[should_panic(expected = "told another price")]
fn another_price_than_the_quote_is_found() {
    let answer = ClientAnswer::Made {
        id: "a".to_owned(),
        cost: Some("0.0000006".to_owned()),
    };
    judged(&task(&[answer]), &[done("a")], &[job("a")]);
}

#[test]
#[should_panic(expected = "one key, two videos")]
fn two_video_tasks_of_one_idempotency_key_are_found() {
    let mut keyed = task(&[made("a"), made("b")]);
    keyed.behaviour = ClientBehaviour::Keyed;
    judged(&keyed, &[done("a"), done("b")], &[job("a"), job("b")]);
}

#[test]
#[should_panic(expected = "a retry made another video")]
fn a_retry_that_became_a_second_video_task_is_found() {
    let mut retrying = task(&[made("a"), made("b")]);
    retrying.behaviour = ClientBehaviour::Retrying;
    judged(&retrying, &[done("a"), done("b")], &[job("a"), job("b")]);
}

#[test]
#[should_panic(expected = "cancelled, and done")]
fn a_cancelled_video_task_that_was_charged_is_found() {
    let mut cancelled = task(&[made("a")]);
    cancelled.cancelled = true;
    judged(&cancelled, &[done("a")], &[job("a")]);
}

#[test]
#[should_panic(expected = "it has not ended")]
fn a_task_that_goes_on_is_found() {
    judged(&task(&[made("a")]), &[row("a", "running", &[])], &[]);
}

#[test]
#[should_panic(expected = "held")]
fn money_that_is_still_held_is_found() {
    let mut open = row("a", "failed", &[]);
    open.hold = Some("open".to_owned());
    judged(&task(&[made("a")]), &[open], &[]);
}

#[test]
#[should_panic(expected = "not charged its price")]
fn a_success_that_was_not_charged_is_found() {
    let free = row("a", "completed", &[]);
    judged(&task(&[made("a")]), &[free], &[job("a")]);
}

#[test]
#[should_panic(expected = "failed and charged")]
fn a_failure_that_was_not_refunded_is_found() {
    let kept = row("a", "failed", &[charge(PAID_WALLET, PRICE)]);
    judged(&task(&[made("a")]), &[kept], &[failing("a")]);
}

#[test]
#[should_panic(expected = "to another wallet")]
fn a_refund_to_another_wallet_is_found() {
    let moved = [charge(TRIAL_WALLET, PRICE), refund(PAID_WALLET, PRICE)];
    let moved = row("a", "failed", &moved);
    judged(&task(&[made("a")]), &[moved], &[failing("a")]);
}

#[test]
#[should_panic(expected = "too many jobs")]
fn a_task_that_was_sent_twice_is_found() {
    judged(&task(&[made("a")]), &[done("a")], &[job("a"), job("b")]);
}

#[test]
#[should_panic(expected = "no upstream made it")]
fn a_success_without_a_job_is_found() {
    judged(&task(&[made("a")]), &[done("a")], &[]);
}

#[test]
#[should_panic(expected = "an unnoted loss")]
fn a_job_that_was_made_for_a_failure_without_a_loss_is_found() {
    judged(&task(&[made("a")]), &[failed("a")], &[job("a")]);
}
