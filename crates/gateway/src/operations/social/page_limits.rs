//! How far a request for many pages goes, as its caller says: in the query and in a header.

use http::HeaderMap;
use trunkline_types::Money;

use super::request::SocialExecution;
use crate::error::{ApiError, ErrorCode};
use crate::headers::{MAX_COST_HEADER, max_cost};

/// Pages of one request at most.
const MAX_PAGES: u64 = 1_000;
/// Pages where nothing is said.
const DEFAULT_PAGES: u64 = 10;
const MAX_PAGES_PARAM: &str = "max_pages";
const MAX_USD_PARAM: &str = "max_usd";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) pages: u64,
    pub(super) usd: Option<Money>,
    usd_name: &'static str,
}

// === impl Bounds ===

impl Bounds {
    /// The bounds of a request, and the rest of its query. Of two amounts the smaller holds.
    pub(super) fn of(query: &str, headers: &HeaderMap) -> Result<(Self, String), ApiError> {
        let (mut bounds, rest) = in_query(query)?;
        let header = max_cost(headers)?;
        if let Some(most) = header.filter(|most| bounds.usd.is_none_or(|usd| *most < usd)) {
            bounds.usd = Some(most);
            bounds.usd_name = MAX_COST_HEADER;
        }
        Ok((bounds, rest))
    }

    /// A first page beyond them is refused before anything moves.
    pub(super) fn check_first(&self, first: &SocialExecution) -> Result<(), ApiError> {
        self.usd
            .map_or(Ok(()), |most| first.check_limit(most, self.usd_name))
    }
}

/// The bounds of a query, and the rest of it.
fn in_query(query: &str) -> Result<(Bounds, String), ApiError> {
    let mut bounds = Bounds {
        pages: DEFAULT_PAGES,
        usd: None,
        usd_name: MAX_USD_PARAM,
    };
    let (mut rest, mut seen) = (Vec::new(), Vec::new());
    for part in query.split('&') {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        if name != MAX_PAGES_PARAM && name != MAX_USD_PARAM {
            rest.push(part);
            continue;
        }
        let wrong =
            |code, text: String| Err(ApiError::new(ErrorCode::Invalid(code), text).at(name));
        if seen.contains(&name) {
            return wrong("repeated_parameter", format!("`{name}` is given twice"));
        }
        seen.push(name);
        if name == MAX_PAGES_PARAM {
            let pages: Option<u64> = value.parse().ok();
            match pages.filter(|pages| (1..=MAX_PAGES).contains(pages)) {
                Some(pages) => bounds.pages = pages,
                None => {
                    let text = format!("`{name}` must be a number from 1 to {MAX_PAGES}");
                    return wrong("invalid_parameter_value", text);
                }
            }
        } else {
            let usd: Option<Money> = value.parse().ok();
            match usd.filter(|usd| !usd.is_negative()) {
                Some(usd) => bounds.usd = Some(usd),
                None => {
                    let text = format!("`{name}` must be an amount such as 0.50");
                    return wrong("invalid_parameter_value", text);
                }
            }
        }
    }
    Ok((bounds, rest.join("&")))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn of(query: &str, header: Option<&'static str>) -> Result<(Bounds, String), ApiError> {
        let header = header.map(|text| (MAX_COST_HEADER, HeaderValue::from_static(text)));
        let named = header.map(|(name, value)| (name.parse().unwrap(), value));
        Bounds::of(query, &named.into_iter().collect())
    }

    fn bounds(pages: u64, usd: Option<&str>) -> Bounds {
        Bounds {
            pages,
            usd: usd.map(|text| text.parse().unwrap()),
            usd_name: MAX_USD_PARAM,
        }
    }

    #[test]
    fn the_bounds_of_a_query_are_taken_out_of_it() {
        let (found, rest) = of("keyword=a&max_pages=3&cursor=1&max_usd=0.5", None).unwrap();
        assert_eq!(found, bounds(3, Some("0.5")));
        assert_eq!(rest, "keyword=a&cursor=1");
        let (found, rest) = of("", None).unwrap();
        assert_eq!(found, bounds(DEFAULT_PAGES, None));
        assert_eq!(rest, "");
        for (query, code) in [
            ("max_pages=0", "invalid_parameter_value"),
            ("max_pages=1001", "invalid_parameter_value"),
            ("max_pages=", "invalid_parameter_value"),
            ("max_usd=-1", "invalid_parameter_value"),
            ("max_usd=much", "invalid_parameter_value"),
            ("max_usd=1&max_usd=1", "repeated_parameter"),
        ] {
            assert_eq!(of(query, None).unwrap_err().kind.code(), code, "{query}");
        }
    }

    #[test]
    fn of_two_amounts_the_smaller_holds_and_is_named() {
        for (query, header, usd, name) in [
            ("max_usd=0.5", Some("0.4"), "0.4", MAX_COST_HEADER),
            ("max_usd=0.4", Some("0.5"), "0.4", MAX_USD_PARAM),
            ("max_usd=0.4", Some("0.4"), "0.4", MAX_USD_PARAM),
            ("max_usd=0.4", None, "0.4", MAX_USD_PARAM),
            ("", Some("0.5"), "0.5", MAX_COST_HEADER),
        ] {
            let (found, _) = of(query, header).unwrap();
            let usd = Some(usd.parse().unwrap());
            assert_eq!((found.usd, found.usd_name), (usd, name), "{query}");
        }
        let wrong = of("max_usd=0.5", Some("much")).unwrap_err();
        assert_eq!(wrong.param.as_deref(), Some(MAX_COST_HEADER));
    }
}
