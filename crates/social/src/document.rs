//! A platform's file as it is written. What a word means stands in docs/dev/adding/platform.md; a word that
//! is not known here is a mistake and not a remark.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlatformFile {
    pub(crate) label: String,
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) cells: BTreeMap<String, CellTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CellTable {
    pub(crate) price_usd: Option<String>,
    pub(crate) method: String,
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) fixed: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) require_one_of: Vec<Vec<String>>,
    pub(crate) on_400: String,
    pub(crate) cost: CostTable,
    pub(crate) result: ResultTable,
    pub(crate) paging: Option<PagingTable>,
    #[serde(default)]
    pub(crate) params: Vec<ParamTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CostTable {
    pub(crate) usd: String,
    pub(crate) source: String,
    pub(crate) read_on: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResultTable {
    pub(crate) some_of: Vec<String>,
    #[serde(default)]
    pub(crate) inner: Vec<InnerTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InnerTable {
    pub(crate) at: String,
    pub(crate) is: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PagingTable {
    #[serde(default)]
    pub(crate) carry: Vec<CarryTable>,
    pub(crate) step: Option<StepTable>,
    #[serde(default)]
    pub(crate) more: Vec<String>,
    #[serde(default)]
    pub(crate) is_end: Vec<String>,
    #[serde(default)]
    pub(crate) ends: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CarryTable {
    pub(crate) param: String,
    pub(crate) from: Vec<String>,
    #[serde(default)]
    pub(crate) keep: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepTable {
    pub(crate) param: String,
    pub(crate) first: i64,
    pub(crate) by: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ParamTable {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) required: bool,
    pub(crate) default: Option<Value>,
    pub(crate) example: Option<Value>,
    pub(crate) description: String,
    pub(crate) min_chars: Option<usize>,
    pub(crate) max_chars: Option<usize>,
    pub(crate) max: Option<i64>,
    #[serde(default)]
    pub(crate) values: Vec<String>,
    pub(crate) words: Option<BTreeMap<String, i64>>,
    #[serde(default)]
    pub(crate) may_be_empty: bool,
    pub(crate) no_effect: Option<String>,
    #[serde(default)]
    pub(crate) no_effect_beside: Vec<String>,
    pub(crate) no_effect_without: Option<String>,
    #[serde(default)]
    pub(crate) pages_with: Vec<String>,
    #[serde(default)]
    pub(crate) short_lived: bool,
    #[serde(default)]
    pub(crate) warn_unlisted: bool,
}
