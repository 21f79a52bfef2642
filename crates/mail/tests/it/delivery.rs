//! An email is sent once if it can be, more than once if it must be, and never not at all.

use std::time::{Duration, Instant};

use trunkline_mail::{DeliverySummary, open_sealed};
use trunkline_store::emails;
use trunkline_testkit::{FaultProxy, Smtp, SmtpBehaviour, all_at_once};

use crate::harness::{CANARY, Harness, settings};

#[tokio::test]
async fn an_email_is_sent_once_and_its_content_is_deleted() {
    let (harness, smtp) = (Harness::new().await, Smtp::start());
    let worker = harness.worker(Some(&settings(&smtp.url())));
    let id = harness.write("ada@example.com", true).await;
    let summary = worker.deliver_due().await.unwrap();
    assert_eq!((summary.taken, summary.sent), (1, 1));
    assert_eq!(
        worker.deliver_due().await.unwrap(),
        DeliverySummary::default()
    );
    let mails = smtp.mails();
    assert_eq!(mails.len(), 1);
    let mail = &mails[0];
    assert_eq!(
        (mail.from.as_str(), mail.to.as_str()),
        ("mail@gateway.example", "ada@example.com")
    );
    assert_eq!(mail.header("message-id"), format!("<{id}@gateway.example>"));
    assert_eq!(mail.header("subject"), "Verify your email for The Instance");
    assert_eq!(mail.header("auto-submitted"), "auto-generated");
    assert_eq!(mail.token(), CANARY);
    assert!(mail.html().contains(CANARY), "{}", mail.html());
    assert_eq!(harness.column(id, "state").await, "sent");
    assert_eq!(harness.column(id, "sealed").await, "null");
    harness.assert_sound().await;
}

#[tokio::test]
async fn a_server_that_was_down_gets_the_same_email_later() {
    let (harness, smtp) = (Harness::new().await, Smtp::start());
    let wire = FaultProxy::to_anything(smtp.address());
    wire.refuse();
    let worker = harness.worker(Some(&settings(&format!(
        "smtp://127.0.0.1:{}",
        wire.port()
    ))));
    let id = harness.write("ada@example.com", true).await;
    assert_eq!(worker.deliver_due().await.unwrap().sent, 0);
    assert_eq!(harness.column(id, "state").await, "waiting");
    let content = harness.column(id, "last_error").await;
    assert!(content.contains("could not be reached"), "{content}");
    wire.pass();
    assert_eq!(
        worker.deliver_due().await.unwrap().taken,
        0,
        "it rests for a minute"
    );
    harness.db.shift_clock(61).await;
    smtp.behave(SmtpBehaviour::PutOff);
    assert_eq!(worker.deliver_due().await.unwrap().sent, 0);
    let content = harness.column(id, "last_error").await;
    assert!(content.contains("put it off (451)"), "{content}");
    smtp.behave(SmtpBehaviour::Take);
    harness.db.shift_clock(121).await;
    assert_eq!(worker.deliver_due().await.unwrap().sent, 1);
    assert_eq!(
        smtp.mails()[0].header("message-id"),
        format!("<{id}@gateway.example>")
    );
    assert_eq!(harness.column(id, "tries").await, "3");
}

#[tokio::test]
async fn a_refusal_for_good_ends_it_and_the_operator_still_has_the_link() {
    let (harness, smtp) = (Harness::new().await, Smtp::start());
    smtp.behave(SmtpBehaviour::Refuse);
    let worker = harness.worker(Some(&settings(&smtp.url())));
    let id = harness.write("nobody@example.com", true).await;
    assert_eq!(worker.deliver_due().await.unwrap().given_up, 1);
    assert_eq!(harness.column(id, "state").await, "failed");
    assert_eq!(
        harness.column(id, "last_error").await,
        "the mail server refused it for good (550)"
    );
    harness.db.shift_clock(3_600).await;
    assert_eq!(worker.deliver_due().await.unwrap().taken, 0);
    let mut session = harness.data.session().await.unwrap();
    let unsent = emails::unsent(&mut session, 10).await.unwrap();
    assert_eq!(unsent.len(), 1);
    let content = open_sealed(&harness.keyring, id, &unsent[0].sealed).unwrap();
    assert!(content.link.ends_with(CANARY));
    harness.assert_sound().await;
}

