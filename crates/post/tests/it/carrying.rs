//! A letter is sent once if it can be, more than once if it must be, and never not at all.

use std::time::{Duration, Instant};

use trunkline_post::{Carried, opened};
use trunkline_store::letters;
use trunkline_testkit::{Manners, Smtp, Wire, all_at_once};

use crate::office::{CANARY, Office, settings};

#[tokio::test]
async fn a_letter_is_sent_once_and_what_it_said_is_gone() {
    let (office, smtp) = (Office::new().await, Smtp::start());
    let post = office.post(Some(&settings(&smtp.url())));
    let id = office.write("ada@example.com", true).await;
    let carried = post.carry().await.unwrap();
    assert_eq!((carried.taken, carried.sent), (1, 1));
    assert_eq!(post.carry().await.unwrap(), Carried::default());
    let mails = smtp.mails();
    assert_eq!(mails.len(), 1);
    let mail = &mails[0];
    assert_eq!(
        (mail.from.as_str(), mail.to.as_str()),
        ("mail@house.example", "ada@example.com")
    );
    assert_eq!(mail.header("message-id"), format!("<{id}@house.example>"));
    assert_eq!(mail.header("subject"), "Confirm your address for The House");
    assert_eq!(mail.header("auto-submitted"), "auto-generated");
    assert_eq!(mail.token(), CANARY);
    assert!(mail.html().contains(CANARY), "{}", mail.html());
    assert_eq!(office.column(id, "state").await, "sent");
    assert_eq!(office.column(id, "sealed").await, "null");
    office.assert_sound().await;
}

#[tokio::test]
async fn a_server_that_is_down_gets_the_same_letter_when_it_is_up() {
    let (office, smtp) = (Office::new().await, Smtp::start());
    let wire = Wire::to_anything(smtp.address());
    wire.refuse();
    let post = office.post(Some(&settings(&format!(
        "smtp://127.0.0.1:{}",
        wire.port()
    ))));
    let id = office.write("ada@example.com", true).await;
    assert_eq!(post.carry().await.unwrap().sent, 0);
    assert_eq!(office.column(id, "state").await, "waiting");
    let said = office.column(id, "last_error").await;
    assert!(said.contains("could not be reached"), "{said}");
    wire.pass();
    assert_eq!(
        post.carry().await.unwrap().taken,
        0,
        "it rests for a minute"
    );
    office.db.shift_clock(61).await;
    smtp.behave(Manners::PutOff);
    assert_eq!(post.carry().await.unwrap().sent, 0);
    let said = office.column(id, "last_error").await;
    assert!(said.contains("put it off (451)"), "{said}");
    smtp.behave(Manners::Take);
    office.db.shift_clock(121).await;
    assert_eq!(post.carry().await.unwrap().sent, 1);
    assert_eq!(
        smtp.mails()[0].header("message-id"),
        format!("<{id}@house.example>")
    );
    assert_eq!(office.column(id, "tries").await, "3");
}

#[tokio::test]
async fn a_refusal_for_good_ends_it_and_the_operator_still_has_the_link() {
    let (office, smtp) = (Office::new().await, Smtp::start());
    smtp.behave(Manners::Refuse);
    let post = office.post(Some(&settings(&smtp.url())));
    let id = office.write("nobody@example.com", true).await;
    assert_eq!(post.carry().await.unwrap().given_up, 1);
    assert_eq!(office.column(id, "state").await, "failed");
    assert_eq!(
        office.column(id, "last_error").await,
        "the mail server refused it for good (550)"
    );
    office.db.shift_clock(3_600).await;
    assert_eq!(post.carry().await.unwrap().taken, 0);
    let mut session = office.data.session().await.unwrap();
    let unsent = letters::unsent(&mut session, 10).await.unwrap();
    assert_eq!(unsent.len(), 1);
    let content = opened(&office.keyring, id, &unsent[0].sealed).unwrap();
    assert!(content.link.ends_with(CANARY));
    office.assert_sound().await;
}

#[tokio::test]
async fn a_login_that_is_refused_is_ours_to_mend_and_the_letter_waits() {
    let (office, smtp) = (Office::new().await, Smtp::start());
    smtp.behave(Manners::NoLogin);
    let url = format!("smtp://ada:hunter2canary@{}", smtp.address());
    let post = office.post(Some(&settings(&url)));
    let id = office.write("ada@example.com", true).await;
    post.carry().await.unwrap();
    assert_eq!(office.column(id, "state").await, "waiting");
    let said = office.column(id, "last_error").await;
    assert!(
        said.contains("let us in (535)") && !said.contains("canary"),
        "{said}"
    );
    smtp.behave(Manners::Take);
    office.db.shift_clock(61).await;
    assert_eq!(post.carry().await.unwrap().sent, 1);
    assert_eq!(smtp.logins().len(), 1);
}

#[tokio::test]
async fn a_server_that_drops_the_line_after_the_letter_gets_it_again_under_the_same_id() {
    let (office, smtp) = (Office::new().await, Smtp::start());
    smtp.behave(Manners::DropAfterData);
    let post = office.post(Some(&settings(&smtp.url())));
    let id = office.write("ada@example.com", true).await;
    assert_eq!(post.carry().await.unwrap().sent, 0);
    smtp.behave(Manners::Take);
    office.db.shift_clock(61).await;
    assert_eq!(post.carry().await.unwrap().sent, 1);
    let ids: Vec<String> = smtp
        .mails()
        .iter()
        .map(|mail| mail.header("message-id"))
        .collect();
    let own = format!("<{id}@house.example>");
    assert_eq!(ids, [own.clone(), own]);
    let dates: Vec<String> = smtp
        .mails()
        .iter()
        .map(|mail| mail.header("date"))
        .collect();
    assert_eq!(dates[0], dates[1]);
}

