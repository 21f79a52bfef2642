//! `application/x-www-form-urlencoded` with Stripe's brackets: `a[b]=c`.

use percent_encoding::percent_decode;

/// Names and values in their order, decoded.
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let pairs = bytes
            .split(|byte| *byte == b'&')
            .filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let mut halves = pair.splitn(2, |byte| *byte == b'=');
            let mut half = || decoded(halves.next().unwrap_or_default());
            (half(), half())
        });
        Self(pairs.collect())
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        self.text(name)?.parse().ok()
    }

    /// The items of a list: `name[]=a`, or `name[0]=a` as Stripe's SDKs number them.
    pub(crate) fn list(&self, name: &str) -> Vec<&str> {
        let is_item = |known: &str| {
            let inside = known.strip_prefix(name)?.strip_prefix('[')?;
            let index = inside.strip_suffix(']')?;
            Some(index.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let found = self.0.iter();
        let found = found.filter(|(known, _)| is_item(known) == Some(true));
        found.map(|(_, value)| value.as_str()).collect()
    }

    /// What stands below a name, such as `metadata`.
    pub(crate) fn below(&self, name: &str) -> serde_json::Map<String, serde_json::Value> {
        let inside = |known: &str| {
            let rest = known.strip_prefix(name)?.strip_prefix('[')?;
            Some(rest.strip_suffix(']')?.to_owned())
        };
        let found = self.0.iter().filter_map(|(known, value)| {
            Some((inside(known)?, serde_json::Value::from(value.as_str())))
        });
        found.filter(|(name, _)| !name.contains('[')).collect()
    }

    /// The first name that is none of these.
    pub(crate) fn unknown(&self, known: &[&str]) -> Option<&str> {
        let names = self.0.iter().filter_map(|(name, _)| name.split('[').next());
        names.into_iter().find(|name| !known.contains(name))
    }
}

fn decoded(bytes: &[u8]) -> String {
    let spaced: Vec<u8> = bytes
        .iter()
        .map(|byte| if *byte == b'+' { b' ' } else { *byte })
        .collect();
    percent_decode(&spaced).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_are_names_and_text_is_decoded() {
        let form = Form::read(b"a=1+2%263&metadata%5Bx%5D=y&metadata[z]=&t[]=p&t%5B0%5D=q");
        assert_eq!(form.text("a"), Some("1 2&3"));
        assert_eq!(form.below("metadata")["x"], "y");
        assert_eq!(form.list("t"), ["p", "q"]);
        assert_eq!(form.unknown(&["a", "t"]), Some("metadata"));
        assert_eq!(form.unknown(&["a", "t", "metadata"]), None);
    }
}