#[tokio::test]
async fn a_refused_login_is_a_configuration_error_and_the_email_waits() {
    let (harness, smtp) = (Harness::new().await, Smtp::start());
    smtp.behave(SmtpBehaviour::NoLogin);
    let url = format!("smtp://ada:hunter2canary@{}", smtp.address());
    let worker = harness.worker(Some(&settings(&url)));
    let id = harness.write("ada@example.com", true).await;
    worker.deliver_due().await.unwrap();
    assert_eq!(harness.column(id, "state").await, "waiting");
    let content = harness.column(id, "last_error").await;
    assert!(
        content.contains("let us in (535)") && !content.contains("canary"),
        "{content}"
    );
    smtp.behave(SmtpBehaviour::Take);
    harness.db.shift_clock(61).await;
    assert_eq!(worker.deliver_due().await.unwrap().sent, 1);
    assert_eq!(smtp.logins().len(), 1);
}

#[tokio::test]
async fn a_connection_dropped_after_data_resends_under_the_same_message_id() {
    let (harness, smtp) = (Harness::new().await, Smtp::start());
    smtp.behave(SmtpBehaviour::DropAfterData);
    let worker = harness.worker(Some(&settings(&smtp.url())));
    let id = harness.write("ada@example.com", true).await;
    assert_eq!(worker.deliver_due().await.unwrap().sent, 0);
    smtp.behave(SmtpBehaviour::Take);
    harness.db.shift_clock(61).await;
    assert_eq!(worker.deliver_due().await.unwrap().sent, 1);
    let ids: Vec<String> = smtp
        .mails()
        .iter()
        .map(|mail| mail.header("message-id"))
        .collect();
    let own = format!("<{id}@gateway.example>");
    assert_eq!(ids, [own.clone(), own]);
    let dates: Vec<String> = smtp
        .mails()
        .iter()
        .map(|mail| mail.header("date"))
        .collect();
    assert_eq!(dates[0], dates[1]);
}

#[tokio::test]
async fn a_worker_killed_before_recording_the_delivery_is_replaced() {
    let (harness, smtp) = (Harness::new().await, Smtp::start());
    let mail = settings(&smtp.url());
    let id = harness.write("ada@example.com", true).await;
    // The first has taken it and is gone before it could say so.
    let mut session = harness.data.session().await.unwrap();
    let stale = emails::claim(&mut session, 8, Duration::from_secs(90))
        .await
        .unwrap();
    assert_eq!(stale.len(), 1);
    let second = harness.worker(Some(&mail));
    assert_eq!(
        second.deliver_due().await.unwrap().taken,
        0,
        "it is the first one's"
    );
    harness.db.shift_clock(91).await;
    assert_eq!(second.deliver_due().await.unwrap().sent, 1);
    // The first comes back from the dead with an old claim: its word counts for nothing.
    assert!(!emails::sent(&mut session, &stale[0]).await.unwrap());
    assert_eq!(harness.column(id, "state").await, "sent");
    assert_eq!(smtp.mails().len(), 1);
}

#[tokio::test]
async fn a_hanging_server_is_left_after_the_configured_timeout() {
    let (harness, smtp) = (Harness::new().await, Smtp::start());
    smtp.behave(SmtpBehaviour::Hang);
    let mut mail = settings(&smtp.url());
    mail.timeout = Duration::from_secs(1);
    let worker = harness.worker(Some(&mail));
    let ids = [
        harness.write("a@example.com", true).await,
        harness.write("b@example.com", true).await,
    ];
    let began = Instant::now();
    assert_eq!(worker.deliver_due().await.unwrap().sent, 0);
    // Both at once; generous, for a machine that is busy.
    assert!(
        began.elapsed() < Duration::from_secs(15),
        "{:?}",
        began.elapsed()
    );
    for id in ids {
        let content = harness.column(id, "last_error").await;
        assert!(content.contains("did not answer in time"), "{content}");
        assert_eq!(harness.column(id, "state").await, "waiting");
    }
}

