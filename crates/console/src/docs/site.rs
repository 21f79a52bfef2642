//! All pages, made once: each with its twin for programs, the list of them, and what can be searched.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Value, json};

use super::layout::Layout;
use super::page::{Group, Head, Page};
use super::reference::Reference;
use super::sources::{GATEWAY_DOCUMENT, SCRIPT, SOURCES, STYLE};
use super::{DocsSettings, platforms, providers};
use crate::gateway_port::SocialCell;

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const MARKDOWN: &str = "text/markdown; charset=utf-8";
const JSON: &str = "application/json";

/// The mark in a browser's tab.
const MARK: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 20 20\"><rect width=\"20\" height=\"20\" \
    rx=\"4\" fill=\"#4353d6\"/><path d=\"M4.5 5.5h11M10 5.5v9M7 14.5h6\" fill=\"none\" stroke=\"#fff\" \
    stroke-width=\"2\" stroke-linecap=\"round\"/></svg>";

/// One thing that is served.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) body: Bytes,
    pub(super) content_type: &'static str,
}

/// Everything that is served, by its path.
#[derive(Debug)]
pub(super) struct Site {
    files: BTreeMap<String, File>,
    pub(super) pages: Vec<Page>,
}

/// For whom pages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// All readers: no page about operating.
    Customers,
    Operators,
}

/// What pages are made of beside their own words.
pub(super) struct Facts<'a> {
    pub(super) audience: Audience,
    pub(super) settings: &'a DocsSettings,
    pub(super) console: &'a Value,
    pub(super) cells: &'a [SocialCell],
}

// === impl Site ===

impl Site {
    pub(super) fn build(facts: &Facts<'_>) -> Self {
        let gateway = facts.settings.filled(GATEWAY_DOCUMENT);
        let described: Value = serde_json::from_str(&gateway).unwrap_or_default();
        let mut drafts: Vec<(Head, String)> = Vec::new();
        for source in SOURCES {
            match Head::read(source.slug, source.text) {
                Ok((head, body)) => drafts.push((head, providers::filled(body))),
                // A test reads all heads, so this happens only while a page is edited.
                Err(problem) => tracing::error!(problem, "documentation page skipped"),
            }
        }
        if facts.audience == Audience::Customers {
            drafts.retain(|(head, _)| head.group != Group::Operate);
        }
        drafts.push((api_head(), api_text(&described)));
        drafts.push((console_head(), console_text(facts.console)));
        drafts.push((platforms_head(), platforms_text(facts.cells)));
        drafts.sort_by(|(one, _), (other, _)| {
            (one.group, one.order, &one.title).cmp(&(other.group, other.order, &other.title))
        });
        let known: Vec<String> = drafts.iter().map(|(head, _)| head.slug.clone()).collect();
        let make = |(head, body): (Head, String)| Page::make(head, &body, facts.settings, &known);
        let pages: Vec<Page> = drafts.into_iter().map(make).collect();
        let mut site = Self {
            files: BTreeMap::new(),
            pages,
        };
        site.write_pages();
        site.keep("/llms.txt", site.list(facts.settings), TEXT);
        site.keep("/llms-full.txt", site.whole(), TEXT);
        site.keep("/docs/search.json", site.index(), JSON);
        site.keep("/openapi/gateway.json", gateway, JSON);
        site.keep(
            "/docs/assets/docs.css",
            STYLE.to_owned(),
            "text/css; charset=utf-8",
        );
        let script = "text/javascript; charset=utf-8";
        site.keep("/docs/assets/docs.js", SCRIPT.to_owned(), script);
        site.keep("/docs/assets/mark.svg", MARK.to_owned(), "image/svg+xml");
        site
    }

    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.get(path)
    }

    /// What is said where nothing is.
    pub(super) fn missing(&self, path: &str) -> File {
        let frame = Layout { pages: &self.pages };
        File {
            body: Bytes::from(frame.missing(path)),
            content_type: HTML,
        }
    }

    /// Whether a page has this heading.
    pub(super) fn has_heading(&self, slug: &str, id: &str) -> bool {
        let page = self.pages.iter().find(|page| page.head.slug == slug);
        page.is_some_and(|page| {
            page.rendered
                .headings
                .iter()
                .any(|heading| heading.id == id)
        })
    }

    fn keep(&mut self, path: &str, body: String, content_type: &'static str) {
        let file = File {
            body: Bytes::from(body),
            content_type,
        };
        self.files.insert(path.to_owned(), file);
    }

    fn write_pages(&mut self) {
        let frame = Layout { pages: &self.pages };
        let mut written = Vec::new();
        for (at, page) in self.pages.iter().enumerate() {
            written.push((page.path(), frame.page(at), HTML));
            let twin = format!("/docs/{}.md", page.head.slug);
            written.push((twin, page.markdown.clone(), MARKDOWN));
        }
        for (path, body, content_type) in written {
            self.keep(&path, body, content_type);
        }
    }

    /// `llms.txt`: what there is, for programs that read.
    fn list(&self, settings: &DocsSettings) -> String {
        let mut out = String::from(
            "# Trunkline\n\n> One HTTP address and one API key for every model: the price is known before a call, \
             each call is charged exactly once for what was delivered, and nothing is charged for what failed.\n\n",
        );
        out.push_str(&format!(
            "Calls go to {}/v1 with `Authorization: Bearer <key>`. Every page below is Markdown. All of them in one: \
             {}/llms-full.txt. The interface as OpenAPI: {}/openapi/gateway.json.\n",
            settings.base_url, settings.dash_url, settings.dash_url
        ));
        for group in Group::ALL {
            let mut pages = self.pages.iter().filter(|page| page.head.group == group);
            let Some(first) = pages.next() else {
                continue;
            };
            out.push_str(&format!("\n## {}\n\n", group.name()));
            for page in std::iter::once(first).chain(pages) {
                let Head {
                    slug,
                    title,
                    summary,
                    ..
                } = &page.head;
                let dash = &settings.dash_url;
                out.push_str(&format!("- [{title}]({dash}/docs/{slug}.md): {summary}\n"));
            }
        }
        out
    }

    fn whole(&self) -> String {
        let texts = self.pages.iter().map(|page| page.markdown.trim());
        texts.collect::<Vec<_>>().join("\n\n---\n\n")
    }

    /// Every section, small enough to be searched in a browser.
    fn index(&self) -> String {
        let mut sections = Vec::new();
        for page in &self.pages {
            for section in &page.rendered.sections {
                let path = match section.id.as_str() {
                    "" => page.path(),
                    id => format!("{}#{id}", page.path()),
                };
                let text: Vec<&str> = section.text.split_whitespace().collect();
                sections.push(json!([
                    path,
                    page.head.title,
                    section.heading,
                    text.join(" ")
                ]));
            }
        }
        Value::Array(sections).to_string()
    }
}

