//! Images, speech, transcripts, social data, videos and realtime sessions: served if the most that they can cost
//! is free and within all limits, and then charged what was made, by prices that are worked out here.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use serde_json::{Map, Value, json};
use trunkline_social::Cell;

use super::books::Books;
use super::payers::{Means, Payer};
use super::sessions::{Session, Talked};
use super::{Answered, Call, TEXTS, background, patient, seeded, spend};
use crate::generation::form::{Form, content_type, wav};
use crate::generation::harness::{CHARACTER, PICTURE};
use crate::random::Dice;
use crate::social::harness::{cells, needed, pair, path, price, query, records};
use crate::test_gateway::{TestGateway, TestOptions};
use crate::videos::{MONEY, furnished, quick};

/// One second of a recording, in nano-USD.
const SECOND: i64 = 100_000;
/// Samples in it.
const RATE: u64 = 8_000;
/// One second of the videos below.
const VIDEO_SECOND: i64 = 100_000_000;
const NATIVE_SECOND: i64 = 80_000_000;
/// Seconds of clips that the simulator has.
const LENGTHS: [u64; 4] = [2, 3, 7, 14];
/// The longest reference clip.
const LONGEST_CLIP: i64 = 30;
/// A private address, which the guarded fetcher refuses.
const PRIVATE: &str = "http://10.0.0.1";

/// A call and its price.
#[derive(Debug)]
struct Order {
    call: Call,
    /// The most it can cost.
    most: i64,
    /// What it comes to.
    used: i64,
    /// Trial credit does not pay for it.
    paid_only: bool,
}

/// A case of any operation.
enum Case {
    Order(Order),
    Session(Session),
}

/// How it went.
enum Done {
    Order(Ordered),
    Session(Talked),
}

/// A call that was answered.
#[derive(Debug)]
struct Ordered {
    order: Order,
    means: Means,
    payer: Payer,
    answered: Answered,
}

impl Order {
    fn post(path: &str, body: &Value, cost: i64) -> Self {
        Self {
            call: Call {
                method: Method::POST,
                path: path.to_owned(),
                content_type: None,
                body: Bytes::from(body.to_string()),
                quote: json!({ "endpoint": path, "body": body }),
            },
            most: cost,
            used: cost,
            paid_only: false,
        }
    }

    /// Pictures, of which the first may fail. What the vendor says of its usage does not count.
    fn images(dice: &mut Dice) -> Self {
        let model = dice.pick(&["brush", "mini-brush", "wen-brush", "sea-brush"]);
        let count = 1 + dice.below(4);
        let mut prompt = dice.pick(&TEXTS).repeat(1 + dice.below(9) as usize);
        let mut fails = 0;
        match dice.below(3) {
            0 if count > 1 => {
                fails = 1 + dice.below(count - 1);
                prompt.push_str(&format!(" [[image:fail_some:{fails}]]"));
            }
            1 => prompt.push_str(" [[fault:lying_usage:1000]]"),
            _ => {}
        }
        let body = json!({ "model": model, "prompt": prompt, "n": count });
        let cost = |count: u64| PICTURE * count as i64;
        Self {
            used: cost(count - fails),
            ..Self::post("/v1/images/generations", &body, cost(count))
        }
    }

    fn edit(dice: &mut Dice) -> Self {
        let model = dice.pick(&["wen-brush", "sea-brush"]);
        let prompt = dice.pick(&TEXTS).repeat(1 + dice.below(9) as usize);
        let image = "https://pictures.example.com/cat.png";
        let body = json!({ "model": model, "prompt": prompt, "image": image });
        Self::post("/v1/images/edits", &body, PICTURE)
    }

    fn speech(dice: &mut Dice) -> Self {
        let (model, voice) = dice.pick(&[
            ("voice", "alloy"),
            ("mini-voice", "English_expressive_narrator"),
            ("wen-voice", "Cherry"),
        ]);
        let mut text = dice.pick(&TEXTS).repeat(1 + dice.below(9) as usize);
        if dice.percent(30) {
            text.push_str(" [[fault:lying_usage:1000]]");
        }
        let cost = CHARACTER * text.chars().count() as i64;
        let body = json!({ "model": model, "input": text, "voice": voice });
        Self::post("/v1/audio/speech", &body, cost)
    }

    fn transcript(dice: &mut Dice) -> Self {
        let model = dice.pick(&["ears", "glm-ears", "wen-ears"]);
        // A tenth of a second is the least that vendors take.
        let samples = RATE / 10 + dice.below(4 * RATE);
        let seconds = samples.div_ceil(RATE);
        let form = Form::default().text("model", model).file(
            "file",
            "a.wav",
            "audio/wav",
            &wav(samples as u32),
        );
        let body = json!({ "model": model, "file": { "seconds": seconds } });
        let path = "/v1/audio/transcriptions";
        let mut order = Self::post(path, &body, SECOND * seconds as i64);
        order.call.content_type = Some(content_type());
        order.call.body = form.bytes();
        order
    }

    fn social(dice: &mut Dice, cells: &[Arc<Cell>]) -> Self {
        let cell = &cells[dice.below(cells.len() as u64) as usize];
        let names = needed(cell);
        let params: Map<String, Value> = names
            .iter()
            .map(|name| {
                let example = cell.param(name).unwrap().example.clone();
                (name.clone(), json!(example))
            })
            .collect();
        let place = pair(cell);
        let cost = price(cell).nanos();
        Self {
            call: Call {
                method: Method::GET,
                path: path(&place, &query(cell, &names)),
                content_type: None,
                body: Bytes::new(),
                quote: json!({ "endpoint": path(&place, ""), "body": params }),
            },
            most: cost,
            used: cost,
            paid_only: true,
        }
    }

