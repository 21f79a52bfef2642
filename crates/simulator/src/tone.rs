//! How long a text sounds, and the tone that stands for the voice: 60 milliseconds of about 440 hertz
//! for each character, divided by the speed. A test can work it out beforehand.

use std::sync::OnceLock;

use serde_json::Value;

/// How fast a text is spoken, in millionths: 1,000,000 is as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Speed(u64);

/// A text and its speed, which is all that a length depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spoken {
    pub(crate) characters: u64,
    pub(crate) speed: Speed,
}

const MILLIS_PER_CHARACTER: u64 = 60;
const MILLIONTHS: u64 = 1_000_000;
/// Digits behind the point that a speed may have.
const SPEED_DIGITS: usize = 6;
const HERTZ: u64 = 440;
/// Steps of one cycle, a power of two.
const CYCLE: u64 = 1 << 16;
const HALF_CYCLE: i64 = 1 << 15;
/// Brings the top of the curve to half of what sixteen bits hold.
const LOUDNESS_SHIFT: u32 = 14;

/// The milliseconds that the simulator speaks for a text; `speed_millionths` is 1,000,000 where no
/// speed is asked for.
#[must_use]
pub fn speech_millis(text: &str, speed_millionths: u64) -> u64 {
    Spoken::new(text, Speed(speed_millionths.max(1))).millis()
}

/// The rates at which vendors send samples, and a second of the tone at each: it repeats itself every
/// second, and hours are asked for.
static SECONDS: [(u32, OnceLock<Vec<i16>>); 6] = [
    (8_000, OnceLock::new()),
    (16_000, OnceLock::new()),
    (22_050, OnceLock::new()),
    (24_000, OnceLock::new()),
    (32_000, OnceLock::new()),
    (44_100, OnceLock::new()),
];

/// The samples from the first up to the last, which is not among them.
pub(crate) fn samples(first: u64, last: u64, rate: u32) -> impl Iterator<Item = i16> {
    let known = SECONDS.iter().find(|(known, _)| *known == rate);
    let second = known.map(|(rate, second)| {
        second.get_or_init(|| (0..u64::from(*rate)).map(|at| sample(at, *rate)).collect())
    });
    // A rate that is not listed is never asked for: there would be silence.
    let second = second.map(Vec::as_slice).unwrap_or_default();
    let from = first.checked_rem(rate.into()).unwrap_or(0);
    let from = usize::try_from(from).unwrap_or(0);
    let count = usize::try_from(last.saturating_sub(first)).unwrap_or(0);
    second.iter().cycle().skip(from).take(count).copied()
}

/// One sample of the tone: a parabola for each half of a cycle, which sounds like a sine.
fn sample(index: u64, rate: u32) -> i16 {
    let steps = index.saturating_mul(HERTZ).saturating_mul(CYCLE);
    let place = steps.checked_div(rate.into()).unwrap_or(0) % CYCLE;
    let place = i64::try_from(place).unwrap_or(0).saturating_sub(HALF_CYCLE);
    let curve = place.saturating_mul(HALF_CYCLE.saturating_sub(place.abs()));
    i16::try_from(curve >> LOUDNESS_SHIFT).unwrap_or(0)
}

// === impl Speed ===

impl Speed {
    pub(crate) const ONE: Self = Self(MILLIONTHS);

    pub(crate) const fn hundredths(hundredths: u64) -> Self {
        Self(hundredths.saturating_mul(10_000))
    }

    pub(crate) const fn millionths(self) -> u64 {
        self.0
    }

    /// A number as it stands in a body; none if it is no number or has too many digits.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let Value::Number(number) = value else {
            return None;
        };
        let text = number.to_string();
        let (whole, rest) = text.split_once('.').unwrap_or((&text, "0"));
        if rest.len() > SPEED_DIGITS {
            return None;
        }
        let millionths: u64 = format!("{rest:0<SPEED_DIGITS$}").parse().ok()?;
        let whole: u64 = whole.parse().ok()?;
        let speed = whole.checked_mul(MILLIONTHS)?.checked_add(millionths)?;
        (speed > 0).then_some(Self(speed))
    }
}

// === impl Spoken ===

impl Spoken {
    pub(crate) fn new(text: &str, speed: Speed) -> Self {
        Self {
            characters: crate::tokens::count(text.chars().count()),
            speed,
        }
    }

    pub(crate) fn millis(self) -> u64 {
        self.samples(1_000)
    }

    /// Samples of each channel at this rate.
    pub(crate) fn samples(self, rate: u32) -> u64 {
        let units = self
            .characters
            .saturating_mul(MILLIS_PER_CHARACTER)
            .saturating_mul(rate.into())
            .saturating_mul(MILLIONTHS / 1_000);
        units.checked_div(self.speed.0).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_sixty_milliseconds_divided_by_the_speed() {
        assert_eq!(speech_millis("hello", MILLIONTHS), 300);
        assert_eq!(speech_millis("hello", 4 * MILLIONTHS), 75);
        assert_eq!(speech_millis("你好", 500_000), 240);
        assert_eq!(Spoken::new("hello", Speed::ONE).samples(24_000), 7_200);
    }

    #[test]
    fn a_speed_is_read_with_its_digits() {
        let read = |text: &str| Speed::read(&serde_json::from_str(text).unwrap());
        assert_eq!(read("1"), Some(Speed::ONE));
        assert_eq!(read("0.25"), Some(Speed::hundredths(25)));
        assert_eq!(read("1.5"), Some(Speed(1_500_000)));
        for wrong in ["0", "-1", "\"1\"", "null", "0.12345678"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_tone_crosses_zero_880_times_a_second_and_is_loud() {
        let samples: Vec<i16> = (0..24_000).map(|index| sample(index, 24_000)).collect();
        let crossings = samples
            .windows(2)
            .filter(|pair| (pair[0] < 0) != (pair[1] < 0));
        assert!((878..=881).contains(&crossings.count()));
        assert!(samples.iter().any(|sample| *sample > 16_000));
    }

    #[test]
    fn a_piece_of_the_tone_is_the_tone_from_there_on() {
        for (rate, first, last) in [(24_000, 4_800, 9_600), (44_100, 88_000, 97_000)] {
            let piece: Vec<i16> = samples(first, last, rate).collect();
            let alone: Vec<i16> = (first..last).map(|at| sample(at, rate)).collect();
            assert_eq!(piece, alone);
        }
    }
}
