//! Vendor-run tools that the model's record has a price for: they are sent, held for by a bound, and charged by the
//! calls that the upstream tells.

use std::collections::BTreeMap;

use serde_json::Value;
use trunkline_catalog::{Entry, LineRounding, ToolLine};
use trunkline_types::{Money, Usage};
use trunkline_wire::{Format, Request, ToolCallCounter, ToolCost, UnlistedKind, counts_tool};

use super::Quoted;
use crate::error::ApiError;

/// Calls that money is held for where the request does not bound them.
const DEFAULT_CALLS: u64 = 10;
/// Where tools stand in a request.
const TOOLS: &str = "tools[]";

/// A tool of a request that is sold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SoldTool {
    /// As lists of passed fields write it.
    pub(super) pattern: String,
    /// Its name in the record.
    name: String,
    /// Calls at most, by the request or by us.
    most: u64,
}

/// The tools of a request that its model's record sells.
pub(super) fn sold_tools(request: &Request, entry: &Entry) -> Vec<SoldTool> {
    let prices = &entry.extra_prices;
    if prices.tool_call.is_empty() || request.unlisted.is_empty() || request.passthrough.is_some() {
        return Vec::new();
    }
    let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
    let sold = request.unlisted.iter().filter_map(|unlisted| {
        let UnlistedKind::Tool { kind, .. } = &unlisted.what else {
            return None;
        };
        let name = prices.tool_named(kind)?;
        let is_sold = unlisted.pattern.starts_with(TOOLS) && counts_tool(request.format, name);
        is_sold.then(|| SoldTool {
            pattern: unlisted.pattern.clone(),
            name: name.to_owned(),
            most: most_calls(&body, kind),
        })
    });
    sold.collect()
}

/// Anthropic bounds each tool, OpenAI all of them together.
fn most_calls(body: &Value, kind: &str) -> u64 {
    let tools = body.get("tools").and_then(Value::as_array);
    let is_it = |tool: &&Value| tool.get("type").and_then(Value::as_str) == Some(kind);
    let tool = tools.into_iter().flatten().find(is_it);
    let own = tool.and_then(|tool| tool.get("max_uses"));
    let all = body.get("max_tool_calls");
    let declared = own.and_then(Value::as_u64).or_else(|| all?.as_u64());
    declared.unwrap_or(DEFAULT_CALLS)
}

impl Quoted {
    /// A counter of calls, where tools are sold that an upstream of this format gets.
    pub(super) fn tool_counter(&self, to: Format) -> Option<ToolCallCounter> {
        let sold = self.sold_to(to);
        (!sold.is_empty()).then(|| ToolCallCounter::new(to))
    }

    /// The tools that an upstream of this format gets. A translation writes none of them.
    pub(super) fn sold_to(&self, to: Format) -> &[SoldTool] {
        if to == self.format() {
            &self.sold_tools
        } else {
            &[]
        }
    }

    /// What the tools cost at most, a line for each.
    pub(crate) fn tool_bounds(&self) -> Result<Vec<ToolLine>, ApiError> {
        let most: BTreeMap<&str, u64> = self
            .sold_tools
            .iter()
            .map(|tool| (tool.name.as_str(), tool.most))
            .collect();
        self.lines(most.into_iter(), LineRounding::Up)
    }

    /// What the calls in usage cost, a line for each tool.
    pub(super) fn tool_lines(&self, usage: &Usage) -> Result<Vec<ToolLine>, ApiError> {
        self.lines(usage.tool_calls(), LineRounding::HalfUp)
    }

    fn lines<'a>(
        &self,
        calls: impl Iterator<Item = (&'a str, u64)>,
        rounding: LineRounding,
    ) -> Result<Vec<ToolLine>, ApiError> {
        let sale = &self.call.sale;
        let prices = &sale.model.entry().extra_prices;
        let lines = prices.tool_lines(calls, sale.rate, rounding);
        lines.map_err(|error| self.unpriceable(&error.to_string()))
    }

    /// An amount and lines of tools beside it.
    pub(super) fn with_tools(&self, amount: Money, lines: &[ToolLine]) -> Result<Money, ApiError> {
        let mut sum = lines.iter().map(|line| line.amount);
        let sum = sum.try_fold(amount, |sum, line| sum.checked_add(line));
        sum.map_err(|_| self.unpriceable("the amount is too large"))
    }
}

/// The lines as they stand in the cost of an answer.
pub(super) fn tool_costs(lines: &[ToolLine]) -> Vec<ToolCost> {
    let costs = lines.iter().map(|line| ToolCost {
        tool: line.tool.clone(),
        calls: line.calls,
        cost: line.amount,
    });
    costs.collect()
}
