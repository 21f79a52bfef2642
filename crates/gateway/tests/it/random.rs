//! Random models and random requests, all from one seed.

use serde_json::{Map, Value, json};

/// Texts of all kinds: short, long, wide, joined, of spaces, of signs that JSON escapes.
const WORDS: [&str; 16] = [
    "word ",
    "a ",
    "antidisestablishmentarianism ",
    "\"quoted\\\" ",
    "line\nnext\t",
    "        ",
    "量子力学的基本原理",
    "こんにちは、世界。",
    "🙂🚀👩\u{200d}👩\u{200d}👧",
    "e\u{301}o\u{308}u\u{30a}",
    "Ünïcödé ",
    "{\"key\": [1, 2, 3]} ",
    "0123456789",
    "مرحبا بالعالم ",
    "fn main() {} ",
    "\u{7f}\u{1f}",
];
const EXTRA_FACES: [&str; 7] = [
    "cache_read",
    "cache_write",
    "cache_write_1h",
    "image_input",
    "image_output",
    "audio_input",
    "audio_output",
];
pub(crate) const GROUPS: [(&str, &str); 3] = [("default", "1"), ("odd", "1.33"), ("third", "1/3")];
/// Tokens of a model whose record does not say.
const UNKNOWN_MOST: u64 = 8_192;

/// Splitmix64: small, and the same everywhere.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

/// What a test must know of a model to ask it something.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) groups: Vec<&'static str>,
    /// Its record.
    pub(crate) entry: Value,
    reasons: bool,
    most: Option<u64>,
    service_tiers: Vec<&'static str>,
}

