//! Columns of text for people. Control characters, which could move the cursor of a terminal, are
//! shown as a mark.

/// Lines with their columns aligned, the first one being the heads. Columns named in `right` are
/// aligned to the right, as numbers are.
pub(crate) fn aligned(heads: &[&str], right: &[usize], rows: &[Vec<String>]) -> String {
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let width = |column: usize| {
        let cells = std::iter::once(&heads).chain(rows);
        let lengths = cells.filter_map(|row| row.get(column).map(|cell| cell.chars().count()));
        lengths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let mut text = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let cell = cell.replace(char::is_control, "\u{fffd}");
            let padded = if right.contains(&column) {
                format!("{cell:>width$}  ")
            } else {
                format!("{cell:<width$}  ")
            };
            text.push_str(&padded);
        }
        text.trim_end().to_owned()
    };
    let lines: Vec<String> = std::iter::once(&heads).chain(rows).map(line).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_numbers_stand_right() {
        let rows = vec![
            vec!["a…z".to_owned(), "1".to_owned(), "x".to_owned()],
            vec!["b\n".to_owned(), "10".to_owned(), String::new()],
        ];
        assert_eq!(
            aligned(&["n", "sum", "what"], &[1], &rows),
            "n    sum  what\na…z    1  x\nb\u{fffd}    10"
        );
    }
}
