//! The part of YAML that configuration files are written in: mappings, lists, texts in and out of quotes,
//! `[...]` and `{...}` on one line, blocks with `|` and `>`, comments. Anchors, aliases, tags and texts over
//! several lines are refused by the number of their line. Every scalar is a text, so that a price keeps the
//! digits it was written with; `null`, `~` and nothing are null.

use std::iter::Peekable;
use std::str::Chars;

use serde_json::{Map, Value};

/// Deepest nesting that is read.
const MAX_DEPTH: usize = 32;

/// Why a text was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub(super) struct YamlError {
    line: usize,
    reason: String,
}

/// One line of structure.
#[derive(Debug, Clone)]
struct Line {
    /// As people count.
    number: usize,
    indent: usize,
    /// Without indentation and comment; empty where nothing else is.
    text: String,
    /// With both, for blocks of text.
    raw: String,
}

struct Reader {
    lines: Vec<Line>,
    at: usize,
}

pub(super) fn read(text: &str) -> Result<Value, YamlError> {
    let mut lines = Vec::new();
    for (position, raw) in text.lines().enumerate() {
        let number = position.saturating_add(1);
        let body = raw.trim_start_matches(' ');
        let indent = raw.len().saturating_sub(body.len());
        let text = without_comment(body).trim_end().to_owned();
        if body.starts_with('\t') && !text.trim().is_empty() {
            return Err(wrong(number, "indentation must be spaces"));
        }
        lines.push(Line {
            number,
            indent,
            text: if text == "---" && lines.iter().all(is_empty) {
                String::new()
            } else {
                text
            },
            raw: raw.to_owned(),
        });
    }
    let mut reader = Reader { lines, at: 0 };
    let value = match reader.peek() {
        Some(line) => reader.block(line.indent, 0)?,
        None => Value::Null,
    };
    match reader.peek() {
        Some(line) => Err(wrong(line.number, "unexpected indentation or document")),
        None => Ok(value),
    }
}

fn is_empty(line: &Line) -> bool {
    line.text.is_empty()
}

fn wrong(line: usize, reason: &str) -> YamlError {
    YamlError {
        line,
        reason: reason.to_owned(),
    }
}

/// A comment starts at a `#` behind a blank, outside quotes.
fn without_comment(text: &str) -> String {
    let mut kept = String::new();
    let mut quote: Option<char> = None;
    let mut before = ' ';
    for character in text.chars() {
        match quote {
            Some(open) if character == open && before != '\\' => quote = None,
            Some(_) => {}
            None if character == '#' && before == ' ' => break,
            None if matches!(character, '"' | '\'') && " [{,:-".contains(before) => {
                quote = Some(character);
            }
            None => {}
        }
        kept.push(character);
        before = character;
    }
    kept
}

// === impl Reader ===

impl Reader {
    /// The next line that says something.
    fn peek(&mut self) -> Option<Line> {
        while self.lines.get(self.at).is_some_and(is_empty) {
            self.at = self.at.saturating_add(1);
        }
        self.lines.get(self.at).cloned()
    }