/// A request, and whether it has a field that no list has.
#[derive(Debug, Clone)]
pub(crate) struct RandomRequest {
    pub(crate) body: String,
    pub(crate) is_stray: bool,
}

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below a number.
    pub(crate) const fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// So many times of a hundred.
    pub(crate) const fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let place = self.below(from.len() as u64);
        from[place as usize]
    }

    fn price(&mut self) -> u64 {
        match self.below(10) {
            0 => 0,
            1 | 2 => self.below(1_000),
            3..=7 => self.below(10_000_000),
            _ => 100_000 * (1 + self.below(100)),
        }
    }

    /// An answer without a price is not sold.
    fn price_of(&mut self, face: &str) -> u64 {
        let least = if face == "output" { 1_000 } else { 0 };
        self.price().max(least)
    }

    fn text(&mut self) -> String {
        let words = match self.below(100) {
            0..60 => self.below(12),
            60..90 => self.below(80),
            90..99 => self.below(600),
            _ => self.below(6_000),
        };
        (0..words).map(|_| self.pick(&WORDS)).collect()
    }

    /// One of many models.
    pub(crate) fn model(&mut self, number: usize) -> Model {
        let reasons = self.percent(25);
        let name = if reasons {
            format!("sim-reason-{number}")
        } else {
            format!("sim-pair-{number}")
        };
        let mut groups: Vec<&str> = GROUPS.iter().map(|(name, _)| *name).collect();
        groups.retain(|_| self.percent(70));
        if groups.is_empty() {
            groups.push("third");
        }
        let most = self.percent(50).then(|| 16 + self.below(4_000));
        let per_call = self.percent(20);
        let mut service_tiers = vec!["priority", "flex"];
        service_tiers.retain(|_| self.percent(40));
        let prices = self.prices(per_call, &service_tiers);
        let mut entry = json!({ "groups": groups, "prices": prices });
        if reasons {
            entry["tasks"] = json!(["chat", "reasoning"]);
        }
        if let Some(most) = most {
            entry["specs"] = json!({ "max_output_tokens": most });
        }
        Model {
            name,
            groups,
            entry,
            reasons,
            most,
            service_tiers,
        }
    }

    /// A default tier and every meeting of the conditions, so that none overlap.
    fn prices(&mut self, per_call: bool, service_tiers: &[&str]) -> Value {
        let names: Vec<&str> = if per_call {
            vec!["per_call"]
        } else {
            let extra = EXTRA_FACES.into_iter().filter(|_| self.percent(50));
            ["input", "output"].into_iter().chain(extra).collect()
        };
        let base: Vec<(&str, u64)> = names
            .into_iter()
            .map(|face| (face, self.price_of(face) * if per_call { 1_000 } else { 1 }))
            .collect();
        let has_paid = self.percent(50);
        let thresholds: Vec<u64> = if per_call {
            Vec::new()
        } else {
            let mut some = vec![10 + self.below(60), 100 + self.below(3_000)];
            some.truncate(self.below(3) as usize);
            some
        };
        // Three lengths, three service tiers and two kinds of hours would be more tiers than a list may have.
        let has_capacity = (thresholds.len() + 1) * (service_tiers.len() + 1) < 9;
        let window = (self.percent(40) && has_capacity).then(|| self.window());
        let columns = |factor: u64| {
            let all = |up: u64, down: u64| -> Map<String, Value> {
                let each = base.iter();
                each.map(|(face, price)| ((*face).to_owned(), json!(price * factor * up / down)))
                    .collect()
            };
            let paid = has_paid.then(|| all(3, 4));
            (json!(all(1, 1)), json!(paid))
        };
        let mut tiers = Vec::new();
        for context in 0..=thresholds.len() {
            for service in 0..=service_tiers.len() {
                for open in 0..=usize::from(window.is_some()) {
                    let mut when = Vec::new();
                    if context > 0 {
                        let over = thresholds[context - 1];
                        when.push(json!({ "dim": "context_len", "context_len_gt": over }));
                    }
                    if service > 0 {
                        let word = service_tiers[service - 1];
                        when.push(
                            json!({ "dim": "request_attr", "path": "service_tier", "equals": word }),
                        );
                    }
                    when.extend(window.clone().filter(|_| open > 0));
                    if when.is_empty() {
                        continue;
                    }
                    let factor =
                        (context as u64 + 1) * (service as u64 * 2 + 1) * (open as u64 + 1);
                    let (standard, paid) = columns(factor);
                    let name = format!("c{context}s{service}w{open}");
                    tiers.push(
                        json!({ "tier": name, "standard": standard, "paid": paid, "when": when }),
                    );
                }
            }
        }
        let (standard, paid) = columns(1);
        let unit = if per_call { "per_call" } else { "tokens" };
        json!({ "billing_unit": unit, "standard": standard, "paid": paid, "tiers": tiers })
    }

    /// Eight hours of working days somewhere.
    fn window(&mut self) -> Value {
        let zone = self.pick(&["UTC", "Asia/Shanghai", "America/New_York"]);
        let first = self.below(12);
        let hours: Vec<u64> = (first..first + 8).collect();
        json!({ "dim": "wall_clock", "timezone": zone, "weekdays": [1, 2, 3, 4, 5], "hours": hours })
    }

    /// A request to a model.
    pub(crate) fn case(&mut self, model: &Model) -> RandomRequest {
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(model.name));
        let mut set = |name: &str, value: Value| drop(body.insert(name.to_owned(), value));
        let choices = if self.percent(20) {
            1 + self.below(4)
        } else {
            1
        };
        if choices > 1 {
            set("n", json!(choices));
        }
        let stream = self.percent(50);
        if stream || self.percent(10) {
            set("stream", json!(stream));
        }
        if stream && self.percent(30) {
            set(
                "stream_options",
                json!({ "include_usage": self.percent(50) }),
            );
        }
        let most = model.most.unwrap_or(UNKNOWN_MOST);
        let cap = self.percent(55).then(|| 1 + self.below(most));
        if let Some(cap) = cap {
            let older = !model.reasons && self.percent(50);
            let word = if older {
                "max_tokens"
            } else {
                "max_completion_tokens"
            };
            set(word, json!(cap));
        }
        self.fields(model, &mut set);
        let is_stray = self.percent(3);
        if is_stray {
            set("max_output_tokens_please", json!(3));
        }
        // An upstream without a limit of its own to keep to must have a model whose record is true.
        let keeps_to = (stream && cap.is_none()).then_some(model.most).flatten();
        let tools = self.percent(20);
        let shape = self.below(12);
        let end = self.directives(keeps_to, tools);
        if tools {
            set("tools", self.tools());
        }
        match shape {
            0 => set("response_format", json!({ "type": "json_object" })),
            1 => set("response_format", self.schema()),
            _ => {}
        }
        let messages = self.messages(shape == 0, &end);
        set("messages", messages);
        let body = self.written(&Value::Object(body));
        RandomRequest { body, is_stray }
    }

    fn fields(&mut self, model: &Model, set: &mut impl FnMut(&str, Value)) {
        if self.percent(50) {
            let mut words = vec!["auto", "default"];
            words.extend(&model.service_tiers);
            words.extend(&model.service_tiers);
            set("service_tier", json!(self.pick(&words)));
        }
        if self.percent(10) {
            set("previous_response_id", json!("resp_1"));
        }
        if self.percent(10) {
            set(
                "reasoning_effort",
                json!(self.pick(&["low", "medium", "high"])),
            );
        }
        if self.percent(10) {
            set("seed", json!(self.below(1_000)));
        }
        if self.percent(10) {
            set(
                "metadata",
                json!({ "note": "x".repeat(self.below(400) as usize) }),
            );
        }
        if self.percent(10) && !model.reasons {
            set("temperature", json!(0.5));
        }
    }

    /// What the simulator is asked to answer.
    fn directives(&mut self, keeps_to: Option<u64>, tools: bool) -> String {
        let mut left = keeps_to.unwrap_or(match self.below(40) {
            0 => 12_000,
            1..=6 => 3_000,
            _ => 100,
        });
        let mut end = String::new();
        if self.percent(25) {
            let thinking = self.below(left + 1).min(2_000);
            left -= thinking;
            end.push_str(&format!("[[reasoning:{thinking}]]"));
        }
        // Without a limit it answers with as many as it was asked in.
        if keeps_to.is_some() || self.percent(80) {
            end.push_str(&format!("[[tokens:{}]]", self.below(left + 1)));
        }
        if self.percent(30) {
            end.push_str(&format!("[[cached:{}]]", self.below(400)));
        }
        // A call of a tool has its own length.
        if tools && keeps_to.is_none() && self.percent(50) {
            end.push_str("[[tool:look_up]]");
        }
        end
    }

    fn messages(&mut self, says_json: bool, end: &str) -> Value {
        let mut all = Vec::new();
        if self.percent(40) {
            all.push(json!({ "role": "system", "content": self.text() }));
        }
        for _ in 0..self.below(4) {
            all.push(json!({ "role": "user", "content": self.text() }));
            all.push(json!({ "role": "assistant", "content": self.text() }));
        }
        let marker = if says_json { "as json " } else { "" };
        let text = format!("{} {marker}{end}", self.text());
        if self.percent(20) {
            let mut parts = vec![json!({ "type": "text", "text": text })];
            for _ in 0..self.below(3) {
                let bytes = self.below(60_000) as usize;
                let url = format!("data:image/png;base64,{}", "iVBORw0K".repeat(bytes / 8));
                parts.push(json!({ "type": "image_url", "image_url": { "url": url } }));
            }
            all.push(json!({ "role": "user", "content": parts }));
        } else {
            all.push(json!({ "role": "user", "content": text }));
        }
        json!(all)
    }

    fn tools(&mut self) -> Value {
        let one = |name: String, about: String| {
            json!({ "type": "function", "function": { "name": name, "description": about,
                "parameters": { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] } } })
        };
        let mut all = vec![one("look_up".to_owned(), self.text())];
        for number in 0..self.below(5) {
            all.push(one(format!("tool_{number}"), self.text()));
        }
        json!(all)
    }

    fn schema(&mut self) -> Value {
        json!({ "type": "json_schema", "json_schema": { "name": "person", "strict": true, "schema": {
            "type": "object", "additionalProperties": false, "required": ["name"],
            "properties": { "name": { "type": "string", "description": self.text() } } } } })
    }

    /// The same body as different clients write it.
    fn written(&mut self, body: &Value) -> String {
        match self.below(10) {
            0 => serde_json::to_string_pretty(body).unwrap(),
            1 => ascii(&body.to_string()),
            2 => body
                .to_string()
                .replace("\"role\":", &format!("\"role\":{}", " ".repeat(600))),
            _ => body.to_string(),
        }
    }
}

/// JSON with every wide character as an escape.
fn ascii(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            all.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            all.push_str(&format!("\\u{unit:04x}"));
        }
    }
    all
}
