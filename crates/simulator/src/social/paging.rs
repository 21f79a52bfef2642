//! Pages: which one is asked for, and what asks for the next. Cursors are opaque and carry their own
//! proof, so one that was never given out is known, and two simulators know each other's.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::params::Arguments;
use super::rows::{PAGE_ITEMS, PAGES, Row};
use super::template::first_eight;

/// How a list is paged.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Paging {
    pub(super) by: By,
    pub(super) param: String,
    #[serde(default)]
    pub(super) cursor: Cursor,
    /// What stands in a cursor's place on the last page, as JSON; empty text if nothing is said.
    end: Option<String>,
    /// A value of the first page without which a later page is the first page again.
    pub(super) session: Option<String>,
    /// Values of the first page that are checked if they are sent.
    #[serde(default)]
    pub(super) checks: Vec<String>,
}

/// What a page is asked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum By {
    /// A cursor of the page before.
    Cursor,
    /// Its number, from 1.
    Page,
    /// How many items come before it.
    Offset,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Cursor {
    /// Letters and digits.
    #[default]
    Text,
    /// Base64 with `+`, `/` and `=` in it.
    Base64,
    /// A number of eight digits.
    Integer,
    /// A number above 2^53.
    Big,
}

/// A page that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) seed: u64,
    /// From 1.
    pub(super) page: usize,
    /// The first item of it, from 0.
    pub(super) from: usize,
}

/// The page cannot be had; the text says why.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoPage(pub(super) &'static str);

pub(super) const TOTAL: usize = PAGES * PAGE_ITEMS;
/// Bytes that make a base64 cursor begin with `+///`.
const MARKED: [u8; 3] = [0xfb, 0xff, 0xff];
/// Bytes of the proof in a cursor.
const PROOF_BYTES: usize = 7;
/// The least number of eight digits, and how many there are.
const LEAST_INTEGER: u64 = 10_000_000;
const INTEGERS: u64 = 90_000_000;
/// Above 2^53, below 2^63, and odd.
const LEAST_BIG: u64 = 1 << 60;
const BIGS: u64 = 1 << 61;
/// Characters of a cursor that is given out to be brought back.
const CURSOR_CHARACTERS: usize = 34;

pub(super) fn turn(row: &Row, arguments: &Arguments) -> Result<Turn, NoPage> {
    let first = Turn {
        seed: seed(row, arguments),
        page: 1,
        from: 0,
    };
    let Some(paging) = &row.page else {
        return Ok(first);
    };
    let requested = paging.requested_turn(row, arguments, first)?;
    if requested == first {
        return Ok(first);
    }
    for name in &paging.checks {
        let value = arguments.text(name);
        if !value.is_empty() && value != given(requested.seed, name) {
            return Err(NoPage("a value of another search was sent"));
        }
    }
    let Some(name) = &paging.session else {
        return Ok(requested);
    };
    match arguments.text(name) {
        "" => Ok(first),
        value if value == given(requested.seed, name) => Ok(requested),
        _ => Err(NoPage("there is no such search")),
    }
}

// === impl Paging ===

impl Paging {
    fn requested_turn(
        &self,
        row: &Row,
        arguments: &Arguments,
        first: Turn,
    ) -> Result<Turn, NoPage> {
        let value = arguments.text(&self.param);
        let is_zero = value == "0" && self.by != By::Page;
        if value.is_empty() || is_zero {
            return Ok(first);
        }
        let number = || value.parse::<usize>().map_err(|_| NoPage("no such page"));
        let later = |page: usize| Turn {
            page,
            from: page.saturating_sub(1).saturating_mul(PAGE_ITEMS),
            ..first
        };
        match self.by {
            By::Page => match number()? {
                0 => Err(NoPage("pages begin with 1")),
                page => Ok(later(page)),
            },
            By::Offset => {
                let from = number()?;
                let page = from.checked_div(PAGE_ITEMS).unwrap_or(0).saturating_add(1);
                Ok(Turn {
                    page,
                    from,
                    ..first
                })
            }
            By::Cursor => {
                // A search that goes on by its cursor alone finds what it looked for in it.
                let has_target = row
                    .target
                    .iter()
                    .any(|name| !arguments.text(name).is_empty());
                let own = has_target.then_some(first.seed);
                let found = self.cursor.open(&row.path, own, value);
                let (page, seed) = found.ok_or(NoPage("this cursor was never given out"))?;
                Ok(Turn {
                    seed,
                    ..later(page)
                })
            }
        }
    }

    /// What asks for the page behind this one.
    pub(super) fn next(&self, row: &Row, turn: Turn, has_more: bool) -> Value {
        let page = turn.page.saturating_add(1);
        match self.by {
            By::Page => Value::from(page),
            By::Offset => Value::from(turn.from.saturating_add(PAGE_ITEMS)),
            By::Cursor if has_more => self.cursor.made(&row.path, turn.seed, page),
            By::Cursor => {
                let end = self.end.as_deref().map(serde_json::from_str);
                end.and_then(Result::ok).unwrap_or(Value::from(""))
            }
        }
    }
}

// === impl Cursor ===

