//! Values that people type. What is wrong here is said by clap, with exit code 2.

use std::str::FromStr;

use trunkline_types::{Money, Timestamp};

use crate::times;

/// Longest life of a key in days, a hundred years.
const MAX_DAYS: u32 = 36_500;

/// A limit in USD, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit(pub(crate) Option<Money>);

/// When a key ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// So many days from its making.
    Days(u32),
    /// At a moment.
    At(Timestamp),
}

/// A name and where its secret is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Labelled {
    /// What people call it.
    pub(crate) label: String,
    /// A file or a variable.
    pub(crate) place: String,
}

/// Two texts with an equals sign between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pair(pub(crate) String, pub(crate) String);

/// The label of a credential that was given none.
const ONLY_LABEL: &str = "main";

/// Something of a kind, or the word `none`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrNone<T>(pub(crate) Option<T>);

/// Why a value was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ValueError {
    #[error(
        "an account is named by its number, such as 1000; `trunkline account create` prints it"
    )]
    Account,
    #[error("a key is named by its number, such as 7; `trunkline key list` shows it")]
    Key,
    #[error("{0}")]
    Money(#[from] trunkline_types::MoneyError),
    #[error("the amount must be more than 0")]
    Nothing,
    #[error("a limit is 0 or more, or none")]
    Negative,
    #[error(
        "neither a number of days from 1 to {MAX_DAYS} nor a moment such as 2027-01-31T12:00:00Z"
    )]
    Expiry,
    #[error("must be a whole number and a unit (s, m, h or d), such as 90s or 1h")]
    Lifetime,
    #[error("must be a name, or a label, an equals sign and a name")]
    Label,
    #[error("must be a name, an equals sign and a value")]
    Pair,
    #[error("must be a number above 0, or none")]
    NumberOrNone,
}

/// `LABEL=PLACE`, or a place alone.
pub(super) fn labelled(text: &str) -> Result<Labelled, ValueError> {
    let (label, place) = text.split_once('=').unwrap_or((ONLY_LABEL, text));
    if label.is_empty() || place.is_empty() {
        return Err(ValueError::Label);
    }
    Ok(Labelled {
        label: label.to_owned(),
        place: place.to_owned(),
    })
}

/// `NAME=VALUE`.
pub(super) fn pair(text: &str) -> Result<Pair, ValueError> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok(Pair(name.to_owned(), value.to_owned()))
        }
        Some(_) | None => Err(ValueError::Pair),
    }
}

/// `PUBLIC=UPSTREAM`, or one name for both.
pub(super) fn model(text: &str) -> Result<Pair, ValueError> {
    if text.contains('=') {
        return pair(text);
    }
    Ok(Pair(text.to_owned(), text.to_owned()))
}

pub(super) fn account_number(text: &str) -> Result<i64, ValueError> {
    number(text).ok_or(ValueError::Account)
}

pub(super) fn key_number(text: &str) -> Result<i64, ValueError> {
    number(text).ok_or(ValueError::Key)
}

pub(super) fn more_than_nothing(text: &str) -> Result<Money, ValueError> {
    let money: Money = text.parse()?;
    if money <= Money::ZERO {
        return Err(ValueError::Nothing);
    }
    Ok(money)
}

/// Seconds of a duration such as `90s`, `30m`, `1h` or `2d`.
pub(super) fn lifetime(text: &str) -> Result<u32, ValueError> {
    let (count, unit) = text
        .split_at_checked(text.len().saturating_sub(1))
        .ok_or(ValueError::Lifetime)?;
    let unit: u32 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(ValueError::Lifetime),
    };
    let count: u32 = count.parse().map_err(|_| ValueError::Lifetime)?;
    let seconds = count.checked_mul(unit).filter(|seconds| *seconds > 0);
    seconds.ok_or(ValueError::Lifetime)
}

/// A text, or `none`.
pub(super) fn text_or_none(text: &str) -> Result<OrNone<String>, std::convert::Infallible> {
    Ok(OrNone((text != "none").then(|| text.to_owned())))
}

/// A number above 0, or `none`.
pub(super) fn number_or_none(text: &str) -> Result<OrNone<i64>, ValueError> {
    match text {
        "none" => Ok(OrNone(None)),
        text => number(text)
            .map(|number| OrNone(Some(number)))
            .ok_or(ValueError::NumberOrNone),
    }
}