    fn advance(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn block(&mut self, indent: usize, depth: usize) -> Result<Value, YamlError> {
        let Some(line) = self.peek() else {
            return Ok(Value::Null);
        };
        if depth > MAX_DEPTH {
            return Err(wrong(line.number, "nested too deeply"));
        }
        if item(&line.text).is_some() {
            return self.list(indent, depth);
        }
        if key(&line.text).is_some() {
            return self.mapping(indent, depth);
        }
        self.advance();
        inline(&line.text, line.number)
    }

    fn list(&mut self, indent: usize, depth: usize) -> Result<Value, YamlError> {
        let mut items = Vec::new();
        while let Some(line) = self.peek() {
            let Some(rest) = item(&line.text).filter(|_| line.indent == indent) else {
                break;
            };
            if rest.is_empty() {
                self.advance();
                items.push(self.below(indent, depth)?);
                continue;
            }
            // What stands behind the dash is a block of its own, as far in as it stands.
            let inner = indent.saturating_add(line.text.len().saturating_sub(rest.len()));
            if let Some(slot) = self.lines.get_mut(self.at) {
                slot.indent = inner;
                slot.text = rest.to_owned();
            }
            items.push(self.block(inner, depth.saturating_add(1))?);
        }
        Ok(Value::Array(items))
    }

    fn mapping(&mut self, indent: usize, depth: usize) -> Result<Value, YamlError> {
        let mut fields = Map::new();
        while let Some(line) = self.peek() {
            if line.indent != indent || item(&line.text).is_some() {
                break;
            }
            let Some((name, rest)) = key(&line.text) else {
                return Err(wrong(line.number, "must be `name: value`"));
            };
            let Value::String(name) = inline(name, line.number)? else {
                return Err(wrong(line.number, "a name must be a text"));
            };
            self.advance();
            let value = if rest.is_empty() {
                self.field(indent, depth)?
            } else if rest.starts_with(['|', '>']) {
                self.text_block(indent, rest.starts_with('>'))
            } else {
                inline(rest, line.number)?
            };
            if fields.insert(name, value).is_some() {
                return Err(wrong(line.number, "the name is duplicated"));
            }
        }
        Ok(Value::Object(fields))
    }

    /// What a field without a value on its line holds: a list may stand as far out as the field.
    fn field(&mut self, indent: usize, depth: usize) -> Result<Value, YamlError> {
        match self.peek() {
            Some(line) if line.indent == indent && item(&line.text).is_some() => {
                self.list(indent, depth.saturating_add(1))
            }
            Some(_) | None => self.below(indent, depth),
        }
    }

    fn below(&mut self, indent: usize, depth: usize) -> Result<Value, YamlError> {
        match self.peek() {
            Some(line) if line.indent > indent => self.block(line.indent, depth.saturating_add(1)),
            Some(_) | None => Ok(Value::Null),
        }
    }

    /// The lines that stand further in, comments included.
    fn text_block(&mut self, indent: usize, is_folded: bool) -> Value {
        let mut lines: Vec<String> = Vec::new();
        while let Some(line) = self.lines.get(self.at) {
            let is_blank = line.raw.trim().is_empty();
            if !is_blank && line.indent <= indent {
                break;
            }
            lines.push(line.raw.trim().to_owned());
            self.advance();
        }
        let text = lines.join(if is_folded { " " } else { "\n" });
        Value::String(text.trim_end().to_owned())
    }
}

/// What stands behind the dash of a list's item.
fn item(text: &str) -> Option<&str> {
    match text.strip_prefix('-')? {
        "" => Some(""),
        rest => rest.strip_prefix(' ').map(str::trim_start),
    }
}

/// A name and what stands behind its colon.
fn key(text: &str) -> Option<(&str, &str)> {
    if text.starts_with(['[', '{']) {
        return None;
    }
    let end = match text.chars().next()? {
        quote @ ('"' | '\'') => {
            let inside = text.strip_prefix(quote)?;
            let close = inside.find(quote)?;
            close.checked_add(2)?
        }
        _ => text
            .find(": ")
            .or_else(|| text.strip_suffix(':').map(str::len))?,
    };
    let (name, rest) = text.split_at_checked(end)?;
    Some((name, rest.trim_start().strip_prefix(':')?.trim_start()))
}

/// A value that stands on one line.
fn inline(text: &str, line: usize) -> Result<Value, YamlError> {
    let mut rest = text.chars().peekable();
    let is_flow = text.starts_with(['[', '{', '"', '\'']);
    if !is_flow {
        return plain(text, line);
    }
    let value = flow(&mut rest, line, 0)?;
    if rest.any(|character| character != ' ') {
        return Err(wrong(line, "something stands behind the value"));
    }
    Ok(value)
}

fn plain(text: &str, line: usize) -> Result<Value, YamlError> {
    let text = text.trim();
    if text.starts_with(['&', '*', '!', '%', '@', '`', '|', '>']) {
        let reason = "anchors, aliases, tags and directives are not read; write the value out, or \
                      convert the file to JSON, which is read too";
        return Err(wrong(line, reason));
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Ok(Value::Null),
        text => Ok(Value::String(text.to_owned())),
    }
}

type Rest<'a> = Peekable<Chars<'a>>;

fn flow(rest: &mut Rest<'_>, line: usize, depth: usize) -> Result<Value, YamlError> {
    if depth > MAX_DEPTH {
        return Err(wrong(line, "nested too deeply"));
    }
    blanks(rest);
    match rest.peek() {
        Some('[') => flow_list(rest, line, depth),
        Some('{') => flow_mapping(rest, line, depth),
        Some('"') => double_quoted(rest, line).map(Value::String),
        Some('\'') => single_quoted(rest, line).map(Value::String),
        Some(_) | None => {
            let mut text = String::new();
            while let Some(character) = rest.peek().copied() {
                let ends = matches!(character, ',' | ']' | '}');
                // A colon belongs to an address unless a blank is behind it.
                let is_colon =
                    character == ':' && rest.clone().nth(1).is_none_or(|next| next == ' ');
                if ends || is_colon {
                    break;
                }
                text.push(character);
                rest.next();
            }
            plain(&text, line)
        }
    }
}

fn flow_list(rest: &mut Rest<'_>, line: usize, depth: usize) -> Result<Value, YamlError> {
    rest.next();
    let mut items = Vec::new();
    loop {
        blanks(rest);
        if rest.next_if_eq(&']').is_some() {
            return Ok(Value::Array(items));
        }
        items.push(flow(rest, line, depth.saturating_add(1))?);
        separator(rest, ']', line)?;
    }
}

fn flow_mapping(rest: &mut Rest<'_>, line: usize, depth: usize) -> Result<Value, YamlError> {
    rest.next();
    let mut fields = Map::new();
    loop {
        blanks(rest);
        if rest.next_if_eq(&'}').is_some() {
            return Ok(Value::Object(fields));
        }
        let Value::String(name) = flow(rest, line, depth.saturating_add(1))? else {
            return Err(wrong(line, "a name must be a text"));
        };
        blanks(rest);
        if rest.next_if_eq(&':').is_none() {
            return Err(wrong(line, "must be `{name: value}` on one line"));
        }
        let value = flow(rest, line, depth.saturating_add(1))?;
        if fields.insert(name, value).is_some() {
            return Err(wrong(line, "the name is duplicated"));
        }
        separator(rest, '}', line)?;
    }
}

/// A comma, or the end, which stays.
fn separator(rest: &mut Rest<'_>, end: char, line: usize) -> Result<(), YamlError> {
    blanks(rest);
    if rest.next_if_eq(&',').is_some() || rest.peek() == Some(&end) {
        return Ok(());
    }
    Err(wrong(line, "the brackets must close on their line"))
}

fn blanks(rest: &mut Rest<'_>) {
    while rest.next_if_eq(&' ').is_some() {}
}

fn single_quoted(rest: &mut Rest<'_>, line: usize) -> Result<String, YamlError> {
    rest.next();
    let mut text = String::new();
    while let Some(character) = rest.next() {
        match character {
            // Two of them are one.
            '\'' if rest.next_if_eq(&'\'').is_some() => text.push('\''),
            '\'' => return Ok(text),
            other => text.push(other),
        }
    }
    Err(wrong(line, "the quote must close on its line"))
}

fn double_quoted(rest: &mut Rest<'_>, line: usize) -> Result<String, YamlError> {
    rest.next();
    let mut text = String::new();
    while let Some(character) = rest.next() {
        match character {
            '"' => return Ok(text),
            '\\' => match rest.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(kept @ ('"' | '\\' | '/')) => text.push(kept),
                Some(_) | None => return Err(wrong(line, "the escape is not read")),
            },
            other => text.push(other),
        }
    }
    Err(wrong(line, "the quote must close on its line"))
}

#[cfg(test)]
#[path = "yaml_tests.rs"]
mod tests;
