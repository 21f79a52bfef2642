//! `trunkline social list`: every cell with what it brings and whether it is sold.

use serde_json::{Value, json};
use trunkline_catalog::{Book, GroupChoice, PriceClass};
use trunkline_db::Database;
use trunkline_gateway::CatalogSnapshot;
use trunkline_social::{Cell, Cells};
use trunkline_store::cell_pauses::{self, Pause};
use trunkline_types::Money;

use crate::commands::format::usd;
use crate::output::Output;
use crate::{table, times};

const NUMBERS: [usize; 3] = [2, 3, 4];

/// A cell as the operator sees it.
struct Row<'a> {
    cell: &'a Cell,
    price: Option<Money>,
    pause: Option<&'a Pause>,
}

pub(super) async fn run(
    console: &Database,
    cells: &Cells,
    platform: Option<&str>,
    output: &Output,
) -> anyhow::Result<()> {
    if let Some(platform) = platform {
        super::check_platform(cells, platform)?;
    }
    let mut session = console.session().await?;
    let book = CatalogSnapshot::load(&mut session).await?.book;
    let pauses = cell_pauses::paused(&mut session).await?;
    drop(session);
    let listed = cells
        .all()
        .filter(|cell| platform.is_none_or(|platform| cell.platform.key == platform));
    let rows: Vec<Row<'_>> = listed.map(|cell| Row::of(cell, &book, &pauses)).collect();
    let heads = [
        "platform",
        "capability",
        "price",
        "cost",
        "margin",
        "status",
        "reason",
    ];
    let columns: Vec<Vec<String>> = rows.iter().map(Row::columns).collect();
    let sold = rows.iter().filter(|row| row.is_sold()).count();
    let text = format!(
        "{}\n{} cells, {sold} available. Prices are USD for a call.",
        table::aligned(&heads, &NUMBERS, &columns),
        rows.len()
    );
    let objects: Vec<Value> = rows.iter().map(Row::object).collect();
    output.success(
        &text,
        &json!({ "ok": true, "available": sold, "cells": objects }),
    );
    Ok(())
}

// === impl Row ===

impl<'a> Row<'a> {
    fn of(cell: &'a Cell, book: &Book, pauses: &'a [Pause]) -> Self {
        let offer = book.offer(&cell.model, GroupChoice::Auto).ok();
        let is_this = |pause: &&Pause| {
            pause.platform == cell.platform.key && pause.capability == cell.capability.as_str()
        };
        Self {
            cell,
            price: offer.and_then(|(_, offer)| offer.call_price(PriceClass::Paid)),
            pause: pauses.iter().find(is_this),
        }
    }

    fn is_sold(&self) -> bool {
        self.price.is_some() && self.pause.is_none()
    }

    fn status(&self) -> &'static str {
        if self.is_sold() {
            "available"
        } else {
            "paused"
        }
    }

    /// Why it is not sold.
    fn reason(&self) -> Option<String> {
        match (self.pause, self.price) {
            (Some(pause), _) => Some(format!("{} ({})", pause.reason, pause.by.as_str())),
            (None, None) => Some("it has no price".to_owned()),
            (None, Some(_)) => None,
        }
    }

    fn margin(&self) -> Option<Money> {
        self.price?.checked_sub(self.cell.cost.usd).ok()
    }

    fn columns(&self) -> Vec<String> {
        let amount = |money: Option<Money>| money.map_or_else(|| "-".to_owned(), usd);
        vec![
            self.cell.platform.key.clone(),
            self.cell.capability.as_str().to_owned(),
            amount(self.price),
            usd(self.cell.cost.usd),
            amount(self.margin()),
            self.status().to_owned(),
            self.reason().unwrap_or_default(),
        ]
    }

    fn object(&self) -> Value {
        json!({
            "platform": self.cell.platform.key,
            "capability": self.cell.capability.as_str(),
            "model": self.cell.model,
            "price_usd": self.price.map(usd),
            "cost_usd": usd(self.cell.cost.usd),
            "margin_usd": self.margin().map(usd),
            "status": self.status(),
            "reason": self.reason(),
            "paused_by": self.pause.map(|pause| pause.by.as_str()),
            "paused_at": self.pause.map(|pause| times::rfc3339(pause.paused_at)),
        })
    }
}
