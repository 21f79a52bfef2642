//! Bodies of the console's requests: a refusal is short and quotes no value, and no field is taken that is not known.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::de::DeserializeOwned;
use serde_json::Value;
use trunkline_fuzz::chosen;

use crate::source::json_reader::read_json;
use crate::source::request_bodies as bodies;

/// The modules alone: their crate needs an HTTP server and a database, which take minutes to build.
#[path = "../../crates/console/src"]
#[expect(dead_code, reason = "the crate reads the fields")]
mod source {
    pub(crate) mod json_reader;
    pub(crate) mod request_bodies;
}

const MAX_MESSAGE_CHARS: usize = 300;
/// In no text of ours and in no name of a field: if a message has it, it was sent.
const FOREIGN: char = 'Z';
const UNKNOWN: &str = "no such field";

const CHECKS: [fn(&[u8]); 25] = [
    check::<bodies::SetupBody>,
    check::<bodies::SignInBody>,
    check::<bodies::SwitchBody>,
    check::<bodies::StepUpBody>,
    check::<bodies::DevSessionBody>,
    check::<bodies::SignUpBody>,
    check::<bodies::VerifyBody>,
    check::<bodies::EmptyBody>,
    check::<bodies::ForgotBody>,
    check::<bodies::ResetBody>,
    check::<bodies::NameBody>,
    check::<bodies::ChangePasswordBody>,
    check::<bodies::RoleBody>,
    check::<bodies::InviteBody>,
    check::<bodies::InvitationToken>,
    check::<bodies::AcceptBody>,
    check::<bodies::NewBudget>,
    check::<bodies::NewKey>,
    check::<bodies::KeyChange>,
    check::<bodies::RotateBody>,
    check::<bodies::BudgetsBody>,
    check::<bodies::LowBalanceThreshold>,
    check::<bodies::RedeemBody>,
    check::<bodies::CheckoutBody>,
    check::<bodies::AutomaticTopUpBody>,
];

fuzz_target!(|data: &[u8]| {
    if let Some(([kind], bytes)) = chosen(data) {
        CHECKS[usize::from(kind) % CHECKS.len()](bytes);
    }
});

fn check<T: DeserializeOwned>(bytes: &[u8]) {
    let value = serde_json::from_slice::<Value>(bytes);
    match (read_json::<T>(bytes), value) {
        (Ok(_), Ok(Value::Object(mut fields))) => {
            fields.insert(UNKNOWN.to_owned(), Value::Null);
            let more = Value::Object(fields).to_string();
            assert!(read_json::<T>(more.as_bytes()).is_err(), "{more} is taken");
        }
        (Err(text), value) => {
            assert!(text.chars().count() <= MAX_MESSAGE_CHARS, "{text}");
            if let Ok(value) = value {
                let is_named = !text.contains(FOREIGN) || has_key_with(&value, FOREIGN);
                assert!(is_named, "a value is told: {text}");
            }
        }
        (Ok(_), Ok(_) | Err(_)) => {}
    }
}

fn has_key_with(value: &Value, letter: char) -> bool {
    match value {
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| key.contains(letter) || has_key_with(value, letter)),
        Value::Array(list) => list.iter().any(|value| has_key_with(value, letter)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
