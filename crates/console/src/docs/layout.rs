//! The page around a page: the list of all, what is on this one, the way on. Works without a script.

use super::escape::escaped;
use super::markdown::Heading;
use super::page::{Group, Head, Page};

/// Headings from which on a list of them helps.
const HEADINGS_WORTH_A_LIST: usize = 2;

/// What stands around all pages.
pub(super) struct Layout<'a> {
    pub(super) pages: &'a [Page],
}

// === impl Layout ===

impl Layout<'_> {
    pub(super) fn page(&self, at: usize) -> String {
        let Some(page) = self.pages.get(at) else {
            return String::new();
        };
        let before = at.checked_sub(1).and_then(|at| self.pages.get(at));
        let after = at.checked_add(1).and_then(|at| self.pages.get(at));
        let title = &page.rendered.title;
        let head = &page.head;
        let main = format!(
            "<p class=\"crumb\">{group}</p><h1>{title}</h1><p class=\"lead\">{summary}</p>\
             <article>{body}</article>{way}<p class=\"foot\"><a href=\"/docs/{slug}.md\">This page as text</a>\
             <a href=\"/llms.txt\">All pages for programs</a></p>",
            group = head.group.name(),
            title = escaped(title),
            summary = escaped(&head.summary),
            body = page.rendered.html,
            way = way(before, after),
            slug = head.slug,
        );
        self.whole(
            &head.title,
            &head.summary,
            Some(head),
            &main,
            &page.rendered.headings,
        )
    }

    /// What is said where there is no page, with those that may have been meant.
    pub(super) fn missing(&self, path: &str) -> String {
        let words: Vec<&str> = path
            .split(|character: char| !character.is_ascii_alphanumeric())
            .filter(|word| word.len() > 2)
            .collect();
        let alike = self.pages.iter().filter(|page| {
            let near =
                |word: &&str| page.head.slug.contains(*word) || word.contains(&page.head.slug);
            words.iter().any(near)
        });
        let links: String = alike.take(5).map(|page| item(&page.head, false)).collect();
        let meant = if links.is_empty() {
            String::new()
        } else {
            format!("<h2>Perhaps you meant</h2><ul>{links}</ul>")
        };
        let main = format!(
            "<p class=\"crumb\">404</p><h1>Page not found</h1>\
             <p class=\"lead\">The address may be old or mistyped. The list has every page there is, and the \
             search looks into all of them.</p><article>{meant}<p><a href=\"/docs\">Start of the documentation</a></p></article>"
        );
        self.whole("Page not found", "Page not found.", None, &main, &[])
    }

    fn whole(
        &self,
        title: &str,
        summary: &str,
        here: Option<&Head>,
        main: &str,
        headings: &[Heading],
    ) -> String {
        let twin = here.map_or_else(String::new, |head| {
            let slug = &head.slug;
            format!("<link rel=\"alternate\" type=\"text/markdown\" href=\"/docs/{slug}.md\">")
        });
        let (title, summary) = (escaped(title), escaped(summary));
        let list = self.list(here);
        let toc = contents(headings);
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <title>{title} · Trunkline</title><meta name=\"description\" content=\"{summary}\">\
             <link rel=\"icon\" href=\"/docs/assets/mark.svg\" type=\"image/svg+xml\">\
             <link rel=\"stylesheet\" href=\"/docs/assets/docs.css\">{twin}\
             <script src=\"/docs/assets/docs.js\"></script></head><body>\
             <a class=\"skip\" href=\"#content\">Skip to content</a>{TOP}\
             <div class=\"frame\"><nav class=\"pages\" aria-label=\"Pages\"><details class=\"fold\" open>\
             <summary>All pages</summary>{list}</details></nav>\
             <main id=\"content\" tabindex=\"-1\">{main}</main>{toc}</div></body></html>\n"
        )
    }

    /// The list of all pages, in groups.
    fn list(&self, here: Option<&Head>) -> String {
        let group = |group: Group| {
            let of_group = self.pages.iter().filter(|page| page.head.group == group);
            let items: String = of_group
                .map(|page| {
                    item(
                        &page.head,
                        here.is_some_and(|here| here.slug == page.head.slug),
                    )
                })
                .collect();
            format!("<p class=\"group\">{}</p><ul>{items}</ul>", group.name())
        };
        Group::ALL.into_iter().map(group).collect()
    }
}

/// What is above every page.
const TOP: &str = "<header class=\"top\"><a class=\"name\" href=\"/docs\">\
    <svg viewBox=\"0 0 20 20\" width=\"20\" height=\"20\" aria-hidden=\"true\"><path d=\"M3 5h14M10 5v11M6 16h8\" \
    fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\" stroke-linecap=\"round\"/></svg>Trunkline <span>Docs</span></a>\
    <div class=\"tools\"><button type=\"button\" class=\"seek\" hidden><span>Search</span><kbd>/</kbd></button>\
    <button type=\"button\" class=\"theme\" hidden aria-label=\"Theme\"></button>\
    <a class=\"console\" href=\"/\">Console</a></div></header>";

fn item(head: &Head, is_here: bool) -> String {
    let here = if is_here {
        " aria-current=\"page\""
    } else {
        ""
    };
    let (path, title) = (head.path(), escaped(&head.title));
    format!("<li><a href=\"{path}\"{here}>{title}</a></li>")
}

/// The headings of a page.
fn contents(headings: &[Heading]) -> String {
    let listed: Vec<&Heading> = headings
        .iter()
        .filter(|heading| heading.level < 4)
        .collect();
    if listed.len() < HEADINGS_WORTH_A_LIST {
        return "<div class=\"toc\"></div>".to_owned();
    }
    let items: String = listed
        .iter()
        .map(|heading| {
            let (id, text) = (escaped(&heading.id), escaped(&heading.text));
            let level = heading.level;
            format!("<li class=\"l{level}\"><a href=\"#{id}\">{text}</a></li>")
        })
        .collect();
    format!(
        "<nav class=\"toc\" aria-label=\"On this page\"><p>On this page</p><ul>{items}</ul></nav>"
    )
}

fn way(before: Option<&Page>, after: Option<&Page>) -> String {
    let link = |page: Option<&Page>, class: &str, word: &str| {
        page.map_or_else(
            || "<span></span>".to_owned(),
            |page| {
                let (path, title) = (page.path(), escaped(&page.head.title));
                format!("<a class=\"{class}\" href=\"{path}\"><span>{word}</span>{title}</a>")
            },
        )
    };
    let (before, after) = (
        link(before, "before", "Before"),
        link(after, "after", "Next"),
    );
    format!("<nav class=\"way\" aria-label=\"Before and next\">{before}{after}</nav>")
}