#[tokio::test]
async fn who_dies_between_the_servers_word_and_ours_is_followed_by_another() {
    let (office, smtp) = (Office::new().await, Smtp::start());
    let mail = settings(&smtp.url());
    let id = office.write("ada@example.com", true).await;
    // The first has taken it and is gone before it could say so.
    let mut session = office.data.session().await.unwrap();
    let stale = letters::claim(&mut session, 8, Duration::from_secs(90))
        .await
        .unwrap();
    assert_eq!(stale.len(), 1);
    let second = office.post(Some(&mail));
    assert_eq!(
        second.carry().await.unwrap().taken,
        0,
        "it is the first one's"
    );
    office.db.shift_clock(91).await;
    assert_eq!(second.carry().await.unwrap().sent, 1);
    // The first comes back from the dead with an old claim: its word counts for nothing.
    assert!(!letters::sent(&mut session, &stale[0]).await.unwrap());
    assert_eq!(office.column(id, "state").await, "sent");
    assert_eq!(smtp.mails().len(), 1);
}

#[tokio::test]
async fn a_server_that_hangs_keeps_nobody_longer_than_the_setting() {
    let (office, smtp) = (Office::new().await, Smtp::start());
    smtp.behave(Manners::Hang);
    let mut mail = settings(&smtp.url());
    mail.timeout = Duration::from_secs(1);
    let post = office.post(Some(&mail));
    let ids = [
        office.write("a@example.com", true).await,
        office.write("b@example.com", true).await,
    ];
    let began = Instant::now();
    assert_eq!(post.carry().await.unwrap().sent, 0);
    // Both at once; generous, for a machine that is busy.
    assert!(
        began.elapsed() < Duration::from_secs(15),
        "{:?}",
        began.elapsed()
    );
    for id in ids {
        let said = office.column(id, "last_error").await;
        assert!(said.contains("did not answer in time"), "{said}");
        assert_eq!(office.column(id, "state").await, "waiting");
    }
}

#[tokio::test]
async fn several_nodes_share_the_letters_and_none_is_sent_twice() {
    let (office, smtp) = (Office::new().await, Smtp::start());
    for number in 0..30 {
        office.write(&format!("p{number}@example.com"), true).await;
    }
    let mail = settings(&smtp.url());
    let nodes: Vec<_> = (0..3).map(|_| office.post(Some(&mail))).collect();
    let rounds = nodes
        .iter()
        .map(|node| async move { while node.carry().await.unwrap().taken > 0 {} });
    all_at_once(rounds.collect()).await;
    let mut to: Vec<String> = smtp.mails().into_iter().map(|mail| mail.to).collect();
    assert_eq!(to.len(), 30);
    to.sort();
    to.dedup();
    assert_eq!(to.len(), 30);
}

#[tokio::test]
async fn a_letter_is_tried_for_a_day_and_its_link_is_gone_when_it_is_over() {
    let (office, smtp) = (Office::new().await, Smtp::start());
    smtp.behave(Manners::PutOff);
    let post = office.post(Some(&settings(&smtp.url())));
    let id = office.write("ada@example.com", true).await;
    let mut tries = 0;
    while office.column(id, "state").await == "waiting" {
        tries += post.carry().await.unwrap().taken;
        office.db.shift_clock(6 * 3_600 + 1).await;
        assert!(tries < 10, "it is tried without end");
    }
    assert!(tries >= 4, "{tries}");
    assert_eq!(
        post.tidy().await.unwrap().emptied,
        0,
        "its link still works"
    );
    office.db.shift_clock(48 * 3_600).await;
    assert_eq!(post.tidy().await.unwrap().emptied, 1);
    assert_eq!(office.column(id, "sealed").await, "null");
    office.db.shift_clock(31 * 86_400).await;
    assert_eq!(post.tidy().await.unwrap().forgotten, 1);
    office.assert_sound().await;
}

#[tokio::test]
async fn without_a_server_letters_are_kept_for_the_operator() {
    let office = Office::new().await;
    let kept = office.write("ada@example.com", false).await;
    assert_eq!(office.column(kept, "state").await, "kept");
    // Written while there was a server; it was taken out of the settings since.
    let waiting = office.write("bob@example.com", true).await;
    let post = office.post(None);
    assert_eq!(post.carry().await.unwrap().kept, 1);
    assert_eq!(office.column(waiting, "state").await, "kept");
    let mut session = office.data.session().await.unwrap();
    let unsent = letters::unsent(&mut session, 10).await.unwrap();
    let to: Vec<&str> = unsent.iter().map(|letter| letter.to.as_str()).collect();
    assert_eq!(to, ["bob@example.com", "ada@example.com"]);
}

#[tokio::test]
async fn what_another_keyring_sealed_or_another_row_holds_is_not_sent() {
    let (office, smtp) = (Office::new().await, Smtp::start());
    let post = office.post(Some(&settings(&smtp.url())));
    let first = office.write("ada@example.com", true).await;
    let second = office.write("mallory@example.com", true).await;
    // Whoever can write to the table moves one person's link into another's letter.
    let swap = format!(
        "UPDATE app.letter SET sealed = (SELECT sealed FROM app.letter WHERE id = '{first}')
        WHERE id = '{second}' RETURNING id::text"
    );
    office.db.ask(&swap).await;
    assert_eq!(post.carry().await.unwrap().sent, 1);
    assert_eq!(smtp.mails()[0].to, "ada@example.com");
    let said = office.column(second, "last_error").await;
    assert!(said.contains("cannot be read"), "{said}");
}
