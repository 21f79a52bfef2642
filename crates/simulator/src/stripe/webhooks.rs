//! Events on their way to a webhook: signed as Stripe signs, and if asked for repeated, out of order, lost or forged.

use std::io;

use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use sha2::Sha256;
use tokio::net::TcpStream;

use crate::clock;
use crate::stripe_state::{field_of, put};
use crate::tokens::hex;

/// Where events are sent, and what they are signed with.
#[derive(Clone, Debug)]
pub struct StripeWebhook {
    /// `HOST:PORT`, without TLS.
    pub address: String,
    pub path: String,
    pub secret: String,
}

/// How deliveries go wrong. Each chance is one in so many; 0 is never.
#[derive(Clone, Copy, Debug)]
pub struct StripeDeliveries {
    pub seed: u64,
    pub repeated: u64,
    pub lost: u64,
    /// A copy with a larger amount and another signature goes along.
    pub forged: u64,
    pub is_shuffled: bool,
}

/// A message that is ready to be sent.
#[derive(Clone, Debug)]
struct Message {
    body: Bytes,
    secret: String,
    /// What a forger signs with is not ours.
    is_forged: bool,
}

impl StripeDeliveries {
    /// Each event once, in order.
    #[must_use]
    pub const fn faithful() -> Self {
        Self {
            seed: 1,
            repeated: 0,
            lost: 0,
            forged: 0,
            is_shuffled: false,
        }
    }

    fn messages(mut self, events: &[Value], secret: &str) -> Vec<Message> {
        let mut messages = Vec::new();
        for event in events {
            let body = Bytes::from(event.to_string());
            let good = Message {
                body,
                secret: secret.to_owned(),
                is_forged: false,
            };
            if self.one_in(self.forged) {
                messages.push(forged(event));
            }
            if self.one_in(self.lost) {
                continue;
            }
            if self.one_in(self.repeated) {
                messages.push(good.clone());
            }
            messages.push(good);
        }
        if self.is_shuffled {
            for index in (1..messages.len()).rev() {
                let bound = u64::try_from(index).unwrap_or(0).saturating_add(1);
                let other = self.next().checked_rem(bound).unwrap_or(0);
                messages.swap(index, usize::try_from(other).unwrap_or(0));
            }
        }
        messages
    }

    fn one_in(&mut self, chance: u64) -> bool {
        let next = self.next();
        chance > 0 && next.checked_rem(chance) == Some(0)
    }

    /// xorshift64*: the same seed gives the same run.
    const fn next(&mut self) -> u64 {
        let mut x = if self.seed == 0 { 1 } else { self.seed };
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.seed = x;
        x.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }
}

impl StripeWebhook {
    /// Sends events and returns the status of each message: those that are true, then those that are forged.
    ///
    /// # Errors
    ///
    /// The webhook cannot be reached.
    pub async fn send(
        &self,
        events: &[Value],
        deliveries: StripeDeliveries,
    ) -> io::Result<(Vec<u16>, Vec<u16>)> {
        let (mut good, mut forged) = (Vec::new(), Vec::new());
        for message in deliveries.messages(events, &self.secret) {
            let status = self.send_one(&message).await?;
            let statuses = if message.is_forged {
                &mut forged
            } else {
                &mut good
            };
            statuses.push(status);
        }
        Ok((good, forged))
    }

    async fn send_one(&self, message: &Message) -> io::Result<u16> {
        let seconds = clock::seconds(clock::now_micros());
        let signature = signature(&message.secret, seconds, &message.body);
        let request = Request::post(&self.path)
            .header("host", &self.address)
            .header("content-type", "application/json; charset=utf-8")
            .header(
                "user-agent",
                "Stripe/1.0 (+https://stripe.com/docs/webhooks)",
            )
            .header("stripe-signature", signature)
            .body(Full::new(message.body.clone()))
            .map_err(io::Error::other)?;
        let stream = TcpStream::connect(&self.address).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        let exchange = async {
            let answered = sender.send_request(request).await?;
            let status = answered.status().as_u16();
            answered.into_body().collect().await?;
            drop(sender);
            Ok::<u16, hyper::Error>(status)
        };
        let (status, ended) = futures_util::future::join(exchange, connection).await;
        // How the connection ended does not matter once there is an answer.
        drop(ended);
        status.map_err(io::Error::other)
    }
}

fn signature(secret: &str, seconds: u64, body: &[u8]) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
        return String::new();
    };
    mac.update(format!("{seconds}.").as_bytes());
    mac.update(body);
    format!("t={seconds},v1={}", hex(&mac.finalize().into_bytes()))
}

/// What a thief would send: ten times the amount, under an id of its own.
fn forged(event: &Value) -> Message {
    let mut event = event.clone();
    let id = field_of(&event, "id").as_str().unwrap_or_default();
    let id = Value::from(format!("{id}f"));
    put(&mut event, "id", id);
    for field in [
        "amount",
        "amount_total",
        "amount_received",
        "amount_captured",
    ] {
        let object = event.pointer_mut("/data/object");
        let place = object.and_then(|object| object.get_mut(field));
        if let Some(place) = place
            && let Some(amount) = place.as_i64()
        {
            *place = Value::from(amount.saturating_mul(10));
        }
    }
    Message {
        body: Bytes::from(event.to_string()),
        secret: "whsec_of_a_thief".to_owned(),
        is_forged: true,
    }
}
