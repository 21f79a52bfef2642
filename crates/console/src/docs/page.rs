//! One page: its head, what it says, and what that becomes.

use super::markdown::{self, Rendered};
use super::{DocsSettings, links};

/// Where a page stands in the list of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    Start,
    Connect,
    Guides,
    Reference,
    Operate,
}

/// What a page's head says of it.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) slug: String,
    pub(super) title: String,
    pub(super) summary: String,
    pub(super) group: Group,
    pub(super) order: u32,
}

/// A page, ready to be shown.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) head: Head,
    /// The same as text, for programs.
    pub(super) markdown: String,
    pub(super) rendered: Rendered,
}

// === impl Group ===

impl Group {
    pub(super) const ALL: [Self; 5] = [
        Self::Start,
        Self::Connect,
        Self::Guides,
        Self::Reference,
        Self::Operate,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Start => "Start",
            Self::Connect => "Connect",
            Self::Guides => "Guides",
            Self::Reference => "Reference",
            Self::Operate => "Operate",
        }
    }

    fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.name() == word)
    }
}

// === impl Head ===

impl Head {
    /// Reads the lines between `---` and `---`, and gives back what is below them.
    pub(super) fn read<'a>(slug: &str, text: &'a str) -> Result<(Self, &'a str), String> {
        let wrong = |what: &str| format!("docs page {slug}: {what}");
        let (lines, body) = text
            .strip_prefix("---\n")
            .and_then(|text| text.split_once("\n---\n"))
            .ok_or_else(|| wrong("has no head"))?;
        let find = |name: &str| {
            let mut pairs = lines.lines().filter_map(|line| line.split_once(": "));
            let found = pairs.find(|(key, _)| *key == name);
            let found = found.map(|(_, value)| value.trim().to_owned());
            found.ok_or_else(|| wrong(&format!("its head lacks `{name}`")))
        };
        let group = Group::of(&find("group")?).ok_or_else(|| wrong("no such group"))?;
        let order = find("order")?.parse().map_err(|_| wrong("no number"))?;
        let head = Self {
            slug: slug.to_owned(),
            title: find("title")?,
            summary: find("summary")?,
            group,
            order,
        };
        Ok((head, body))
    }
}

// === impl Page ===

impl Page {
    /// Fills in what is this installation's own and renders it. `known` are the names of all pages.
    pub(super) fn make(head: Head, body: &str, settings: &DocsSettings, known: &[String]) -> Self {
        let body = settings.filled(body);
        let rendered = markdown::render(&body, known);
        let markdown = links::for_programs(body.trim_start(), known);
        Self {
            head,
            markdown,
            rendered,
        }
    }

    pub(super) fn path(&self) -> String {
        self.head.path()
    }
}

impl Head {
    /// The first page has the address of the whole.
    pub(super) fn path(&self) -> String {
        if self.slug == "index" {
            return "/docs".to_owned();
        }
        format!("/docs/{}", self.slug)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_and_what_it_lacks_is_named() {
        let text = "---\ntitle: A: b\nsummary: S.\ngroup: Guides\norder: 7\n---\n\n# A\n";
        let (head, body) = Head::read("a", text).unwrap();
        assert_eq!((head.title.as_str(), head.order), ("A: b", 7));
        assert_eq!((head.group, body), (Group::Guides, "\n# A\n"));
        let lacks = Head::read("a", "---\ntitle: A\ngroup: Guides\norder: 1\n---\n");
        assert_eq!(lacks.unwrap_err(), "docs page a: its head lacks `summary`");
        assert!(Head::read("a", "# A").unwrap_err().contains("no head"));
    }
}
