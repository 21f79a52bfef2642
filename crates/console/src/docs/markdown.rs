//! Markdown becomes HTML: headings with anchors, tables and code that scroll inside themselves, links
//! from page to page. Raw HTML of a document is shown as text; there is none in ours.

use std::collections::BTreeMap;

use pulldown_cmark::{
    Alignment, CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html,
};

use super::escape::{escaped, slug};
use super::highlight::highlighted;
use super::links::{self, Link};

/// Characters of a section that can be searched for beside its heading.
const MAX_SECTION_CHARACTERS: usize = 600;

/// A document as HTML, and what is known of it.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    /// The first heading.
    pub(super) title: String,
    pub(super) html: String,
    pub(super) headings: Vec<Heading>,
    /// What is under each heading, to be searched; the first is what stands above all.
    pub(super) sections: Vec<Section>,
    /// Links of it that lead to no page.
    pub(super) broken: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heading {
    pub(super) level: u8,
    pub(super) id: String,
    pub(super) text: String,
}

/// A part of a page.
#[derive(Debug, Default)]
pub(super) struct Section {
    /// The heading's anchor; empty for what stands above all.
    pub(super) id: String,
    pub(super) heading: String,
    pub(super) text: String,
}

/// A block of code, as it is fenced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence<'a> {
    pub(super) language: &'a str,
    /// Whether it shows what the block before it printed.
    pub(super) is_output: bool,
}

struct Writer<'k, 'e> {
    known: &'k [String],
    out: Rendered,
    events: Vec<Event<'e>>,
    anchors: BTreeMap<String, u32>,
    table: Option<Table>,
}

struct Table {
    alignments: Vec<Alignment>,
    in_head: bool,
    column: usize,
}

/// Renders a document. `known` are the names of all pages.
pub(super) fn render(markdown: &str, known: &[String]) -> Rendered {
    let mut writer = Writer {
        known,
        out: Rendered::default(),
        events: Vec::new(),
        anchors: BTreeMap::new(),
        table: None,
    };
    writer.out.sections.push(Section::default());
    let mut events = Parser::new_ext(markdown, Options::ENABLE_TABLES);
    while let Some(event) = events.next() {
        writer.take(event, &mut events);
    }
    let Writer {
        mut out, events, ..
    } = writer;
    html::push_html(&mut out.html, events.into_iter());
    out
}

/// Reads what stands behind the marks of a fence.
pub(super) fn fence(words: &str) -> Fence<'_> {
    let mut words = words.split_whitespace();
    Fence {
        language: words.next().unwrap_or("text"),
        is_output: words.any(|word| word == "output"),
    }
}

// === impl Writer ===

impl<'e> Writer<'_, 'e> {
    fn take(&mut self, event: Event<'e>, rest: &mut Parser<'e>) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let inner = until(rest, |end| matches!(end, TagEnd::Heading(_)));
                self.heading(level, inner);
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                let inner = until(rest, |end| matches!(end, TagEnd::CodeBlock));
                self.code(&kind, &plain(&inner));
            }
            Event::Start(Tag::TableCell) => {
                let inner = until(rest, |end| matches!(end, TagEnd::TableCell));
                self.cell(inner);
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                let inner = until(rest, |end| matches!(end, TagEnd::Link));
                self.link(&dest_url, inner);
            }
            Event::Start(Tag::Table(alignments)) => self.open_table(alignments),
            Event::Start(Tag::TableHead) => self.open_head(),
            Event::Start(Tag::TableRow) => self.open_row(),
            Event::End(TagEnd::TableHead) => self.close_head(),
            Event::End(TagEnd::TableRow) => self.push("</tr>\n"),
            Event::End(TagEnd::Table) => {
                self.table = None;
                self.push("</tbody></table></div>\n");
            }
            Event::Html(text) | Event::InlineHtml(text) => {
                if !text.starts_with("<!--") {
                    self.events.push(Event::Text(text));
                }
            }
            other @ (Event::Start(_)
            | Event::End(_)
            | Event::Text(_)
            | Event::Code(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::TaskListMarker(_)) => {
                self.note(&other);
                self.events.push(other);
            }
        }
    }

    fn push(&mut self, html: impl Into<String>) {
        self.events.push(Event::Html(CowStr::from(html.into())));
    }

    /// Remembers what can be searched for.
    fn note(&mut self, event: &Event<'e>) {
        let Some(section) = self.out.sections.last_mut() else {
            return;
        };
        if section.text.len() >= MAX_SECTION_CHARACTERS {
            return;
        }
        match event {
            Event::Text(text) | Event::Code(text) => section.text.push_str(text),
            Event::SoftBreak | Event::HardBreak | Event::End(_) => {
                if !section.text.ends_with(' ') {
                    section.text.push(' ');
                }
            }
            Event::Start(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_)
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }

    /// The first of all is the page's own and is shown by its frame.
    fn heading(&mut self, level: HeadingLevel, inner: Vec<Event<'e>>) {
        let text = plain(&inner);
        if level == HeadingLevel::H1 && self.out.title.is_empty() {
            self.out.title = text;
            return;
        }
        let is_code = matches!(inner.as_slice(), [Event::Code(_)]);
        let id = self.anchor(&text, is_code);
        let tag = match level {
            HeadingLevel::H1 | HeadingLevel::H2 => 2,
            HeadingLevel::H3 => 3,
            HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => 4,
        };
        self.push(format!("<h{tag} id=\"{}\">", escaped(&id)));
        self.events.extend(inner);
        self.push(format!(
            " <a class=\"anchor\" href=\"#{}\" aria-hidden=\"true\" tabindex=\"-1\">#</a></h{tag}>\n",
            escaped(&id)
        ));
        self.out.sections.push(Section {
            id: id.clone(),
            heading: text.clone(),
            text: String::new(),
        });
        self.out.headings.push(Heading {
            level: tag,
            id,
            text,
        });
    }

    /// A second heading of the same words has a number.
    fn anchor(&mut self, text: &str, is_code: bool) -> String {
        let first = slug(text, is_code);
        let times = self.anchors.entry(first.clone()).or_default();
        let anchor = match *times {
            0 => first,
            repeats => format!("{first}-{repeats}"),
        };
        *times = times.saturating_add(1);
        anchor
    }

    fn code(&mut self, kind: &CodeBlockKind<'e>, text: &str) {
        let words = match kind {
            CodeBlockKind::Fenced(words) => words.as_ref(),
            CodeBlockKind::Indented => "",
        };
        let Fence {
            language,
            is_output,
        } = fence(words);
        let (class, label) = match (is_output, language) {
            (true, _) => ("code output", "Answer"),
            (false, "text") => ("code", ""),
            (false, language) => ("code", language),
        };
        let caption = if label.is_empty() {
            String::new()
        } else {
            format!("<figcaption>{}</figcaption>", escaped(label))
        };
        let html = highlighted(language, text.trim_end_matches('\n'));
        self.push(format!(
            "<figure class=\"{class}\">{caption}<pre tabindex=\"0\"><code>{html}</code></pre></figure>\n"
        ));
    }

    fn link(&mut self, to: &str, inner: Vec<Event<'e>>) {
        let address = match links::read(to, self.known) {
            Link::Page(slug, heading) => Some(format!("{}{heading}", links::page_path(&slug))),
            Link::Address(address) => Some(address),
            Link::Nowhere => {
                self.out.broken.push(to.to_owned());
                None
            }
        };
        for event in &inner {
            self.note(event);
        }
        let Some(address) = address else {
            self.events.extend(inner);
            return;
        };
        self.push(format!("<a href=\"{}\">", escaped(&address)));
        self.events.extend(inner);
        self.push("</a>");
    }
}

