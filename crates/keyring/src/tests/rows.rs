//! Proofs for rows and texts sealed under a random nonce.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::{
    Binding, MAX_CONTEXT_BYTES, MAX_PLAINTEXT_BYTES, MAX_PREFIX_BYTES, MAX_TEXT_PLAINTEXT_BYTES,
    OpenError, SealError,
};

proptest! {
    #[test]
    fn what_was_sealed_opens_under_the_same_purpose_and_binding(
        purpose in any_purpose(),
        account in any_account(),
        context in any_bytes(40),
        plaintext in any_bytes(300),
    ) {
        let keyring = keyring();
        let binding = Binding { account, context: &context };
        let token = keyring.seal(purpose, &binding, &plaintext).unwrap();
        prop_assert_eq!(token.len(), plaintext.len() + 31);
        let opened = keyring.open(purpose, &binding, &token).unwrap();
        prop_assert_eq!(opened.reveal(), &plaintext[..]);

        let text = keyring.seal_text(purpose, &binding, "q_", &plaintext).unwrap();
        let opened = keyring.open_text(purpose, &binding, "q_", &text).unwrap();
        prop_assert_eq!(opened.reveal(), &plaintext[..]);
    }

    #[test]
    fn another_purpose_account_or_context_is_refused(
        purposes in (any_purpose(), any_purpose()),
        accounts in (any_account(), any_account()),
        contexts in (any_bytes(3), any_bytes(3)),
    ) {
        let keyring = keyring();
        let sealed_for = Binding { account: accounts.0, context: &contexts.0 };
        let opened_for = Binding { account: accounts.1, context: &contexts.1 };
        prop_assume!((purposes.0, sealed_for) != (purposes.1, opened_for));
        let token = keyring.seal(purposes.0, &sealed_for, b"secret").unwrap();
        let refused = keyring.open(purposes.1, &opened_for, &token).unwrap_err();
        prop_assert_eq!(refused, OpenError::Refused);
        let text = keyring.seal_text(purposes.0, &sealed_for, "q_", b"secret").unwrap();
        let refused = keyring.open_text(purposes.1, &opened_for, "q_", &text).unwrap_err();
        prop_assert_eq!(refused, OpenError::Refused);
    }

    #[test]
    fn arbitrary_bytes_never_open_and_never_panic(bytes in any_bytes(80), text in ".{0,80}") {
        let keyring = keyring();
        let binding = Binding::of_operator(b"row");
        prop_assert!(keyring.open(Purpose::Cookies, &binding, &bytes).is_err());
        prop_assert!(keyring.open_text(Purpose::Cookies, &binding, "", &text).is_err());
        prop_assert!(keyring.open_id(&binding, "", &text).is_err());
        prop_assert!(keyring.verify(Purpose::Cookies, &binding, &[], &text).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_single_flipped_bit_is_refused(
        purpose in any_purpose(),
        account in any_account(),
        plaintext in any_bytes(60),
    ) {
        let keyring = keyring();
        let binding = Binding { account, context: b"credentials/7" };
        let token = keyring.seal(purpose, &binding, &plaintext).unwrap();
        for altered in each_bit_flipped(&token) {
            prop_assert!(keyring.open(purpose, &binding, &altered).is_err());
        }
        let text = keyring.seal_text(purpose, &binding, "q_", &plaintext).unwrap();
        for altered in each_text_bit_flipped(&text) {
            let opened = keyring.open_text(purpose, &binding, "q_", &altered);
            prop_assert!(opened.is_err(), "{}", altered);
        }
    }

    #[test]
    fn every_cut_and_every_added_byte_is_refused(plaintext in any_bytes(60), added: u8) {
        let keyring = keyring();
        let binding = Binding::of_operator(b"row");
        let mut token = keyring.seal(Purpose::Quotes, &binding, &plaintext).unwrap();
        for length in 0..token.len() {
            prop_assert!(keyring.open(Purpose::Quotes, &binding, &token[..length]).is_err());
        }
        token.push(added);
        prop_assert!(keyring.open(Purpose::Quotes, &binding, &token).is_err());
    }
}

#[test]
fn every_purpose_opens_only_its_own() {
    let keyring = keyring();
    let binding = Binding::of_account(account(7), b"row");
    for sealed_for in Purpose::ALL {
        let token = keyring.seal(sealed_for, &binding, b"secret").unwrap();
        for opened_for in Purpose::ALL {
            let opened = keyring.open(opened_for, &binding, &token);
            assert_eq!(opened.is_ok(), sealed_for == opened_for);
        }
    }
}

#[test]
fn no_account_is_not_account_zero_and_fields_do_not_run_together() {
    let keyring = keyring();
    let pairs = [
        (
            Binding::of_operator(b"row"),
            Binding::of_account(account(0), b"row"),
        ),
        (
            Binding::of_operator(&[0; 8]),
            Binding::of_account(account(0), b""),
        ),
        (Binding::of_operator(b"ab"), Binding::of_operator(b"a")),
    ];
    for (one, other) in pairs {
        let token = keyring.seal(Purpose::Credentials, &one, b"secret").unwrap();
        let refused = keyring.open(Purpose::Credentials, &other, &token);
        assert_eq!(refused.unwrap_err(), OpenError::Refused);
        let token = keyring
            .seal(Purpose::Credentials, &other, b"secret")
            .unwrap();
        let refused = keyring.open(Purpose::Credentials, &one, &token);
        assert_eq!(refused.unwrap_err(), OpenError::Refused);
    }
}

#[test]
fn two_seals_of_one_plaintext_differ_and_hide_it() {
    let keyring = keyring();
    let binding = Binding::of_operator(b"row");
    let plaintext = b"sk-upstream-canary";
    let one = keyring
        .seal(Purpose::Credentials, &binding, plaintext)
        .unwrap();
    let other = keyring
        .seal(Purpose::Credentials, &binding, plaintext)
        .unwrap();
    assert_ne!(one[3..15], other[3..15], "nonces");
    assert_ne!(one[15..], other[15..]);
    assert!(!one.windows(6).any(|window| window == b"canary"));
}

#[test]
fn a_row_is_no_text_and_a_text_is_no_row() {
    let keyring = keyring();
    let binding = Binding::of_operator(b"");
    let row = keyring.seal(Purpose::Cookies, &binding, b"secret").unwrap();
    let row_as_text = crate::token::spell("", &row);
    let refused = keyring.open_text(Purpose::Cookies, &binding, "", &row_as_text);
    assert_eq!(refused.unwrap_err(), OpenError::Refused);
    let text = keyring
        .seal_text(Purpose::Cookies, &binding, "", b"secret")
        .unwrap();
    let text_as_row = crate::token::read("", &text).unwrap();
    let refused = keyring.open(Purpose::Cookies, &binding, &text_as_row);
    assert_eq!(refused.unwrap_err(), OpenError::Refused);
}

#[test]
fn the_longest_row_is_taken_and_one_byte_more_is_not() {
    let keyring = keyring();
    let binding = Binding::of_operator(b"row");
    let mut plaintext = vec![7; MAX_PLAINTEXT_BYTES];
    let mut token = keyring
        .seal(Purpose::IdempotentAnswers, &binding, &plaintext)
        .unwrap();
    let opened = keyring
        .open(Purpose::IdempotentAnswers, &binding, &token)
        .unwrap();
    assert!(opened.reveal() == plaintext);
    token.push(0);
    let refused = keyring.open(Purpose::IdempotentAnswers, &binding, &token);
    assert_eq!(refused.unwrap_err(), OpenError::Malformed);
    plaintext.push(7);
    let refused = keyring.seal(Purpose::IdempotentAnswers, &binding, &plaintext);
    let limit_bytes = 16_000_000;
    let what = "the row to seal";
    assert_eq!(
        refused.unwrap_err(),
        SealError::TooLong { what, limit_bytes }
    );
}

#[test]
fn the_longest_text_context_and_prefix_are_taken_and_one_byte_more_is_not() {
    let keyring = keyring();
    let context = [b'c'; MAX_CONTEXT_BYTES + 1];
    let plaintext = [b'p'; MAX_TEXT_PLAINTEXT_BYTES + 1];
    let prefix = "p".repeat(MAX_PREFIX_BYTES + 1);
    let longest = Binding::of_operator(&context[1..]);
    let purpose = Purpose::Cookies;

    let text = keyring
        .seal_text(purpose, &longest, &prefix[1..], &plaintext[1..])
        .unwrap();
    assert!(text.len() < 4_096, "fits a cookie: {}", text.len());
    assert!(
        keyring
            .open_text(purpose, &longest, &prefix[1..], &text)
            .is_ok()
    );
    let id = keyring
        .seal_id(&longest, &prefix[1..], &plaintext[1..])
        .unwrap();
    assert!(keyring.open_id(&longest, &prefix[1..], &id).is_ok());

    let too_long = Binding::of_operator(&context);
    for refused in [
        keyring.seal_text(purpose, &longest, "", &plaintext),
        keyring.seal_text(purpose, &too_long, "", b""),
        keyring.seal_id(&longest, "", &plaintext),
        keyring.seal_id(&too_long, "", b""),
    ] {
        assert!(
            matches!(refused, Err(SealError::TooLong { .. })),
            "{refused:?}"
        );
    }
    for wrong in [&prefix[..], "Resp_", "resp ", "é"] {
        let refused = keyring.seal_text(purpose, &longest, wrong, b"");
        assert_eq!(refused, Err(SealError::Prefix), "{wrong}");
        assert_eq!(
            keyring.seal_id(&longest, wrong, b""),
            Err(SealError::Prefix)
        );
    }
    let token = keyring.seal(purpose, &longest, b"").unwrap();
    let refused = [
        keyring.open(purpose, &too_long, &token),
        keyring.open_id(&too_long, &prefix[1..], &id),
        keyring.open_text(purpose, &too_long, &prefix[1..], &text),
    ];
    assert!(
        refused
            .iter()
            .all(|one| matches!(one, Err(OpenError::Refused)))
    );
    let endless = "A".repeat(4_097);
    let refused = keyring.open_text(purpose, &longest, "", &endless);
    assert_eq!(refused.unwrap_err(), OpenError::Malformed);
}

#[test]
fn without_random_bytes_nothing_is_sealed() {
    let keyring = Keyring::new(&document(0), Arc::new(NoRandom)).unwrap();
    let refused = keyring.seal(Purpose::Quotes, &Binding::of_operator(b"row"), b"secret");
    assert!(matches!(refused, Err(SealError::Random(_))), "{refused:?}");
}

#[test]
fn the_system_gives_random_bytes() {
    let (mut one, mut other) = ([0; 32], [0; 32]);
    crate::SystemRandom.fill(&mut one).unwrap();
    crate::SystemRandom.fill(&mut other).unwrap();
    assert_ne!(one, other);
}
