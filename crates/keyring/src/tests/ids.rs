//! Proofs for ids sealed into one string each.

use proptest::prelude::*;

use super::*;
use crate::{Binding, OpenError};

proptest! {
    #[test]
    fn one_id_has_one_string_and_opens_to_itself(
        account in any_account(),
        context in any_bytes(20),
        plaintext in any_bytes(200),
    ) {
        let binding = Binding { account, context: &context };
        let keyring = keyring();
        let text = keyring.seal_id(&binding, "resp_", &plaintext).unwrap();
        let on_another_node = Keyring::new(&document(1), Arc::new(NoRandom)).unwrap();
        prop_assert_eq!(&keyring.seal_id(&binding, "resp_", &plaintext).unwrap(), &text);
        prop_assert_eq!(&on_another_node.seal_id(&binding, "resp_", &plaintext).unwrap(), &text);
        prop_assert!(text.starts_with("resp_"));
        let opened = on_another_node.open_id(&binding, "resp_", &text).unwrap();
        prop_assert_eq!(opened.reveal(), &plaintext[..]);
    }

    #[test]
    fn two_ids_or_two_bindings_have_two_strings(
        accounts in (any_account(), any_account()),
        contexts in (any_bytes(3), any_bytes(3)),
        plaintexts in (any_bytes(3), any_bytes(3)),
    ) {
        let keyring = keyring();
        let one = Binding { account: accounts.0, context: &contexts.0 };
        let other = Binding { account: accounts.1, context: &contexts.1 };
        prop_assume!((one, &plaintexts.0) != (other, &plaintexts.1));
        let one_text = keyring.seal_id(&one, "resp_", &plaintexts.0).unwrap();
        let other_text = keyring.seal_id(&other, "resp_", &plaintexts.1).unwrap();
        prop_assert_ne!(&one_text, &other_text);
        if one != other {
            let refused = keyring.open_id(&other, "resp_", &one_text).unwrap_err();
            prop_assert_eq!(refused, OpenError::Refused);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_single_flipped_bit_of_an_id_is_refused(
        account in any_account(),
        plaintext in any_bytes(60),
    ) {
        let keyring = keyring();
        let binding = Binding { account, context: b"responses" };
        let text = keyring.seal_id(&binding, "resp_", &plaintext).unwrap();
        for altered in each_text_bit_flipped(&text) {
            prop_assert!(keyring.open_id(&binding, "resp_", &altered).is_err(), "{}", altered);
        }
        let token = crate::token::read("resp_", &text).unwrap();
        for altered in each_bit_flipped(&token) {
            let altered = crate::token::spell("resp_", &altered);
            prop_assert!(keyring.open_id(&binding, "resp_", &altered).is_err(), "{}", altered);
        }
    }
}

#[test]
fn another_spelling_of_an_id_is_no_id() {
    let keyring = keyring();
    let binding = Binding::of_account(account(7), b"responses");
    let text = keyring
        .seal_id(&binding, "resp_", b"resp_upstream")
        .unwrap();
    let spellings = [
        format!("{text}="),
        format!("{text} "),
        format!(" {text}"),
        format!("{text}A"),
        text.to_uppercase(),
        text.replace("resp_", ""),
        text.replace("resp_", "resp_resp_"),
        String::new(),
        "resp_".to_owned(),
    ];
    for spelling in spellings {
        let opened = keyring.open_id(&binding, "resp_", &spelling);
        assert!(opened.is_err(), "{spelling}");
    }
}

#[test]
fn an_id_is_not_passed_off_as_another_kind() {
    let keyring = keyring();
    let binding = Binding::of_account(account(7), b"responses");
    let text = keyring.seal_id(&binding, "resp_", b"upstream").unwrap();
    let renamed = text.replace("resp_", "conv_");
    let refused = keyring.open_id(&binding, "conv_", &renamed);
    assert_eq!(refused.unwrap_err(), OpenError::Refused);
    let refused = keyring.open_id(&binding, "", &text["resp_".len()..]);
    assert_eq!(refused.unwrap_err(), OpenError::Refused);
}

#[test]
fn texts_of_every_purpose_are_refused_as_ids_and_ids_as_texts() {
    let keyring = keyring();
    let binding = Binding::of_account(account(7), b"responses");
    let id = keyring
        .seal_id(&binding, "resp_", b"a long enough upstream id")
        .unwrap();
    for purpose in Purpose::ALL {
        let text = keyring
            .seal_text(purpose, &binding, "resp_", b"upstream")
            .unwrap();
        let refused = keyring.open_id(&binding, "resp_", &text);
        assert_eq!(refused.unwrap_err(), OpenError::Refused);
        let refused = keyring.open_text(purpose, &binding, "resp_", &id);
        assert_eq!(refused.unwrap_err(), OpenError::Refused);
    }
}
