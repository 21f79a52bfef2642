//! Operators who are signed in, and what they are answered.

use aws_lc_rs::hmac::{HMAC_SHA1_FOR_LEGACY_USE_ONLY, Key, sign};
use http::Method;
use serde_json::{Value, json};
use trunkline_console::Token;
use trunkline_db::{SystemClock, Tx};
use trunkline_keyring::SystemRandom;
use trunkline_store::people::{self, NewPerson, NewSignIn, OperatorRole, PersonId};
use trunkline_testkit::random_bytes;
use trunkline_types::{Clock as _, uuid_v7};

use crate::client::Response;
use crate::customer::harness::{Browser, CustomerConsole};

const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// A second factor whose codes no test needs.
pub(crate) async fn give_second_factor(tx: &mut Tx, person: PersonId) {
    people::begin_second_factor(tx, person, b"x").await.unwrap();
    let begun = people::second_factor(tx, person, false).await.unwrap();
    let id = begun.unwrap().id;
    assert!(
        people::confirm_second_factor(tx, person, id, 0)
            .await
            .unwrap()
    );
}

impl CustomerConsole {
    /// A person who is an operator of this role, signed in, with the second factor and the password just given.
    pub(crate) async fn operator(&self, role: OperatorRole) -> Browser {
        let email = format!("{}-{}@operators.example", role.as_str(), self.number());
        self.operator_called(&email, role).await
    }

    pub(crate) async fn operator_called(&self, email: &str, role: OperatorRole) -> Browser {
        let mut tx = self.people.begin().await.unwrap();
        let new = NewPerson {
            email,
            name: "Grace",
            password: None,
            is_verified: true,
            is_operator: false,
        };
        let person = people::create_person(&mut tx, &new).await.unwrap().unwrap();
        people::put_operator(&mut tx, person, role, "a test")
            .await
            .unwrap();
        give_second_factor(&mut tx, person).await;
        let token = Token::fresh(&SystemRandom).unwrap();
        let device = NewSignIn {
            id: uuid_v7(SystemClock.now(), random_bytes()),
            token: &token.hash,
            person,
            account: None,
            is_stepped_up: true,
            address: "127.0.0.1",
            agent: "a test",
        };
        people::sign_in(&mut tx, &device).await.unwrap();
        people::note_second_factor(&mut tx, device.id)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        Browser::of(token.text.reveal())
    }

    pub(crate) async fn patch(&self, browser: &Browser, path: &str, body: Value) -> Response {
        self.send(browser, Method::PATCH, path, Some(body)).await
    }

    /// The JSON of a change that must be good.
    pub(crate) async fn done(&self, browser: &Browser, path: &str, body: Value) -> Value {
        let got = self.post(browser, path, body).await;
        assert!(got.status.is_success(), "{path}: {got:?}");
        got.json()
    }

    /// A channel that an operator adds, by its number.
    pub(crate) async fn channel(&self, operator: &Browser, name: &str, base_url: &str) -> i64 {
        let body = json!({
            "name": name,
            "provider": "simulator",
            "fields": { "base_url": base_url, "models": { "open-chat": "sim-large" } },
            "credentials": [{ "label": "main", "secret": "sk-canary-0123456789-tail" }],
        });
        let made = self.done(operator, "/api/operator/channels", body).await;
        made["id"].as_i64().unwrap()
    }

    /// The newest actions: kind, actor, action and subject.
    pub(crate) async fn actions(&self, limit: u32) -> Vec<String> {
        let statement = format!(
            "SELECT kind || ' ' || actor || ' ' || action || ' ' || subject FROM app.action_log
             ORDER BY id DESC LIMIT {limit}"
        );
        self.db.ask(&statement).await
    }
}

/// The code of a secret, so many steps of thirty seconds from a moment.
pub(crate) fn code(secret: &str, seconds: i64, steps: i64) -> String {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for digit in secret.bytes() {
        let place = ALPHABET.iter().position(|known| *known == digit).unwrap();
        bits = (bits << 5) | u32::try_from(place).unwrap();
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 255).unwrap());
        }
    }
    let step = seconds / 30 + steps;
    let key = Key::new(HMAC_SHA1_FOR_LEGACY_USE_ONLY, &bytes);
    let tag = sign(&key, &step.to_be_bytes());
    let tag = tag.as_ref();
    let offset = usize::from(tag[19] & 15);
    let four: [u8; 4] = tag[offset..offset + 4].try_into().unwrap();
    format!(
        "{:06}",
        (u32::from_be_bytes(four) & 0x7fff_ffff) % 1_000_000
    )
}
