//! All platforms: those of the files that are built in, and those of an operator's files, which add one
//! or replace one.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use trunkline_types::{Money, file_instead};

use crate::cell::{
    Capability, Cell, Cost, CursorParam, FieldPitfalls, Increment, Inner, Kind, Limits, Method,
    On400, Paging, Param, Platform, StepParam,
};
use crate::document::{
    CarryTable, CellTable, CostTable, InnerTable, PagingTable, ParamTable, PlatformFile, StepTable,
};

/// Most platforms.
pub const MAX_PLATFORMS: usize = 200;
/// Longest file of a platform.
pub const MAX_CELL_FILE_BYTES: u64 = 262_144;
/// Most parameters of a cell.
const MAX_PARAMS: usize = 60;

/// The built-in files, by name: all that `build.rs` found in `cells/`.
const BUILTIN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/cells.rs"));

/// Every cell that is known, in the order of labels and capabilities.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cells {
    platforms: BTreeMap<String, Vec<Arc<Cell>>>,
}

/// Why a file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct CellsError {
    pub file: String,
    /// What is wrong, and what would be right.
    pub problem: String,
}

// === impl Cells ===

impl Cells {
    /// Those built in. An error is a mistake in our own files, which a test excludes.
    pub fn builtin() -> Result<Self, CellsError> {
        let mut cells = Self::default();
        for (name, text) in BUILTIN {
            let broken = file_instead(&format!("crates/social/cells/{name}.toml"));
            cells.add(name, broken.as_deref().unwrap_or(text))?;
        }
        Ok(cells)
    }

    /// Adds the platform of a file, or replaces the one of its name.
    pub fn add(&mut self, name: &str, text: &str) -> Result<(), CellsError> {
        let failed = |problem: String| CellsError {
            file: format!("{name}.toml"),
            problem,
        };
        let file: PlatformFile = toml::from_str(text).map_err(|error| failed(error.to_string()))?;
        if file.key != name {
            return Err(failed(format!("its key {:?} is not its name", file.key)));
        }
        let cells = platform(file).map_err(failed)?;
        self.platforms.insert(name.to_owned(), cells);
        if self.platforms.len() > MAX_PLATFORMS {
            return Err(failed(format!(
                "there are more than {MAX_PLATFORMS} platforms"
            )));
        }
        Ok(())
    }

    /// A cell by the two segments of its path.
    #[must_use]
    pub fn get(&self, platform: &str, capability: &str) -> Option<&Arc<Cell>> {
        let capability = Capability::of_word(capability)?;
        let mut cells = self.platforms.get(platform)?.iter();
        cells.find(|cell| cell.capability == capability)
    }

    /// Whether there is such a platform.
    #[must_use]
    pub fn knows(&self, platform: &str) -> bool {
        self.platforms.contains_key(platform)
    }

    /// A cell by its name in the usage log.
    #[must_use]
    pub fn by_model(&self, model: &str) -> Option<&Arc<Cell>> {
        self.all().find(|cell| cell.model == model)
    }

    /// Every cell.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Cell>> {
        let mut platforms: Vec<&Vec<Arc<Cell>>> = self.platforms.values().collect();
        platforms.sort_by_key(|cells| cells.first().map(|cell| order(&cell.platform)));
        platforms.into_iter().flatten()
    }
}

/// P2 comes before P10.
fn order(platform: &Platform) -> (usize, String, String) {
    let Platform { label, key, .. } = platform;
    (label.len(), label.clone(), key.clone())
}

fn platform(file: PlatformFile) -> Result<Vec<Arc<Cell>>, String> {
    let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if file.key.is_empty() || !file.key.bytes().all(lower) {
        return Err("key: lower-case letters, digits and _ are allowed".to_owned());
    }
    let platform = Platform {
        label: file.label,
        key: file.key,
        name: file.name,
    };
    let mut cells = Vec::new();
    for (word, table) in file.cells {
        let capability = Capability::of_word(&word)
            .ok_or_else(|| format!("cells.{word}: there is no such capability"))?;
        let read = cell(&platform, capability, table);
        let cell = read.map_err(|problem| format!("cells.{word}: {problem}"))?;
        cells.push(Arc::new(cell));
    }
    cells.sort_by_key(|cell| cell.capability);
    Ok(cells)
}

fn cell(platform: &Platform, capability: Capability, table: CellTable) -> Result<Cell, String> {
    if table.params.len() > MAX_PARAMS {
        return Err(format!("more than {MAX_PARAMS} parameters"));
    }
    let params = table.params.into_iter().map(param);
    let params: Vec<Param> = params.collect::<Result<_, _>>()?;
    let read = Cell {
        model: format!("social-{}-{}", platform.key, capability.as_str()),
        platform: platform.clone(),
        capability,
        price: table.price_usd.map(|text| money(&text)).transpose()?,
        cost: cost(table.cost)?,
        params,
        require_one_of: table.require_one_of,
        method: match table.method.as_str() {
            "GET" => Method::Get,
            "POST" => Method::Post,
            other => return Err(format!("method: {other:?} is neither GET nor POST")),
        },
        path: table.path,
        fixed: table.fixed,
        on_400: match table.on_400.as_str() {
            "not_found" => On400::NotFound,
            "try_again" => On400::TryAgain,
            other => {
                return Err(format!(
                    "on_400: {other:?} is neither not_found nor try_again"
                ));
            }
        },
        some_of: table.result.some_of,
        inner: table.result.inner.into_iter().map(inner).collect(),
        paging: table.paging.map(paging).transpose()?,
    };
    check_names(&read)?;
    check_pointers(&read)?;
    Ok(read)
}