fn made(slug: &str, title: &str, summary: &str, order: u32) -> Head {
    Head {
        slug: slug.to_owned(),
        title: title.to_owned(),
        summary: summary.to_owned(),
        group: Group::Reference,
        order,
    }
}

fn api_head() -> Head {
    let summary =
        "Every path that calls go to: what it takes, what it gives, what it may answer instead.";
    made("api", "API", summary, 10)
}

fn api_text(document: &Value) -> String {
    let about = "# API reference\n\nAll paths are below `{{base_url}}`. The same as \
        [OpenAPI](/openapi/gateway.json), made for programs. Errors have [one page](errors.md); what a call \
        costs is in [money](billing.md); fields of the vendors' own formats that are not listed here go through \
        as they are, or are [reported](quotes.md).\n\n";
    format!("{about}{}", Reference::new(document).markdown())
}

fn console_head() -> Head {
    let summary =
        "What the web console asks for: everything a person can do there, a program can do too.";
    made("console-api", "Console API", summary, 20)
}

fn console_text(document: &Value) -> String {
    let about = "# Console API reference\n\nAll paths are below `{{dash_url}}`. The same as \
        [OpenAPI](/openapi.json). Programs with an API key use the [API](api.md); these paths take a person's \
        sign-in, but for those that need none.\n\n";
    format!("{about}{}", Reference::new(document).markdown())
}

fn platforms_head() -> Head {
    let summary = "Twenty platforms, and what can be asked of each: capabilities, parameters, names in the usage log.";
    made("social-platforms", "Social platforms", summary, 50)
}

fn platforms_text(cells: &[SocialCell]) -> String {
    let about = "# Platforms of social data\n\nHow a call is made, paged and charged: [social data](social.md). \
        Prices, and what is on sale just now: `GET {{dash_url}}/api/social/catalog`, or the \
        [catalog](/catalog) of the console.\n\n";
    format!("{about}{}", platforms::markdown(cells))
}

#[cfg(test)]
mod tests;
