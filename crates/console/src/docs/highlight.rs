//! A little colour for code: comments and texts in quotes, nothing that could be wrong about a language.
//! Where a reader's own key belongs, a mark is left that the script fills in.

use super::escape::escaped;

/// Stands where a reader writes their own key down; it begins as a key does.
const PLACEHOLDER: &str = "sk-tl-…";

/// What stands for a key, in the languages of the pages.
const KEYS: [&str; 4] = [
    "$TRUNKLINE_KEY",
    PLACEHOLDER,
    "os.environ[\"TRUNKLINE_KEY\"]",
    "process.env.TRUNKLINE_KEY",
];

/// How a language begins its comments; none has any other kind here.
fn comment_of(language: &str) -> Option<&'static str> {
    match language {
        "sh" | "python" | "toml" | "nginx" | "ini" => Some("#"),
        "js" | "rust" => Some("//"),
        "sql" => Some("--"),
        _ => None,
    }
}

pub(super) fn highlighted(language: &str, code: &str) -> String {
    let comment = comment_of(language);
    let quotes = comment.is_some() || language == "json";
    let mut out = String::with_capacity(code.len());
    for line in code.split_inclusive('\n') {
        push_line(&mut out, line, comment, quotes);
    }
    out
}

fn push_line(out: &mut String, line: &str, comment: Option<&str>, quotes: bool) {
    let mut rest = line;
    let mut before = ' ';
    while let Some(character) = rest.chars().next() {
        if comment.is_some_and(|mark| rest.starts_with(mark)) && before.is_whitespace() {
            out.push_str(&format!("<i>{}</i>", escaped(rest)));
            return;
        }
        if let Some(key) = KEYS.iter().find(|key| rest.starts_with(**key)) {
            push_key(out, key);
            rest = rest.strip_prefix(key).unwrap_or_default();
            before = ' ';
            continue;
        }
        if quotes
            && (character == '"' || character == '\'')
            && let Some((text, after)) = quoted(rest, character)
        {
            push_text(out, text);
            rest = after;
        } else {
            out.push_str(&escaped(character.encode_utf8(&mut [0; 4])));
            rest = rest.strip_prefix(character).unwrap_or_default();
        }
        before = character;
    }
}

/// A text in quotes, the quotes with it, and what is behind it on the line.
fn quoted(rest: &str, quote: char) -> Option<(&str, &str)> {
    let inner = rest.strip_prefix(quote)?;
    let mut escaping = false;
    let end = inner.char_indices().find(|(_, character)| {
        let ends = *character == quote && !escaping;
        escaping = *character == '\\' && !escaping;
        ends
    });
    let (at, _) = end?;
    let length = at.checked_add(quote.len_utf8().checked_mul(2)?)?;
    rest.split_at_checked(length)
}

/// A text may hold a key.
fn push_text(out: &mut String, text: &str) {
    out.push_str("<b>");
    let mut rest = text;
    loop {
        let first = KEYS.iter().filter_map(|key| {
            let (before, after) = rest.split_once(*key)?;
            Some((before, *key, after))
        });
        let Some((before, key, after)) = first.min_by_key(|(before, _, _)| before.len()) else {
            break;
        };
        out.push_str(&escaped(before));
        push_key(out, key);
        rest = after;
    }
    out.push_str(&escaped(rest));
    out.push_str("</b>");
}

fn push_key(out: &mut String, key: &str) {
    let is_within_text = key == PLACEHOLDER || key.starts_with('$');
    let quotes = if is_within_text { "" } else { "\"" };
    out.push_str(&format!(
        "<span class=\"key\" data-quote=\"{}\">{}</span>",
        escaped(quotes),
        escaped(key)
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_texts_and_keys_are_marked_and_everything_is_escaped() {
        let html = highlighted("sh", "echo \"<b> $TRUNKLINE_KEY\" 'x' # a & b\n");
        assert_eq!(
            html,
            "echo <b>&quot;&lt;b&gt; <span class=\"key\" data-quote=\"\">$TRUNKLINE_KEY</span>&quot;</b> \
             <b>&#39;x&#39;</b> <i># a &amp; b\n</i>"
        );
        let html = highlighted("python", "k = os.environ[\"TRUNKLINE_KEY\"]");
        assert!(
            html.contains("data-quote=\"&quot;\">os.environ[&quot;"),
            "{html}"
        );
        assert_eq!(highlighted("text", "it's # <x>"), "it&#39;s # &lt;x&gt;");
    }

    #[test]
    fn an_unclosed_quote_and_a_hash_in_a_word_are_plain_text() {
        assert_eq!(highlighted("sh", "it's"), "it&#39;s");
        assert_eq!(highlighted("sh", "a#b"), "a#b");
        assert_eq!(
            highlighted("json", "\"a\\\"b\": 1"),
            "<b>&quot;a\\&quot;b&quot;</b>: 1"
        );
    }
}
