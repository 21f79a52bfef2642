//! Realtime sessions, whose vendor may lie: each response is charged what it used, as far as there is money.

use std::sync::Arc;

use serde_json::{Value, json};
use trunkline_simulator::RealtimeUsage;

use super::books::Books;
use super::payers::{Means, Payer};
use crate::random::Dice;
use crate::realtime::harness::{Client, PATH, cost, price};
use crate::test_gateway::TestGateway;

/// A conversation in text.
#[derive(Debug)]
pub(super) struct Session {
    turns: Vec<String>,
}

/// The same when it is over.
#[derive(Debug)]
pub(super) struct Talked {
    means: Means,
    payer: Payer,
    /// What each response was said to have used, at our prices, and to have cost.
    responses: Vec<Response>,
}

#[derive(Debug)]
struct Response {
    /// None where the vendor has not said it.
    used: Option<i64>,
    charged: i64,
}

impl Session {
    pub(super) fn draw(dice: &mut Dice) -> (Self, Means) {
        let turn = |dice: &mut Dice| {
            let (tokens, factor) = (1 + dice.below(60), dice.pick(&[1, 1, 3, 200, 1_000_000]));
            format!("Go on [[tokens:{tokens}]] [[fault:lying_usage:{factor}]]")
        };
        let turns = (0..1 + dice.below(3)).map(|_| turn(dice)).collect();
        let wallet = 20_000_000 + dice.below(1_000_000_000) as i64;
        (Self { turns }, Means::only(wallet))
    }

    pub(super) async fn go(self, means: Means, payer: Payer, harness: Arc<TestGateway>) -> Talked {
        let bearer = format!("Bearer {}", payer.key);
        let headers = [("authorization", bearer.as_str())];
        let responses = match harness.connect_as(PATH, &headers).await {
            Ok(client) => self.talk(client).await,
            Err(refused) => {
                assert_eq!(refused.status, 402, "{means:?} {refused:?}");
                Vec::new()
            }
        };
        Talked {
            means,
            payer,
            responses,
        }
    }

    async fn talk(self, mut client: Client) -> Vec<Response> {
        let session = json!({
            "type": "realtime", "output_modalities": ["text"], "instructions": "Answer.",
            "audio": { "input": { "turn_detection": null } },
        });
        let update = json!({ "type": "session.update", "session": session });
        client.send(update).await;
        let mut responses = Vec::new();
        if client.next().await.is_err() {
            return responses;
        }
        for text in self.turns {
            client.write(&text).await;
            client.send(json!({ "type": "response.create" })).await;
            loop {
                // It ends when the money does.
                let Ok(event) = client.next().await else {
                    return responses;
                };
                if event["type"] == "response.done" {
                    responses.push(Response::of(&event));
                    break;
                }
            }
        }
        client.close().await;
        responses
    }
}

impl Response {
    fn of(event: &Value) -> Self {
        let usage = &event["response"]["usage"];
        let count = |details: &str, face: &str| usage[details][face].as_u64().unwrap_or(0);
        let cached = |face: &str| {
            let details = &usage["input_token_details"]["cached_tokens_details"];
            details[face].as_u64().unwrap_or(0)
        };
        let (input, output) = ("input_token_details", "output_token_details");
        let used = RealtimeUsage {
            input_text: count(input, "text_tokens"),
            input_audio: count(input, "audio_tokens"),
            cached_text: cached("text_tokens"),
            cached_audio: cached("audio_tokens"),
            output_text: count(output, "text_tokens"),
            output_audio: count(output, "audio_tokens"),
            ..RealtimeUsage::default()
        };
        Self {
            used: usage.is_object().then(|| price(&used)),
            charged: cost(event),
        }
    }
}

impl Talked {
    /// True if there was an answer.
    pub(super) fn check(&self, books: &Books) -> bool {
        let mut left = self.means.money();
        for response in &self.responses {
            let due = response.used.unwrap_or(response.charged).min(left);
            assert_eq!(response.charged, due, "{self:?}");
            left -= due;
        }
        assert_eq!(books.balance(self.payer.account), left, "{self:?}");
        !self.responses.is_empty()
    }
}