// Tables. Their cells are written here, because styles inside tags are not allowed by our own rules.
impl<'e> Writer<'_, 'e> {
    fn open_table(&mut self, alignments: Vec<Alignment>) {
        self.table = Some(Table {
            alignments,
            in_head: false,
            column: 0,
        });
        self.push("<div class=\"table\" tabindex=\"0\"><table>");
    }

    fn open_head(&mut self) {
        if let Some(table) = &mut self.table {
            table.in_head = true;
            table.column = 0;
        }
        self.push("<thead><tr>");
    }

    fn close_head(&mut self) {
        if let Some(table) = &mut self.table {
            table.in_head = false;
        }
        self.push("</tr></thead><tbody>\n");
    }

    fn open_row(&mut self) {
        if let Some(table) = &mut self.table {
            table.column = 0;
        }
        self.push("<tr>");
    }

    fn cell(&mut self, inner: Vec<Event<'e>>) {
        let (mut in_head, mut class) = (false, "");
        if let Some(table) = &mut self.table {
            in_head = table.in_head;
            if table.alignments.get(table.column) == Some(&Alignment::Right) {
                class = " class=\"number\"";
            }
            table.column = table.column.saturating_add(1);
        }
        // A head without words heads nothing.
        let tag = if in_head && !inner.is_empty() {
            "th"
        } else {
            "td"
        };
        let scope = if tag == "th" { " scope=\"col\"" } else { "" };
        self.push(format!("<{tag}{scope}{class}>"));
        let mut inner = inner.into_iter();
        while let Some(event) = inner.next() {
            if let Event::Start(Tag::Link { dest_url, .. }) = &event {
                let text = inner
                    .by_ref()
                    .take_while(|event| !matches!(event, Event::End(TagEnd::Link)))
                    .collect();
                self.link(dest_url, text);
            } else {
                self.note(&event);
                self.events.push(event);
            }
        }
        if let Some(section) = self.out.sections.last_mut() {
            section.text.push(' ');
        }
        self.push(format!("</{tag}>"));
    }
}

/// What comes before an end, without it.
fn until<'e>(rest: &mut Parser<'e>, is_end: impl Fn(&TagEnd) -> bool) -> Vec<Event<'e>> {
    rest.take_while(|event| !matches!(event, Event::End(end) if is_end(end)))
        .collect()
}

fn plain(events: &[Event<'_>]) -> String {
    let words = events.iter().filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
        Event::SoftBreak | Event::HardBreak => Some(" "),
        Event::Start(_)
        | Event::End(_)
        | Event::InlineMath(_)
        | Event::DisplayMath(_)
        | Event::Html(_)
        | Event::InlineHtml(_)
        | Event::FootnoteReference(_)
        | Event::Rule
        | Event::TaskListMarker(_) => None,
    });
    words.collect()
}

#[cfg(test)]
mod tests;
