//! Log lines: one JSON object for each event, on standard error. `serve` writes them in blocks: a write of its own
//! for each call, and a formatter that first collects every field, cost more than the pipeline's own steps.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use time::OffsetDateTime;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use trunkline_db::SystemClock;
use trunkline_types::Clock as _;

/// How long a line may wait for others.
const WAIT: Duration = Duration::from_millis(20);
/// Digits of the largest number.
const MAX_DIGITS: usize = 20;
/// With so many bytes a block is written without waiting.
const BLOCK: usize = 32 * 1024;

/// Lines that are not written yet.
#[derive(Default)]
pub(crate) struct LogBuffer {
    lines: Mutex<Vec<u8>>,
    filled: Condvar,
}

/// Writes events as lines.
pub(crate) struct JsonLines {
    buffer: Arc<LogBuffer>,
    in_blocks: bool,
}

thread_local! {
    /// The line that is being made.
    static LINE: RefCell<Line> = RefCell::default();
}

#[derive(Default)]
struct Line {
    text: Vec<u8>,
    second: Second,
}

/// A second as text. Many lines are of the same one.
#[derive(Default)]
struct Second {
    unix: i64,
    text: Vec<u8>,
}

// === impl LogBuffer ===

impl LogBuffer {
    /// Writes what is waiting.
    pub(crate) fn flush(&self) {
        write_out(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, line: &[u8], at_once: bool) {
        let mut lines = self.lock();
        let was_empty = lines.is_empty();
        lines.extend_from_slice(line);
        if at_once || lines.len() >= BLOCK {
            write_out(&mut lines);
        } else if was_empty {
            self.filled.notify_one();
        }
    }

    /// Writes blocks for as long as the process lives.
    fn write_blocks(&self) {
        loop {
            let filled = self
                .filled
                .wait_while(self.lock(), |lines| lines.is_empty());
            drop(filled.unwrap_or_else(PoisonError::into_inner));
            std::thread::sleep(WAIT);
            self.flush();
        }
    }
}

/// Under the lock, so that lines keep their order. A standard error without a reader is no reason to stop.
fn write_out(lines: &mut Vec<u8>) {
    drop(io::stderr().lock().write_all(lines));
    lines.clear();
}

// === impl JsonLines ===

impl JsonLines {
    /// Every line at once.
    pub(crate) fn direct() -> (Self, Arc<LogBuffer>) {
        Self::new(Arc::default(), false)
    }

    /// Lines in blocks, by a thread of their own. Warnings are written at once, with all lines before them.
    pub(crate) fn in_blocks() -> (Self, Arc<LogBuffer>) {
        let buffer = Arc::new(LogBuffer::default());
        let writer = Arc::clone(&buffer);
        let thread = std::thread::Builder::new().name("log".to_owned());
        let started = thread.spawn(move || writer.write_blocks());
        Self::new(buffer, started.is_ok())
    }

    fn new(buffer: Arc<LogBuffer>, in_blocks: bool) -> (Self, Arc<LogBuffer>) {
        let lines = Self {
            buffer: Arc::clone(&buffer),
            in_blocks,
        };
        (lines, buffer)
    }
}

impl<S: Subscriber> Layer<S> for JsonLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let at_once = !self.in_blocks || *event.metadata().level() <= Level::WARN;
        LINE.with(|line| match line.try_borrow_mut() {
            Ok(mut line) => {
                let Line { text, second } = &mut *line;
                write_event(text, second, event);
                self.buffer.add(text, at_once);
            }
            // A value that logs while it is formatted: its line is inside of another one's.
            Err(_) => {
                let mut line = Line::default();
                write_event(&mut line.text, &mut line.second, event);
                self.buffer.add(&line.text, at_once);
            }
        });
    }
}

fn write_event(line: &mut Vec<u8>, second: &mut Second, event: &Event<'_>) {
    let metadata = event.metadata();
    line.clear();
    line.extend_from_slice(b"{\"timestamp\":\"");
    second.write(line);
    line.extend_from_slice(b"\",\"level\":\"");
    line.extend_from_slice(metadata.level().as_str().as_bytes());
    line.extend_from_slice(b"\",\"fields\":{");
    event.record(&mut Fields { line, first: true });
    line.extend_from_slice(b"},\"target\":");
    quoted(line, metadata.target());
    line.extend_from_slice(b"}\n");
}

// === impl Second ===

impl Second {
    /// The present time, to the microsecond.
    fn write(&mut self, line: &mut Vec<u8>) {
        let now = SystemClock.now();
        if self.text.is_empty() || self.unix != now.seconds() {
            self.unix = now.seconds();
            self.text.clear();
            let at = OffsetDateTime::from_unix_timestamp(self.unix);
            let at = at.unwrap_or(OffsetDateTime::UNIX_EPOCH);
            let (year, month, day) = at.to_calendar_date();
            let month = u8::from(month);
            let (hour, minute, second) = at.to_hms();
            drop(write!(
                self.text,
                "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
            ));
        }
        line.extend_from_slice(&self.text);
        let micros = now.micros().rem_euclid(1_000_000).unsigned_abs();
        // With a one before it, so that no zero is lost.
        let from = line.len();
        decimal(line, micros.saturating_add(1_000_000));
        if let Some(point) = line.get_mut(from) {
            *point = b'.';
        }
        line.push(b'Z');
    }
}