    /// Videos from a text, with a clip that is measured, and with one that only the vendor can fetch.
    fn video(dice: &mut Dice, media: &str) -> Self {
        let length = dice.pick(&LENGTHS);
        let clip = |place: &str| format!("{place}/_media/clip-{length}s.mp4");
        let length = length as i64;
        let made = "/v1/videos";
        match dice.below(4) {
            0 => {
                let seconds = 2 + dice.below(14);
                let body = json!({ "model": "wan2.7-t2v", "prompt": "x", "duration": seconds });
                Self::post(made, &body, VIDEO_SECOND * seconds as i64)
            }
            1 => {
                let url = clip(media);
                let body = json!({ "model": "wan2.7-r2v", "prompt": "x", "video_url": url });
                Self::post(made, &body, VIDEO_SECOND * (5 + length))
            }
            2 => {
                let url = clip(media);
                let body = json!({ "model": "MiniMax-H3", "prompt": "x", "video_url": url, "duration": 4 });
                Self::post(made, &body, NATIVE_SECOND * (4 + length))
            }
            _ => {
                let url = clip(PRIVATE);
                let body = json!({ "model": "wan2.7-r2v", "prompt": "x", "video_url": url });
                Self {
                    used: VIDEO_SECOND * (5 + length),
                    ..Self::post(made, &body, VIDEO_SECOND * (5 + LONGEST_CLIP))
                }
            }
        }
    }

    /// Amounts around what it costs, to the nano-dollar.
    fn means(&self, dice: &mut Dice) -> Means {
        let near = |dice: &mut Dice| {
            let any = self.most / 2 + dice.below(self.most as u64) as i64;
            let exact = [self.most - 1, self.most, self.most + 1];
            let near = dice.pick(&[any, any, exact[0], exact[1], exact[2]]);
            near.max(1)
        };
        Means::draw(dice, 20, near)
    }

    async fn go(self, means: Means, payer: Payer, harness: Arc<TestGateway>) -> Ordered {
        let answered = self.call.send(means, &payer, &harness).await;
        Ordered {
            order: self,
            means,
            payer,
            answered,
        }
    }
}

impl Ordered {
    /// True if it was served.
    fn check(&self, books: &Books) -> bool {
        let (most, used) = (self.order.most, self.order.used);
        let spent = books.spent(&self.payer, self.means);
        if let Some(maximum) = self.answered.maximum {
            assert_eq!(maximum, most, "{self:?}");
        }
        let money = if self.order.paid_only {
            self.means.paid
        } else {
            self.means.money()
        };
        if most > self.means.least_of(money) {
            assert_eq!((self.answered.status, spent), (402, 0), "{self:?}");
            return false;
        }
        let text = &self.answered.text;
        assert_eq!(self.answered.status, 200, "{text}: {self:?}");
        let row = books.row(self.answered.request.unwrap());
        assert_eq!((row.charged, spent), (used, used), "{self:?} {row:?}");
        true
    }
}

impl Case {
    fn draw(dice: &mut Dice, cells: &[Arc<Cell>], media: &str) -> (Self, Means) {
        let order = match dice.below(20) {
            0..5 => Order::images(dice),
            5 => Order::edit(dice),
            6..9 => Order::speech(dice),
            9..12 => Order::transcript(dice),
            12..16 => Order::social(dice, cells),
            16..18 => Order::video(dice, media),
            _ => {
                let (session, means) = Session::draw(dice);
                return (Self::Session(session), means);
            }
        };
        let means = order.means(dice);
        (Self::Order(order), means)
    }

    async fn go(self, means: Means, payer: Payer, harness: Arc<TestGateway>) -> Done {
        match self {
            Self::Order(order) => Done::Order(order.go(means, payer, harness).await),
            Self::Session(session) => Done::Session(session.go(means, payer, harness).await),
        }
    }
}

impl Done {
    fn check(&self, books: &Books) -> bool {
        match self {
            Self::Order(order) => order.check(books),
            Self::Session(session) => session.check(books),
        }
    }
}

/// A gateway that sells all of it.
async fn shop() -> TestGateway {
    let harness = TestGateway::build(TestOptions {
        settings: quick(),
        ledger: patient(),
        paid: MONEY,
        own_links: true,
        ..TestOptions::default()
    })
    .await;
    let harness = furnished(harness).await;
    harness.sell_generation("made by ").await;
    harness.sell_realtime().await;
    harness.sell(&records(cells().all())).await;
    harness.source("source").await;
    harness
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_charges_what_it_made_within_money_caps_and_limits() {
    let (mut dice, cases) = seeded("operations", 3);
    let harness = Arc::new(Box::pin(shop()).await);
    let _background = background(&harness);
    let cells: Vec<Arc<Cell>> = cells().all().cloned().collect();
    let media = format!("http://{}", harness.simulator.address());
    let draw = || Case::draw(&mut dice, &cells, &media);
    let all = spend(&harness, cases, draw, Case::go).await;
    let books = Books::at_rest(&harness).await;
    let served = all.iter().filter(|it| it.check(&books)).count();
    println!("{served} of {cases} were served");
    assert!(served * 5 > all.len(), "too few to say anything");
    println!("figures: requests={cases}");
}
