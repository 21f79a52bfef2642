//! `trunkline social price --suggest`: a price for every cell that has none, seen before it is written.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

use serde_json::{Value, json};
use trunkline_catalog::Book;
use trunkline_db::Database;
use trunkline_gateway::{CatalogSnapshot, Change, Published};
use trunkline_social::{Cell, Cells};

use crate::cli::PriceCells;
use crate::commands::catalog;
use crate::commands::format::usd;
use crate::output::Output;
use crate::social::{Proposal, is_priced, priced, proposal};
use crate::table;

/// Longest answer that is read.
const MAX_ANSWER_BYTES: u64 = 100;

/// A cell and what it may be sold for.
struct Suggestion<'a> {
    cell: &'a Cell,
    proposal: Proposal,
}

/// What became of the question.
struct Decision {
    is_yes: bool,
    was_asked: bool,
}

pub(super) async fn run(
    console: &Database,
    cells: &Cells,
    options: &PriceCells,
    output: &Output,
) -> anyhow::Result<()> {
    let book = CatalogSnapshot::load(&mut console.session().await?)
        .await?
        .book;
    let suggested = suggestions(cells, &book)?;
    let text = price_table(&suggested);
    let decision = decided(options, &text, suggested.len(), output)?;
    // Who was asked has seen the table.
    let table = if decision.was_asked {
        String::new()
    } else {
        format!("{text}\n")
    };
    if suggested.is_empty() {
        output.success(&text, &object(&suggested, None));
    } else if decision.is_yes {
        let done = write(console, &suggested).await?;
        let (change, models) = (done.after.revision, done.models);
        let message =
            format!("{table}Change {change} of the catalog: {models} cells now have a price.");
        output.success(&message, &object(&suggested, Some(&done)));
    } else {
        let message = format!("{table}Nothing was written; --yes writes these prices.");
        output.success(&message, &object(&suggested, None));
    }
    Ok(())
}

fn suggestions<'a>(cells: &'a Cells, book: &Book) -> anyhow::Result<Vec<Suggestion<'a>>> {
    let unpriced = cells.all().filter(|cell| !is_priced(book, cell));
    unpriced
        .map(|cell| {
            let proposal = proposal(cell)?;
            Ok(Suggestion { cell, proposal })
        })
        .collect()
}

/// Asks once. Who cannot be asked has not said yes.
fn decided(
    options: &PriceCells,
    text: &str,
    count: usize,
    output: &Output,
) -> anyhow::Result<Decision> {
    let can_ask = !output.is_for_programs() && io::stdin().is_terminal();
    if options.yes || count == 0 || !can_ask {
        return Ok(Decision {
            is_yes: options.yes,
            was_asked: false,
        });
    }
    let mut screen = io::stderr().lock();
    write!(screen, "{text}\nWrite these {count} prices? [y/N] ")?;
    screen.flush()?;
    drop(screen);
    let mut answer = String::new();
    let mut typed = io::stdin().lock().take(MAX_ANSWER_BYTES);
    typed.read_line(&mut answer)?;
    Ok(Decision {
        is_yes: matches!(answer.trim(), "y" | "Y" | "yes"),
        was_asked: true,
    })
}

/// All of them as one change. A cell that was priced meanwhile keeps that price.
async fn write(console: &Database, suggested: &[Suggestion<'_>]) -> anyhow::Result<Published> {
    let note = format!("social price --suggest: {} cells", suggested.len());
    // What is wrong shows on the catalog as it is then; in that case nothing is changed.
    let mut wrong = None;
    let done = catalog::write(console, &note, |before| {
        change(suggested, before).unwrap_or_else(|error| {
            wrong = Some(error);
            Change::default()
        })
    })
    .await?;
    wrong.map_or(Ok(done), Err)
}

fn change(suggested: &[Suggestion<'_>], before: &Book) -> anyhow::Result<Change> {
    let mut change = Change::default();
    let still = suggested.iter().filter(|one| !is_priced(before, one.cell));
    for Suggestion { cell, proposal } in still {
        let entry = priced(cell, *proposal, before)?;
        change.models.insert(cell.model.clone(), Some(entry));
    }
    Ok(change)
}

fn price_table(suggested: &[Suggestion<'_>]) -> String {
    if suggested.is_empty() {
        return "Every cell has a price.".to_owned();
    }
    let row = |one: &Suggestion<'_>| {
        vec![
            one.cell.platform.key.clone(),
            one.cell.capability.as_str().to_owned(),
            usd(one.cell.cost.usd),
            usd(one.proposal.price),
            one.proposal.basis.words().to_owned(),
            one.cell.cost.read_on.clone(),
            one.cell.cost.source.clone(),
        ]
    };
    let heads = [
        "platform",
        "capability",
        "source asks",
        "proposed",
        "because of",
        "read on",
        "where that stands",
    ];
    let rows: Vec<Vec<String>> = suggested.iter().map(row).collect();
    table::aligned(&heads, &[2, 3], &rows)
}

fn object(suggested: &[Suggestion<'_>], done: Option<&Published>) -> Value {
    let one = |one: &Suggestion<'_>| {
        json!({
            "platform": one.cell.platform.key,
            "capability": one.cell.capability.as_str(),
            "model": one.cell.model,
            "source_usd": usd(one.cell.cost.usd),
            "source": one.cell.cost.source,
            "read_on": one.cell.cost.read_on,
            "price_usd": usd(one.proposal.price),
            "basis": one.proposal.basis.words(),
        })
    };
    json!({
        "ok": true,
        "proposals": suggested.iter().map(one).collect::<Vec<_>>(),
        "written": done.map_or(0, |done| done.models),
        "revision": done.map(|done| done.after.revision),
        "pricing_version": done.map(|done| done.after.book.version().to_string()),
    })
}
