//! The endpoints as data: one file of `social/` for each platform, one row for each path. What a row
//! says is how the vendor's SDK calls the path and how the platform's own answer looks inside.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use http::Method;
use serde::Deserialize;

use super::paging::Paging;
use super::params::Param;
use super::template::{Template, TemplateError};

/// The files, by platform: all that `build.rs` found in `social/`.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/social.rs"));
/// Items of a list, on one page.
pub(super) const PAGE_ITEMS: usize = 5;
/// Pages of a list that is paged.
pub(super) const PAGES: usize = 3;

/// Every endpoint, by path. A file that cannot be read is an error of every request; a test of this crate
/// reads them all.
static BOOK: LazyLock<Result<BTreeMap<String, Row>, String>> = LazyLock::new(read_all);

#[derive(Debug)]
pub(super) struct Row {
    pub(super) path: String,
    /// GET reads its parameters from the query, POST from a JSON body.
    pub(super) method: Method,
    pub(super) price_micros: u64,
    pub(super) params: Vec<Param>,
    /// At least one of these must be given.
    pub(super) one_of: Vec<String>,
    /// What decides which data come: cursors belong to it.
    pub(super) target: Vec<String>,
    pub(super) page: Option<Paging>,
    /// Items of a list that is not paged.
    pub(super) size: usize,
    shape: Shape,
    other: Option<Other>,
    /// `data` of a failure inside a good answer.
    pub(super) inner: Template,
}

/// How `data` looks, and one item of it.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) data: Template,
    pub(super) item: Template,
}

/// A second shape that a parameter asks for.
#[derive(Debug)]
struct Other {
    param: String,
    is: String,
    shape: Shape,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    inner: String,
    endpoint: Vec<WrittenRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRow {
    path: String,
    method: WrittenMethod,
    price_micros: u64,
    #[serde(default)]
    params: Vec<Param>,
    #[serde(default)]
    one_of: Vec<String>,
    target: Option<Vec<String>>,
    page: Option<Paging>,
    size: Option<usize>,
    data: String,
    item: String,
    other: Option<WrittenOther>,
}

#[derive(Clone, Copy, Deserialize)]
enum WrittenMethod {
    #[serde(rename = "GET")]
    Get,
    #[serde(rename = "POST")]
    Post,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenOther {
    param: String,
    is: String,
    data: String,
    item: Option<String>,
}

/// The endpoint at a path.
pub(super) fn at(path: &str) -> Result<Option<&'static Row>, &'static str> {
    match &*BOOK {
        Ok(book) => Ok(book.get(path)),
        Err(error) => Err(error),
    }
}

/// Every endpoint, by path.
pub(super) fn all() -> impl Iterator<Item = &'static Row> {
    BOOK.as_ref().into_iter().flat_map(BTreeMap::values)
}

// === impl Row ===

impl Row {
    /// What a value means: a word is its number.
    pub(super) fn meaning<'a>(&'a self, name: &str, value: &'a str) -> &'a str {
        let param = self.params.iter().find(|param| param.name == name);
        param.map_or(value, |param| param.meaning(value))
    }

    /// The shape that these values ask for.
    pub(super) fn shape(&self, values: &BTreeMap<String, String>) -> &Shape {
        match &self.other {
            Some(other) if values.get(&other.param) == Some(&other.is) => &other.shape,
            Some(_) | None => &self.shape,
        }
    }

    fn read(written: WrittenRow, inner: &str) -> Result<Self, String> {
        let wrong = |error: TemplateError| format!("{}: {error}", written.path);
        let shape = Shape::read(&written.data, &written.item).map_err(wrong)?;
        let other = match written.other {
            None => None,
            Some(other) => Some(Other {
                shape: Shape::read(&other.data, other.item.as_ref().unwrap_or(&written.item))
                    .map_err(wrong)?,
                param: other.param,
                is: other.is,
            }),
        };
        let required = || {
            let names = written.params.iter().filter(|param| param.required);
            let names = names.map(|param| param.name.clone());
            names.chain(written.one_of.iter().cloned()).collect()
        };
        let row = Self {
            target: written.target.clone().unwrap_or_else(required),
            method: match written.method {
                WrittenMethod::Get => Method::GET,
                WrittenMethod::Post => Method::POST,
            },
            inner: Template::read(inner).map_err(wrong)?,
            path: written.path,
            price_micros: written.price_micros,
            params: written.params,
            one_of: written.one_of,
            page: written.page,
            size: written.size.unwrap_or(PAGE_ITEMS),
            shape,
            other,
        };
        row.check()?;
        Ok(row)
    }

    /// Every name in a row is the name of a parameter.
    fn check(&self) -> Result<(), String> {
        let mut names: Vec<&String> = self.one_of.iter().chain(&self.target).collect();
        if let Some(page) = &self.page {
            names.push(&page.param);
            names.extend(page.session.iter().chain(&page.checks));
        }
        names.extend(self.other.iter().map(|other| &other.param));
        let is_known = |name: &&&String| self.params.iter().any(|param| param.name == ***name);
        match names.iter().find(|name| !is_known(name)) {
            None => Ok(()),
            Some(name) => Err(format!("{}: {name} is no parameter", self.path)),
        }
    }
}

// === impl Shape ===

impl Shape {
    fn read(data: &str, item: &str) -> Result<Self, TemplateError> {
        Ok(Self {
            data: Template::read(data)?,
            item: Template::read(item)?,
        })
    }
}

fn read_all() -> Result<BTreeMap<String, Row>, String> {
    let mut book = BTreeMap::new();
    for (name, text) in FILES {
        let wrong = |error: String| format!("{name}: {error}");
        let file: WrittenFile =
            toml::from_str(text).map_err(|error| wrong(error.message().to_owned()))?;
        for written in file.endpoint {
            let row = Row::read(written, &file.inner).map_err(wrong)?;
            if let Some(twice) = book.insert(row.path.clone(), row) {
                return Err(wrong(format!("{} stands twice", twice.path)));
            }
        }
    }
    Ok(book)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read_and_there_are_twenty_platforms_and_a_hundred_paths() {
        let book = BOOK.as_ref().expect("every file is good");
        assert_eq!((FILES.len(), book.len()), (20, 100));
        let is_ours = |row: &&Row| row.path.starts_with("/api/v1/") && row.price_micros > 0;
        assert_eq!(all().filter(is_ours).count(), 100);
    }

    #[test]
    fn a_row_that_pages_by_an_unknown_parameter_is_refused() {
        let text = r#"
            path = "/api/v1/a/b"
            method = "GET"
            price_micros = 1000
            page = { by = "page", param = "pn" }
            data = '{}'
            item = '{}'
        "#;
        let written: WrittenRow = toml::from_str(text).unwrap();
        let refused = Row::read(written, "{}").map(|row| row.path);
        assert_eq!(refused, Err("/api/v1/a/b: pn is no parameter".to_owned()));
    }
}
