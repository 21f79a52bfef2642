//! Links between documents: from file to file in the repository, from page to page here.

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// To a page: its name, and the heading with its `#`, or nothing.
    Page(String, String),
    /// To an address, or within the page.
    Address(String),
    /// To a file that is no page.
    Nowhere,
}

/// Reads where a link leads.
pub(super) fn read(to: &str, known: &[String]) -> Link {
    let is_address = ["http://", "https://", "mailto:", "#", "/"]
        .iter()
        .any(|start| to.starts_with(start));
    if is_address {
        return Link::Address(to.to_owned());
    }
    let (file, heading) = match to.split_once('#') {
        Some((file, heading)) => (file, format!("#{heading}")),
        None => (to, String::new()),
    };
    let name = file.rsplit('/').next().unwrap_or(file);
    let slug = name.strip_suffix(".md").unwrap_or_default();
    if known.iter().any(|page| page == slug) {
        return Link::Page(slug.to_owned(), heading);
    }
    Link::Nowhere
}

/// The address of a page.
pub(super) fn page_path(slug: &str) -> String {
    if slug == "index" {
        return "/docs".to_owned();
    }
    format!("/docs/{slug}")
}

/// The text with its links leading to other texts.
pub(super) fn for_programs(markdown: &str, known: &[String]) -> String {
    let mut out = String::with_capacity(markdown.len());
    let mut rest = markdown;
    while let Some((before, after)) = rest.split_once("](") {
        let Some((to, behind)) = after.split_once(')') else {
            out.push_str(before);
            out.push_str("](");
            rest = after;
            break;
        };
        rest = behind;
        match read(to, known) {
            Link::Page(slug, heading) => {
                out.push_str(&format!("{before}](/docs/{slug}.md{heading})"));
            }
            // A page that is for operators, or a file that is no page: its name stays, without a way to it.
            Link::Nowhere if before.contains('[') => {
                let (text, name) = before.rsplit_once('[').unwrap_or((before, ""));
                out.push_str(&format!("{text}{name}"));
            }
            Link::Address(_) | Link::Nowhere => out.push_str(&format!("{before}]({to})")),
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_become_pages_and_addresses_stay() {
        let known = ["errors".to_owned(), "keys".to_owned()];
        let page = |slug: &str, heading: &str| Link::Page(slug.to_owned(), heading.to_owned());
        assert_eq!(
            read("errors.md#not_found", &known),
            page("errors", "#not_found")
        );
        assert_eq!(read("../keys.md", &known), page("keys", ""));
        assert_eq!(
            read("/keys/new", &known),
            Link::Address("/keys/new".to_owned())
        );
        assert_eq!(read("adr/0006-keyring.md", &known), Link::Nowhere);
        assert_eq!(
            for_programs("a [b](keys.md#x) [c](https://x.example) [d](", &known),
            "a [b](/docs/keys.md#x) [c](https://x.example) [d]("
        );
    }
}
