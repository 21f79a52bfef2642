//! Text that is put into HTML.

/// The text with everything that HTML would read as its own written out.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            plain => out.push(plain),
        }
    }
    out
}

/// The end of an address that names a heading, as the common hosts of Markdown make it. A heading that
/// is one word of code, such as an error's, keeps it unchanged.
pub(super) fn slug(text: &str, is_code: bool) -> String {
    if is_code {
        return text.to_owned();
    }
    let kept = text.to_lowercase();
    let kept = kept.chars().filter_map(|character| match character {
        ' ' | '/' => Some('-'),
        '-' | '_' => Some(character),
        other => other.is_alphanumeric().then_some(other),
    });
    let joined: String = kept.collect();
    joined.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(
            escaped("<img src='x' onerror=\"y\">&"),
            "&lt;img src=&#39;x&#39; onerror=&quot;y&quot;&gt;&amp;"
        );
    }

    #[test]
    fn headings_have_the_anchors_that_hosts_of_markdown_give_them() {
        assert_eq!(slug("What is charged", false), "what-is-charged");
        assert_eq!(slug("POST /v1/videos", false), "post--v1-videos");
        assert_eq!(slug("Forms, and more: JSON", false), "forms-and-more-json");
        assert_eq!(
            slug("InvalidParameter.TaskTypeConstraint", true),
            "InvalidParameter.TaskTypeConstraint"
        );
    }
}
