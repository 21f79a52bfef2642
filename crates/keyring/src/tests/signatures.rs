//! Proofs for signatures.

use proptest::prelude::*;

use super::*;
use crate::{Binding, MAX_CONTEXT_BYTES, MAX_SIGNED_BYTES, OpenError, SealError};

fn slices(parts: &[Vec<u8>]) -> Vec<&[u8]> {
    parts.iter().map(Vec::as_slice).collect()
}

fn any_parts() -> impl Strategy<Value = Vec<Vec<u8>>> {
    proptest::collection::vec(any_bytes(3), 0..4)
}

proptest! {
    #[test]
    fn what_was_signed_verifies_and_nothing_else_does(
        purposes in (any_purpose(), any_purpose()),
        accounts in (any_account(), any_account()),
        contexts in (any_bytes(2), any_bytes(2)),
        parts in (any_parts(), any_parts()),
    ) {
        let keyring = keyring();
        let binding = Binding { account: accounts.0, context: &contexts.0 };
        let signature = keyring.sign(purposes.0, &binding, &slices(&parts.0)).unwrap();
        let verified = keyring.verify(purposes.0, &binding, &slices(&parts.0), &signature);
        prop_assert_eq!(verified, Ok(()));

        let other = Binding { account: accounts.1, context: &contexts.1 };
        prop_assume!((purposes.0, binding, &parts.0) != (purposes.1, other, &parts.1));
        let refused = keyring.verify(purposes.1, &other, &slices(&parts.1), &signature);
        prop_assert_eq!(refused, Err(OpenError::Refused));
    }
}

#[test]
fn another_purpose_account_or_context_does_not_verify() {
    let keyring = keyring();
    let binding = Binding::of_account(account(7), b"media");
    let signature = keyring
        .sign(Purpose::MediaLinks, &binding, &[b"file"])
        .unwrap();
    for purpose in Purpose::ALL {
        let verified = keyring.verify(purpose, &binding, &[b"file"], &signature);
        assert_eq!(verified.is_ok(), purpose == Purpose::MediaLinks);
    }
    for other in [
        Binding::of_account(account(8), b"media"),
        Binding::of_account(account(7), b"medi"),
        Binding::of_operator(b"media"),
    ] {
        let refused = keyring.verify(Purpose::MediaLinks, &other, &[b"file"], &signature);
        assert_eq!(refused, Err(OpenError::Refused));
    }
}

#[test]
fn moving_a_byte_between_parts_or_dropping_an_empty_part_is_noticed() {
    let keyring = keyring();
    let binding = Binding::of_operator(b"media");
    let signature = keyring
        .sign(Purpose::MediaLinks, &binding, &[b"ab", b"c"])
        .unwrap();
    let altered: [&[&[u8]]; 6] = [
        &[b"a", b"bc"],
        &[b"abc"],
        &[b"ab", b"c", b""],
        &[b"", b"ab", b"c"],
        &[b"c", b"ab"],
        &[],
    ];
    for parts in altered {
        let refused = keyring.verify(Purpose::MediaLinks, &binding, parts, &signature);
        assert_eq!(refused, Err(OpenError::Refused), "{parts:?}");
    }
}

#[test]
fn every_flipped_bit_of_a_signature_or_of_its_message_is_refused() {
    let keyring = keyring();
    let binding = Binding::of_account(account(7), b"media");
    let part = b"video/1700000000";
    let signature = keyring
        .sign(Purpose::MediaLinks, &binding, &[part])
        .unwrap();
    for altered in each_text_bit_flipped(&signature) {
        let verified = keyring.verify(Purpose::MediaLinks, &binding, &[part], &altered);
        assert!(verified.is_err(), "{altered}");
    }
    for altered in each_bit_flipped(part) {
        let verified = keyring.verify(Purpose::MediaLinks, &binding, &[&altered], &signature);
        assert_eq!(verified, Err(OpenError::Refused));
    }
}

#[test]
fn a_shortened_signature_is_refused() {
    let keyring = keyring();
    let binding = Binding::of_operator(b"media");
    let signature = keyring
        .sign(Purpose::MediaLinks, &binding, &[b"file"])
        .unwrap();
    let whole = crate::token::read("", &signature).unwrap();
    for length in 0..whole.len() {
        let cut = crate::token::spell("", &whole[..length]);
        let refused = keyring.verify(Purpose::MediaLinks, &binding, &[b"file"], &cut);
        assert_eq!(refused, Err(OpenError::Malformed));
    }
}

#[test]
fn the_most_that_is_signed_is_bounded() {
    let keyring = keyring();
    let binding = Binding::of_operator(b"media");
    let too_long = [b'c'; MAX_CONTEXT_BYTES + 1];
    let too_long = Binding::of_operator(&too_long);
    let part = vec![7; MAX_SIGNED_BYTES];
    let most = &part[1..];
    let signature = keyring
        .sign(Purpose::MediaLinks, &binding, &[most])
        .unwrap();
    let verified = keyring.verify(Purpose::MediaLinks, &binding, &[most], &signature);
    assert_eq!(verified, Ok(()));
    for refused in [
        keyring.sign(Purpose::MediaLinks, &binding, &[&part]),
        keyring.sign(Purpose::MediaLinks, &too_long, &[]),
        keyring.sign(
            Purpose::MediaLinks,
            &binding,
            &vec![&[][..]; MAX_SIGNED_BYTES + 1],
        ),
    ] {
        assert!(
            matches!(refused, Err(SealError::TooLong { .. })),
            "{refused:?}"
        );
    }
    for refused in [
        keyring.verify(Purpose::MediaLinks, &binding, &[&part], &signature),
        keyring.verify(Purpose::MediaLinks, &too_long, &[most], &signature),
    ] {
        assert_eq!(refused, Err(OpenError::Refused));
    }
}