impl Cursor {
    fn made(self, path: &str, seed: u64, page: usize) -> Value {
        let number = |least: u64, count: u64| {
            let drawn = first_eight(&hashed(path, seed, page)).rem_euclid(count);
            least.saturating_add(drawn)
        };
        match self {
            Self::Integer => Value::from(number(LEAST_INTEGER, INTEGERS)),
            Self::Big => Value::from(number(LEAST_BIG, BIGS) | 1),
            Self::Text => Value::from(URL_SAFE_NO_PAD.encode(sealed(path, seed, page))),
            Self::Base64 => {
                let mut bytes = MARKED.to_vec();
                bytes.extend(sealed(path, seed, page));
                Value::from(STANDARD.encode(bytes))
            }
        }
    }

    /// The page and the seed of a cursor that we gave out, for this seed if one is named.
    fn open(self, path: &str, own: Option<u64>, text: &str) -> Option<(usize, u64)> {
        let bytes = match self {
            Self::Integer | Self::Big => {
                let seed = own?;
                let is_it = |page: &usize| {
                    let digits = self.made(path, seed, *page).to_string();
                    digits == text
                };
                return (2..=PAGES).find(is_it).map(|page| (page, seed));
            }
            Self::Text => URL_SAFE_NO_PAD.decode(text).ok()?,
            Self::Base64 => {
                let bytes = STANDARD.decode(text).ok()?;
                bytes.strip_prefix(&MARKED)?.to_vec()
            }
        };
        let (page, rest) = bytes.split_first()?;
        let (seed, _) = rest.split_first_chunk::<8>()?;
        let (page, seed) = (usize::from(*page), u64::from_be_bytes(*seed));
        let is_ours = (2..=PAGES).contains(&page) && bytes == sealed(path, seed, page);
        let is_own = own.is_none_or(|own| own == seed);
        (is_ours && is_own).then_some((page, seed))
    }
}

/// A value of the first page that later pages bring back under this name.
pub(super) fn given(seed: u64, name: &str) -> String {
    let hash = Sha256::digest(format!("given {name} {seed}"));
    let encoded = STANDARD.encode(hash);
    encoded
        .get(..CURSOR_CHARACTERS)
        .unwrap_or_default()
        .to_owned()
}

/// What decides the data: the path and what is looked for.
fn seed(row: &Row, arguments: &Arguments) -> u64 {
    let mut text = row.path.clone();
    let given = |name: &&String| !arguments.text(name).is_empty();
    // Of several names of one thing, the first that is given is looked at.
    let named = row.one_of.iter().find(given);
    for name in &row.target {
        text.push('\n');
        let counts = named.is_none_or(|named| named == name) || !row.one_of.contains(name);
        if counts {
            text.push_str(row.meaning(name, arguments.text(name)));
        }
    }
    first_eight(&Sha256::digest(text).into())
}

fn sealed(path: &str, seed: u64, page: usize) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(page).unwrap_or(u8::MAX)];
    bytes.extend(seed.to_be_bytes());
    bytes.extend(hashed(path, seed, page).iter().take(PROOF_BYTES));
    bytes
}

fn hashed(path: &str, seed: u64, page: usize) -> [u8; 32] {
    Sha256::digest(format!("cursor {path} {seed} {page}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Cursor; 4] = [Cursor::Text, Cursor::Base64, Cursor::Integer, Cursor::Big];

    fn text(cursor: Cursor, seed: u64, page: usize) -> String {
        let made = cursor.made("/a", seed, page);
        made.as_str().map_or(made.to_string(), str::to_owned)
    }

    #[test]
    fn a_cursor_opens_for_what_it_was_given_out_for_and_for_nothing_else() {
        for cursor in ALL {
            let made = text(cursor, 7, 2);
            assert_eq!(
                cursor.open("/a", Some(7), &made),
                Some((2, 7)),
                "{cursor:?}"
            );
            assert_eq!(cursor.open("/b", Some(7), &made), None, "{cursor:?}");
            assert_eq!(cursor.open("/a", Some(8), &made), None, "{cursor:?}");
            assert_eq!(cursor.open("/a", Some(7), &text(cursor, 7, 4)), None);
            assert_eq!(cursor.open("/a", Some(7), "nonsense"), None);
        }
    }

    #[test]
    fn cursors_look_as_the_platforms_do() {
        let base64 = text(Cursor::Base64, 7, 2);
        assert!(['+', '/', '='].iter().all(|sign| base64.contains(*sign)));
        assert_eq!(text(Cursor::Integer, 7, 2).len(), 8);
        let big: u64 = text(Cursor::Big, 7, 2).parse().unwrap();
        assert!(big > 1 << 53 && i64::try_from(big).is_ok());
    }

    #[test]
    fn a_cursor_of_text_says_alone_what_it_belongs_to() {
        let made = text(Cursor::Text, 7, 3);
        assert_eq!(Cursor::Text.open("/a", None, &made), Some((3, 7)));
        let number = text(Cursor::Integer, 7, 3);
        assert_eq!(Cursor::Integer.open("/a", None, &number), None);
    }
}