fn money(text: &str) -> Result<Money, String> {
    let amount: Money = text.parse().map_err(|error| format!("{text:?}: {error}"))?;
    (amount > Money::ZERO)
        .then_some(amount)
        .ok_or_else(|| format!("{text:?} is no price"))
}

fn cost(table: CostTable) -> Result<Cost, String> {
    if table.source.is_empty() || table.read_on.is_empty() {
        return Err("cost: it needs a source and the day on which that was read".to_owned());
    }
    Ok(Cost {
        usd: money(&table.usd)?,
        source: table.source,
        read_on: table.read_on,
    })
}

fn inner(table: InnerTable) -> Inner {
    Inner {
        at: table.at,
        is: table.is.into_iter().map(plain).collect(),
    }
}

fn paging(table: PagingTable) -> Result<Paging, String> {
    let carry = |table: CarryTable| CursorParam {
        param: table.param,
        from: table.from,
        keep: table.keep,
    };
    let paging = Paging {
        carry: table.carry.into_iter().map(carry).collect(),
        step: table.step.map(step).transpose()?,
        more: table.more,
        is_end: table.is_end,
        ends: table.ends,
    };
    let moves = paging.step.is_some() || paging.carry.iter().any(|carry| !carry.keep);
    moves
        .then_some(paging)
        .ok_or_else(|| "paging: nothing moves from one page to the next".to_owned())
}

fn step(table: StepTable) -> Result<StepParam, String> {
    let by = match (table.by.as_integer(), table.by.as_str()) {
        (Some(by), _) if by > 0 => Increment::Number(by),
        (_, Some("items")) => Increment::Items,
        (_, _) => return Err("paging.step.by: neither a number nor \"items\"".to_owned()),
    };
    Ok(StepParam {
        param: table.param,
        first: table.first,
        by,
    })
}

fn param(table: ParamTable) -> Result<Param, String> {
    let name = table.name;
    let kind = match (table.kind.as_str(), table.words) {
        ("string", None) => Kind::Text,
        ("string", Some(words)) => Kind::IntegerOrWord(words),
        ("integer", None) => Kind::Integer,
        ("boolean", None) => Kind::Boolean,
        (other, _) => return Err(format!("{name}: {other:?} is no type, or has no words")),
    };
    let param = Param {
        kind,
        required: table.required,
        default: table.default.map(plain),
        example: table.example.map(plain),
        description: table.description,
        limits: Limits {
            min_chars: table.min_chars,
            max_chars: table.max_chars,
            max: table.max,
        },
        values: table.values,
        may_be_empty: table.may_be_empty,
        pitfalls: FieldPitfalls {
            no_effect: table.no_effect,
            beside: table.no_effect_beside,
            without: table.no_effect_without,
            pages_with: table.pages_with,
            short_lived: table.short_lived,
            warn_unlisted: table.warn_unlisted,
        },
        name,
    };
    for value in param.default.iter().chain(&param.example) {
        let fits = match param.kind {
            Kind::Text | Kind::IntegerOrWord(_) => value.is_string(),
            Kind::Integer => value.is_i64(),
            Kind::Boolean => value.is_boolean(),
        };
        if !fits {
            let (name, word) = (&param.name, param.kind.as_str());
            return Err(format!("{name}: {value} is no {word}"));
        }
    }
    Ok(param)
}

/// A value of a file as JSON. Files hold texts, whole numbers and flags.
fn plain(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Boolean(flag) => Value::Bool(flag),
        toml::Value::Float(_)
        | toml::Value::Datetime(_)
        | toml::Value::Array(_)
        | toml::Value::Table(_) => Value::Null,
    }
}

/// Whatever names a parameter must name one that is there, and no two are alike.
fn check_names(cell: &Cell) -> Result<(), String> {
    let groups = cell.require_one_of.iter().flatten();
    let steps = cell.paging.iter().flat_map(|paging| {
        let carried = paging.carry.iter().map(|carry| &carry.param);
        carried.chain(paging.step.iter().map(|step| &step.param))
    });
    let pitfalls = cell.params.iter().flat_map(|param| {
        let FieldPitfalls {
            beside,
            without,
            pages_with,
            ..
        } = &param.pitfalls;
        beside.iter().chain(without).chain(pages_with)
    });
    for name in groups.chain(steps).chain(pitfalls) {
        if cell.param(name).is_none() {
            return Err(format!("{name:?} is no parameter of it"));
        }
    }
    for (place, param) in cell.params.iter().enumerate() {
        let mut before = cell.params.iter().take(place);
        if before.any(|other| other.name == param.name) || cell.fixed.contains_key(&param.name) {
            return Err(format!("{:?} stands there twice", param.name));
        }
    }
    if cell.require_one_of.iter().any(|group| group.len() < 2) {
        return Err("require_one_of: a group has two members at least".to_owned());
    }
    Ok(())
}

fn check_pointers(cell: &Cell) -> Result<(), String> {
    let inner = cell.inner.iter().map(|inner| &inner.at);
    let pages = cell.paging.iter().flat_map(|paging| {
        let carried = paging.carry.iter().flat_map(|carry| &carry.from);
        carried.chain(&paging.more).chain(&paging.is_end)
    });
    for pointer in cell.some_of.iter().chain(inner).chain(pages) {
        if !pointer.starts_with('/') {
            return Err(format!("{pointer:?} is no JSON pointer"));
        }
    }
    if cell.some_of.is_empty() {
        return Err("result.some_of: where do its data lie?".to_owned());
    }
    if !cell.path.starts_with("/api/") {
        return Err(format!("path: {:?} is no path of the source", cell.path));
    }
    Ok(())
}
