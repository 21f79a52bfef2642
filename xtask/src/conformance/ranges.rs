//! Numbers of one section folded into ranges: `01..03, 07`.

use anyhow::{Context, Result, ensure};

/// Two digits at least, as the ids are written.
pub(crate) fn number_text(number: u32) -> String {
    format!("{number:02}")
}

/// Ascending numbers as text, neighbours joined.
pub(crate) fn fold(numbers: impl IntoIterator<Item = u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == number => *end = number,
            _ => runs.push((number, number)),
        }
    }
    let texts: Vec<_> = runs
        .into_iter()
        .map(|(start, end)| match start == end {
            true => number_text(start),
            false => format!("{}..{}", number_text(start), number_text(end)),
        })
        .collect();
    texts.join(", ")
}

/// The reverse of [`fold`].
pub(crate) fn unfold(text: &str) -> Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (start, end) = part.trim().split_once("..").unwrap_or((part, part));
        let start = parse(start)?;
        let end = parse(end)?;
        ensure!(start <= end && end < 10_000, "`{part}` is no range");
        numbers.extend(start..=end);
    }
    Ok(numbers)
}

fn parse(text: &str) -> Result<u32> {
    text.trim()
        .parse()
        .with_context(|| format!("`{text}` is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_fold_and_unfold() {
        let numbers = [1, 2, 3, 7, 9, 10];
        assert_eq!(fold(numbers), "01..03, 07, 09..10");
        assert_eq!(unfold("01..03, 07, 09..10").unwrap(), numbers);
        assert_eq!(fold([]), "");
        assert!(unfold("3..1").is_err() && unfold("x").is_err());
    }
}