#[tokio::test]
async fn several_nodes_share_the_emails_and_none_is_sent_twice() {
    let (harness, smtp) = (Harness::new().await, Smtp::start());
    for number in 0..30 {
        harness.write(&format!("p{number}@example.com"), true).await;
    }
    let mail = settings(&smtp.url());
    let nodes: Vec<_> = (0..3).map(|_| harness.worker(Some(&mail))).collect();
    let rounds = nodes
        .iter()
        .map(|node| async move { while node.deliver_due().await.unwrap().taken > 0 {} });
    all_at_once(rounds.collect()).await;
    let mut to: Vec<String> = smtp.mails().into_iter().map(|mail| mail.to).collect();
    assert_eq!(to.len(), 30);
    to.sort();
    to.dedup();
    assert_eq!(to.len(), 30);
}

#[tokio::test]
async fn an_email_is_retried_for_a_day_and_its_link_is_deleted_afterwards() {
    let (harness, smtp) = (Harness::new().await, Smtp::start());
    smtp.behave(SmtpBehaviour::PutOff);
    let worker = harness.worker(Some(&settings(&smtp.url())));
    let id = harness.write("ada@example.com", true).await;
    let mut tries = 0;
    while harness.column(id, "state").await == "waiting" {
        tries += worker.deliver_due().await.unwrap().taken;
        harness.db.shift_clock(6 * 3_600 + 1).await;
        assert!(tries < 10, "it is tried without end");
    }
    assert!(tries >= 4, "{tries}");
    assert_eq!(
        worker.tidy().await.unwrap().emptied,
        0,
        "its link still works"
    );
    harness.db.shift_clock(48 * 3_600).await;
    assert_eq!(worker.tidy().await.unwrap().emptied, 1);
    assert_eq!(harness.column(id, "sealed").await, "null");
    harness.db.shift_clock(31 * 86_400).await;
    assert_eq!(worker.tidy().await.unwrap().forgotten, 1);
    harness.assert_sound().await;
}

#[tokio::test]
async fn without_a_server_emails_are_queued_for_the_operator() {
    let harness = Harness::new().await;
    let kept = harness.write("ada@example.com", false).await;
    assert_eq!(harness.column(kept, "state").await, "kept");
    // Written while there was a server; it was taken out of the settings since.
    let waiting = harness.write("bob@example.com", true).await;
    let worker = harness.worker(None);
    assert_eq!(worker.deliver_due().await.unwrap().kept, 1);
    assert_eq!(harness.column(waiting, "state").await, "kept");
    let mut session = harness.data.session().await.unwrap();
    let unsent = emails::unsent(&mut session, 10).await.unwrap();
    let to: Vec<&str> = unsent.iter().map(|email| email.to.as_str()).collect();
    assert_eq!(to, ["bob@example.com", "ada@example.com"]);
}

#[tokio::test]
async fn what_another_keyring_sealed_or_another_row_holds_is_not_sent() {
    let (harness, smtp) = (Harness::new().await, Smtp::start());
    let worker = harness.worker(Some(&settings(&smtp.url())));
    let first = harness.write("ada@example.com", true).await;
    let second = harness.write("mallory@example.com", true).await;
    // An attacker who can write to the table moves one person's link into another's email.
    let swap = format!(
        "UPDATE app.email SET sealed = (SELECT sealed FROM app.email WHERE id = '{first}')
        WHERE id = '{second}' RETURNING id::text"
    );
    harness.db.ask(&swap).await;
    assert_eq!(worker.deliver_due().await.unwrap().sent, 1);
    assert_eq!(smtp.mails()[0].to, "ada@example.com");
    let content = harness.column(second, "last_error").await;
    assert!(content.contains("cannot be read"), "{content}");
}