/// The fields of an event, as members of a JSON object.
struct Fields<'a> {
    line: &'a mut Vec<u8>,
    first: bool,
}

impl Fields<'_> {
    fn name(&mut self, field: &Field) {
        if !self.first {
            self.line.push(b',');
        }
        self.first = false;
        // Identifiers, which have nothing to escape.
        let name = field.name();
        let name = name.strip_prefix("r#").unwrap_or(name);
        self.line.push(b'"');
        self.line.extend_from_slice(name.as_bytes());
        self.line.extend_from_slice(b"\":");
    }

    fn plain(&mut self, field: &Field, value: impl fmt::Display) {
        self.name(field);
        drop(write!(self.line, "{value}"));
    }
}

impl Visit for Fields<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        if value.is_finite() {
            self.plain(field, value);
        } else {
            self.plain(field, "null");
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.name(field);
        if value < 0 {
            self.line.push(b'-');
        }
        decimal(self.line, value.unsigned_abs());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.name(field);
        decimal(self.line, value);
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.plain(field, value);
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.plain(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.name(field);
        let word: &[u8] = if value { b"true" } else { b"false" };
        self.line.extend_from_slice(word);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.name(field);
        quoted(self.line, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.name(field);
        self.line.push(b'"');
        drop(write!(Escaped(self.line), "{value:?}"));
        self.line.push(b'"');
    }
}

/// A number in decimal digits. Most fields are numbers, and formatting them costs several times as much.
fn decimal(line: &mut Vec<u8>, number: u64) {
    let (mut digits, mut rest) = ([b'0'; MAX_DIGITS], number);
    let mut count = 0_usize;
    for place in digits.iter_mut().rev() {
        let digit = u8::try_from(rest.rem_euclid(10)).unwrap_or(0);
        *place = digit.saturating_add(b'0');
        rest = rest.div_euclid(10);
        count = count.saturating_add(1);
        if rest == 0 {
            break;
        }
    }
    let from = MAX_DIGITS.saturating_sub(count);
    line.extend_from_slice(digits.get(from..).unwrap_or_default());
}

fn quoted(line: &mut Vec<u8>, text: &str) {
    line.push(b'"');
    drop(Escaped(line).write_all(text.as_bytes()));
    line.push(b'"');
}

/// Text inside a JSON string.
struct Escaped<'a>(&'a mut Vec<u8>);

impl Write for Escaped<'_> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        // All are looked at, because that is one instruction for many; hardly any is escaped.
        let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
        if !text
            .iter()
            .fold(false, |found, byte| found | is_special(byte))
        {
            self.0.extend_from_slice(text);
            return Ok(text.len());
        }
        for &byte in text {
            match byte {
                b'"' => self.0.extend_from_slice(b"\\\""),
                b'\\' => self.0.extend_from_slice(b"\\\\"),
                b'\n' => self.0.extend_from_slice(b"\\n"),
                b'\r' => self.0.extend_from_slice(b"\\r"),
                b'\t' => self.0.extend_from_slice(b"\\t"),
                0..=0x1f => write!(self.0, "\\u{byte:04x}")?,
                _ => self.0.push(byte),
            }
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    /// Lines that stay in their buffer.
    fn lines(log: impl FnOnce()) -> String {
        let buffer = Arc::new(LogBuffer::default());
        let layer = JsonLines {
            buffer: Arc::clone(&buffer),
            in_blocks: true,
        };
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), log);
        String::from_utf8(buffer.lock().clone()).unwrap()
    }

    #[test]
    fn a_log_line_is_a_json_object_with_time_level_fields_and_target() {
        let before = SystemClock.now().micros();
        let text = lines(|| {
            tracing::info!(target: "trunkline::access", { http.path = "/v1/\"a\"\\\n\u{1}é", status = 200, none = None::<u64>,
                most = u64::MAX, zero = 0_u64, least = i64::MIN, charged = -5_i64, ratio = 0.5, stream = true, id = %"x\ty" }, "answered");
        });
        let line: Value = serde_json::from_str(&text).unwrap();
        let fields = json!({ "message": "answered", "http.path": "/v1/\"a\"\\\n\u{1}é", "status": 200, "most": u64::MAX,
            "zero": 0, "least": i64::MIN, "charged": -5, "ratio": 0.5, "stream": true, "id": "x\ty" });
        assert_eq!(line["fields"], fields);
        assert_eq!(
            (&line["level"], &line["target"]),
            (&json!("INFO"), &json!("trunkline::access"))
        );
        let format = time::format_description::well_known::Rfc3339;
        let written = OffsetDateTime::parse(line["timestamp"].as_str().unwrap(), &format).unwrap();
        let written = written.unix_timestamp_nanos() / 1_000;
        assert!((written - i128::from(before)).abs() < 5_000_000, "{text}");
        assert!(
            text.ends_with("}\n") && text.matches('\n').count() == 1,
            "{text}"
        );
    }
}
