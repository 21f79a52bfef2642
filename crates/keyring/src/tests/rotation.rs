//! Proofs for rotation: what was sealed before one rotation opens, before two it does not.

use proptest::prelude::*;

use super::*;
use crate::{Binding, GenerationId, OpenError};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn old_tokens_open_after_one_rotation_and_are_unknown_after_two(
        purpose in any_purpose(),
        account in any_account(),
        plaintext in any_bytes(40),
    ) {
        let binding = Binding { account, context: b"row" };
        let before = keyring_of(&document(0));
        let row = before.seal(purpose, &binding, &plaintext).unwrap();
        let text = before.seal_text(purpose, &binding, "q_", &plaintext).unwrap();
        let id = before.seal_id(&binding, "resp_", &plaintext).unwrap();
        let signature = before.sign(purpose, &binding, &[&plaintext]).unwrap();

        let once = keyring_of(&document(1));
        let opened = once.open(purpose, &binding, &row).unwrap();
        prop_assert_eq!(opened.reveal(), &plaintext[..]);
        let opened = once.open_text(purpose, &binding, "q_", &text).unwrap();
        prop_assert_eq!(opened.reveal(), &plaintext[..]);
        let opened = once.open_id(&binding, "resp_", &id).unwrap();
        prop_assert_eq!(opened.reveal(), &plaintext[..]);
        prop_assert_eq!(once.verify(purpose, &binding, &[&plaintext], &signature), Ok(()));

        let twice = keyring_of(&document(2));
        let unknown = OpenError::UnknownGeneration;
        prop_assert_eq!(twice.open(purpose, &binding, &row).unwrap_err(), unknown);
        let opened = twice.open_text(purpose, &binding, "q_", &text);
        prop_assert_eq!(opened.unwrap_err(), unknown);
        prop_assert_eq!(twice.open_id(&binding, "resp_", &id).unwrap_err(), unknown);
        let verified = twice.verify(purpose, &binding, &[&plaintext], &signature);
        prop_assert_eq!(verified, Err(unknown));
    }
}

#[test]
fn a_rotation_adds_a_generation_and_retires_the_one_before_the_last() {
    let random = CountingRandom::from(0);
    let later = now().plus_seconds(86_400);
    let first = Document::generate(now(), &random).unwrap();
    assert_eq!(first.generations().current.id.number(), 1);
    assert_eq!(first.generations().current.created_at, Some(now()));
    assert_eq!(first.generations().previous, None);

    let second = first.rotate(later, &random).unwrap();
    assert_eq!(second.retired, None);
    let generations = second.document.generations();
    assert_eq!(generations.current.id.number(), 2);
    assert_eq!(generations.current.created_at, Some(later));
    assert_eq!(generations.previous, Some(first.generations().current));

    let third = second.document.rotate(later, &random).unwrap();
    assert_eq!(third.retired, Some(first.generations().current.id));
    let keyring = keyring_of(&third.document);
    assert_eq!(keyring.generations(), third.document.generations());
    assert_eq!(keyring.generations().current.id.number(), 3);
}

#[test]
fn new_tokens_use_the_current_generation_and_say_so() {
    let binding = Binding::of_operator(b"row");
    let before = keyring_of(&document(0));
    let after = keyring_of(&document(1));
    let old = before
        .seal(Purpose::Credentials, &binding, b"secret")
        .unwrap();
    let new = after
        .seal(Purpose::Credentials, &binding, b"secret")
        .unwrap();
    assert_eq!((&old[..3], &new[..3]), (&[1, 0, 1][..], &[1, 0, 2][..]));
    let number = |token: &[u8]| Keyring::generation_of(token).map(GenerationId::number);
    assert_eq!((number(&old), number(&new)), (Some(1), Some(2)));
    for no_token in [&b""[..], &[1, 0], &[2, 0, 1], &[1, 0, 0]] {
        assert_eq!(number(no_token), None);
    }
    let opened = before.open(Purpose::Credentials, &binding, &new);
    assert_eq!(opened.unwrap_err(), OpenError::UnknownGeneration);
}

#[test]
fn a_rotated_document_counts_for_every_clone_and_an_older_one_is_refused() {
    let binding = Binding::of_operator(b"row");
    let keyring = keyring_of(&document(0));
    let clone = keyring.clone();
    let old = keyring.seal(Purpose::Tasks, &binding, b"secret").unwrap();
    assert_eq!(keyring.replace(&document(0)), Ok(false));
    assert_eq!(keyring.replace(&document(1)), Ok(true));
    let new = clone.seal(Purpose::Tasks, &binding, b"secret").unwrap();
    assert_eq!(new[..3], [1, 0, 2]);
    assert!(clone.open(Purpose::Tasks, &binding, &old).is_ok());
    assert_eq!(
        clone.unopened().iter().map(|(_, count)| count).sum::<u64>(),
        0
    );
    let older = keyring.replace(&document(0)).unwrap_err();
    assert!(older.to_string().contains("before a rotation"), "{older}");
    assert_eq!(keyring.replace(&document(2)), Ok(true));
    assert!(clone.open(Purpose::Tasks, &binding, &old).is_err());
    assert_eq!(clone.unopened()[6], (Purpose::Tasks, 1));
}

#[test]
fn a_token_opens_only_under_the_generation_it_names() {
    let binding = Binding::of_operator(b"row");
    let keyring = keyring_of(&document(1));
    let mut token = keyring
        .seal(Purpose::Credentials, &binding, b"secret")
        .unwrap();
    token[2] = 1;
    let opened = keyring.open(Purpose::Credentials, &binding, &token);
    assert_eq!(opened.unwrap_err(), OpenError::Refused);
    for number in (0..=u16::MAX).filter(|number| !matches!(number, 1 | 2)) {
        token[1..3].copy_from_slice(&number.to_be_bytes());
        let opened = keyring.open(Purpose::Credentials, &binding, &token);
        assert_eq!(opened.unwrap_err(), OpenError::UnknownGeneration);
    }
}

#[test]
fn one_generation_number_with_two_keys_does_not_open_across() {
    let binding = Binding::of_operator(b"row");
    let here = keyring_of(&document(0));
    let elsewhere = Document::generate(now(), &CountingRandom::from(77)).unwrap();
    let token = here.seal(Purpose::Quotes, &binding, b"secret").unwrap();
    let opened = keyring_of(&elsewhere).open(Purpose::Quotes, &binding, &token);
    assert_eq!(opened.unwrap_err(), OpenError::Refused);
}

#[test]
fn a_keyring_and_its_errors_print_no_secret() {
    let document = document(1);
    let keyring = keyring_of(&document);
    assert_eq!(
        format!("{keyring:?}"),
        "Keyring { current: 2, previous: Some(1), .. }"
    );
    let printed = format!("{document:?}");
    assert!(printed.contains("key: [hidden]"), "{printed}");
    let digits = format!("{:?}", document.current.key.reveal());
    assert!(!printed.contains(&digits));
    assert_eq!(OpenError::Refused.to_string(), "the token was refused");
}
