//! Emails about a low balance: a notice becomes one email under its id, and nothing is left of it.

use trunkline_testkit::Smtp;

use crate::harness::{Harness, settings};

const ID: &str = "01930000-0000-7000-8000-000000000001";

/// A notice as the database writes it; the account need not be there.
async fn notice(harness: &Harness) {
    let query = format!(
        "SET session_replication_role = replica; INSERT INTO app.low_balance_notice
             (id, account_id, to_address, name, organisation, language, balance_nanos, threshold_nanos)
         VALUES ('{ID}', 7, 'ada@example.com', 'Ada', 'Acme', 'en', 4500000000, 5000000000)"
    );
    harness.db.ask(&query).await;
}

async fn count(harness: &Harness, table: &str) -> String {
    let query = format!("SELECT count(*)::text FROM app.{table}");
    harness.db.ask(&query).await.remove(0)
}

#[tokio::test]
async fn a_notice_of_a_low_balance_becomes_one_email_with_a_link_to_the_wallet() {
    let (harness, smtp) = (Harness::new().await, Smtp::start());
    let worker = harness.worker(Some(&settings(&smtp.url())));
    notice(&harness).await;
    assert!(worker.queue_low_balance().await.unwrap());
    assert!(!worker.queue_low_balance().await.unwrap());
    assert_eq!(worker.deliver_due().await.unwrap().sent, 1);
    let mails = smtp.mails();
    assert_eq!(mails.len(), 1);
    let mail = &mails[0];
    assert_eq!(mail.to, "ada@example.com");
    assert_eq!(mail.header("subject"), "Low balance at The Instance");
    assert_eq!(mail.header("message-id"), format!("<{ID}@gateway.example>"));
    let html = mail.html();
    assert!(
        html.contains("href=\"https://dash.example/wallet\""),
        "{html}"
    );
    assert!(html.contains("is 4.5 USD"), "{html}");
    assert_eq!(count(&harness, "low_balance_notice").await, "0");
    harness.assert_sound().await;
}

#[tokio::test]
async fn a_notice_is_dropped_where_there_is_no_mail_server() {
    let harness = Harness::new().await;
    let worker = harness.worker(None);
    notice(&harness).await;
    assert!(worker.queue_low_balance().await.unwrap());
    assert_eq!(count(&harness, "low_balance_notice").await, "0");
    assert_eq!(count(&harness, "email").await, "0");
}