fn number(text: &str) -> Option<i64> {
    text.parse().ok().filter(|number| *number > 0)
}

// === impl Limit ===

impl FromStr for Limit {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "none" {
            return Ok(Self(None));
        }
        let money: Money = text.parse()?;
        if money.is_negative() {
            return Err(ValueError::Negative);
        }
        Ok(Self(Some(money)))
    }
}

// === impl Expiry ===

impl FromStr for Expiry {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(days) = text.strip_suffix('d').unwrap_or(text).parse() {
            let legal = (1..=MAX_DAYS).contains(&days);
            return legal.then_some(Self::Days(days)).ok_or(ValueError::Expiry);
        }
        times::parse(text).map(Self::At).ok_or(ValueError::Expiry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_is_a_number_of_days_or_a_moment() {
        assert_eq!("30".parse(), Ok(Expiry::Days(30)));
        assert_eq!("30d".parse(), Ok(Expiry::Days(30)));
        assert_eq!("36500".parse(), Ok(Expiry::Days(36_500)));
        let moment = Timestamp::from_micros(1_801_396_800_000_000);
        assert_eq!("2027-01-31T12:00:00Z".parse(), Ok(Expiry::At(moment)));
        assert_eq!("2027-01-31T13:00:00+01:00".parse(), Ok(Expiry::At(moment)));
        for wrong in ["", "0", "36501", "-1", "soon", "2027-01-31", "1.5"] {
            assert_eq!(wrong.parse::<Expiry>(), Err(ValueError::Expiry), "{wrong}");
        }
    }

    #[test]
    fn a_limit_is_an_amount_from_nothing_up_or_none() {
        assert_eq!("none".parse(), Ok(Limit(None)));
        assert_eq!("0".parse(), Ok(Limit(Some(Money::ZERO))));
        assert_eq!("-1".parse::<Limit>(), Err(ValueError::Negative));
        assert!("nothing".parse::<Limit>().is_err());
        assert_eq!(more_than_nothing("0"), Err(ValueError::Nothing));
        assert_eq!(more_than_nothing("0.000000001"), Ok(Money::NANO));
        assert!(more_than_nothing("0.0000000001").is_err());
    }

    #[test]
    fn a_lifetime_is_a_number_and_a_unit() {
        let read: Vec<_> = ["90s", "30m", "1h", "2d"].map(lifetime).into();
        assert_eq!(read, [Ok(90), Ok(1_800), Ok(3_600), Ok(172_800)]);
        for wrong in ["", "h", "0s", "1", "1w", "-1h", "1.5h", "99999999d", "1é"] {
            assert_eq!(lifetime(wrong), Err(ValueError::Lifetime), "{wrong}");
        }
    }

    #[test]
    fn credential_has_a_label_and_a_position_and_model_one_or_two_names() {
        let read = |text| labelled(text).map(|read| (read.label, read.place));
        let owned = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(read("keys/a"), Ok(owned("main", "keys/a")));
        assert_eq!(read("a=keys/a=b"), Ok(owned("a", "keys/a=b")));
        for wrong in ["", "=x", "a="] {
            assert_eq!(labelled(wrong), Err(ValueError::Label), "{wrong}");
            assert_eq!(pair(wrong), Err(ValueError::Pair), "{wrong}");
        }
        assert_eq!(model("gpt-5"), Ok(Pair("gpt-5".into(), "gpt-5".into())));
        assert_eq!(model("a=b"), Ok(Pair("a".into(), "b".into())));
        assert_eq!(model("a="), Err(ValueError::Pair));
    }

    #[test]
    fn a_limit_of_a_channel_is_a_number_above_zero_or_none() {
        assert_eq!(number_or_none("60"), Ok(OrNone(Some(60))));
        assert_eq!(number_or_none("none"), Ok(OrNone(None)));
        for wrong in ["0", "-1", "", "None"] {
            assert_eq!(number_or_none(wrong), Err(ValueError::NumberOrNone));
        }
        assert_eq!(text_or_none("eu"), Ok(OrNone(Some("eu".to_owned()))));
        assert_eq!(text_or_none("none"), Ok(OrNone(None)));
    }

    #[test]
    fn an_account_and_a_key_are_named_by_numbers_above_zero() {
        assert_eq!(account_number("1000"), Ok(1_000));
        assert_eq!(account_number("0"), Err(ValueError::Account));
        assert_eq!(key_number("sk-tl-00"), Err(ValueError::Key));
    }
}
