//! Tokens that must open for ever: a change that breaks one of these loses what customers hold.
//!
//! They were computed by another implementation (Python's `cryptography` 48 over OpenSSL), so they
//! also prove that the algorithms are what `lib.rs` says they are.

use super::*;
use crate::{Binding, Document};

/// Root keys 0x00…0x1F for generation 1 and 0x20…0x3F for generation 2.
const LINE: &str = "v1:2:ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=,\
                    1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

fn frozen() -> Keyring {
    keyring_of(&Document::parse(LINE.as_bytes()).unwrap())
}

fn row(text: &str) -> Vec<u8> {
    crate::token::read("", text).unwrap()
}

#[test]
fn frozen_rows_of_both_generations_open() {
    let binding = Binding::of_operator(b"channels/7");
    for token in [
        "AQABZGVmZ2hpamtsbW5v6drUB0W5xWFEOYOznmWoHxmgYgu6o52rF-gL",
        "AQACZGVmZ2hpamtsbW5vAEzvI4cjpUWp4wTBrP8iSXOkfvIs-Y4V7xDW",
    ] {
        let opened = frozen().open(Purpose::Credentials, &binding, &row(token));
        assert_eq!(opened.unwrap().reveal(), b"sk-upstream");
    }
}

#[test]
fn a_frozen_row_of_every_purpose_opens() {
    let binding = Binding::of_account(account(42), b"row");
    let frozen_rows = [
        (
            Purpose::Credentials,
            "AQACZGVmZ2hpamtsbW5vC6GDwVg4YoKsLURXgQjq14Q",
        ),
        (
            Purpose::SealedIds,
            "AQACZGVmZ2hpamtsbW5voSK2MwpDnd1yOB4oqeZsI9A",
        ),
        (
            Purpose::Quotes,
            "AQACZGVmZ2hpamtsbW5vpKBHm6_jWj8ejjucI37REHo",
        ),
        (
            Purpose::MediaLinks,
            "AQACZGVmZ2hpamtsbW5vVhf5lb1y_Es1BNxyIExOIbI",
        ),
        (
            Purpose::Cookies,
            "AQACZGVmZ2hpamtsbW5v5sttbZQdJp-94yBr7FfKKTs",
        ),
        (
            Purpose::IdempotentAnswers,
            "AQACZGVmZ2hpamtsbW5vMQCkzWJq4vVmlQPgmdVVAWA",
        ),
        (
            Purpose::Tasks,
            "AQACZGVmZ2hpamtsbW5vsOkuARUeGPbk4CFLuqQabY0",
        ),
        (
            Purpose::Webhooks,
            "AQACZGVmZ2hpamtsbW5vl1G3idf4HCGxrdypKogw9aY",
        ),
        (
            Purpose::Emails,
            "AQACZGVmZ2hpamtsbW5vfCz0bYL7sT-yGE4aPucC0jI",
        ),
    ];
    assert_eq!(frozen_rows.map(|(purpose, _)| purpose), Purpose::ALL);
    for (purpose, token) in frozen_rows {
        let opened = frozen().open(purpose, &binding, &row(token));
        assert_eq!(opened.unwrap().reveal(), b"x", "{purpose:?}");
    }
}

#[test]
fn frozen_texts_of_both_generations_open() {
    let binding = Binding::of_account(account(-3), b"console");
    for text in [
        "s_AQABZGVmZ2hpamtsbW5vb2irNBxWWaR7Uq3vmHJQ4nkAyJUDu0YWCg",
        "s_AQACZGVmZ2hpamtsbW5v7duKeSTHoKkug9hN4irDmverwYoXuI26Lg",
    ] {
        let opened = frozen().open_text(Purpose::Cookies, &binding, "s_", text);
        assert_eq!(opened.unwrap().reveal(), b"session 5");
    }
}

#[test]
fn frozen_ids_open_and_are_reproduced_exactly() {
    let binding = Binding::of_account(account(42), b"responses");
    let old = "resp_AQABZsOFijjswK4JyKgPQoecjpRNbG9FCIfDB6Wu6FM";
    let new = "resp_AQACXDFTAzl6HcuYDWg6BnPPbnwe4p5vOAhFjo-1v6o";
    for text in [old, new] {
        let opened = frozen().open_id(&binding, "resp_", text);
        assert_eq!(opened.unwrap().reveal(), b"resp_upstream");
    }
    let sealed = frozen().seal_id(&binding, "resp_", b"resp_upstream");
    assert_eq!(sealed.unwrap(), new);
}

#[test]
fn frozen_signatures_verify_and_are_reproduced_exactly() {
    let binding = Binding::of_account(account(42), b"media");
    let parts: [&[u8]; 2] = [b"task_1.mp4", b"1700000000"];
    let old = "AQABqcrSyLltlNVQ9yUAbMRFH_syiIUctLhR9liKRwqMqQg";
    let new = "AQACNuM1oos-Sb7wzNR_tt50jpxGisJ5RhzNVvlt5SNRsP0";
    for signature in [old, new] {
        let verified = frozen().verify(Purpose::MediaLinks, &binding, &parts, signature);
        assert_eq!(verified, Ok(()));
    }
    let signed = frozen().sign(Purpose::MediaLinks, &binding, &parts);
    assert_eq!(signed.unwrap(), new);
}

/// Customers check with the public half of the key of this seed.
#[test]
fn the_frozen_seed_of_statements_is_derived_from_the_current_generation() {
    let seed = frozen().statement_seed();
    let digits: String = seed
        .reveal()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        digits,
        "96d5b06b60d96a8051ea3d151212afad7e23f559861dd8f494eabeb94090d64b"
    );
    let rotated = keyring_of(&document(1));
    assert_ne!(
        keyring_of(&document(0)).statement_seed().reveal(),
        rotated.statement_seed().reveal()
    );
}
