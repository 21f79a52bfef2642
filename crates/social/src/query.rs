//! A query string as names and values.

use percent_encoding::percent_decode_str;

/// Pairs that are read at most; every cell has far fewer parameters.
pub const MAX_PAIRS: usize = 100;

/// One pair. A value that is not UTF-8 is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// What stands before the `=`; strange bytes are replaced.
    pub name: String,
    /// What stands behind it; empty where there is no `=`.
    pub value: Option<String>,
}

/// The pairs of a query string, in its order, as forms are written: `+` is a space, `%2B` a plus, and
/// what is no escape stands for itself. None if there are too many.
#[must_use]
pub fn pairs(query: &str) -> Option<Vec<Pair>> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let mut pairs = Vec::new();
    for part in parts {
        if pairs.len() >= MAX_PAIRS {
            return None;
        }
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let name = decoded(name);
        pairs.push(Pair {
            name: String::from_utf8_lossy(&name).into_owned(),
            value: String::from_utf8(decoded(value)).ok(),
        });
    }
    Some(pairs)
}

fn decoded(text: &str) -> Vec<u8> {
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Vec<(String, Option<String>)> {
        let pairs = pairs(query).unwrap();
        pairs
            .into_iter()
            .map(|pair| (pair.name, pair.value))
            .collect()
    }

    fn pair(name: &str, value: &str) -> (String, Option<String>) {
        (name.to_owned(), Some(value.to_owned()))
    }

    #[test]
    fn a_query_is_read_as_forms_are_written() {
        assert_eq!(
            read("keyword=caf%C3%A9+noir&cursor=a%2Bb%2F%3D&&page=1&empty=&bare"),
            [
                pair("keyword", "café noir"),
                pair("cursor", "a+b/="),
                pair("page", "1"),
                pair("empty", ""),
                pair("bare", ""),
            ]
        );
        assert_eq!(
            read("a=b=c&d=%zz&e=100%"),
            [pair("a", "b=c"), pair("d", "%zz"), pair("e", "100%")]
        );
        assert_eq!(read("keyword%5B%5D=x"), [pair("keyword[]", "x")]);
        assert_eq!(read(""), []);
    }

    #[test]
    fn what_is_not_utf_8_has_no_value_and_is_no_surprise() {
        assert_eq!(read("keyword=%ff%fe"), [("keyword".to_owned(), None)]);
        assert_eq!(
            read("%ff=1"),
            [("\u{fffd}".to_owned(), Some("1".to_owned()))]
        );
    }

    #[test]
    fn a_query_has_a_bounded_number_of_pairs() {
        let query = |count: usize| vec!["a=1"; count].join("&");
        assert_eq!(pairs(&query(MAX_PAIRS)).unwrap().len(), MAX_PAIRS);
        assert_eq!(pairs(&query(MAX_PAIRS + 1)), None);
    }
}
