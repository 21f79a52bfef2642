//! The requirement ids: read from the specification's table, or from the committed list of ids alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::conformance::ranges;

const IDS_HEADING: &str = "section\tnumbers";

/// The specification: every id with its sentence, which must not enter the repository.
pub(crate) struct Spec {
    pub(crate) ids: Ids,
    pub(crate) sentences: BTreeMap<String, String>,
}

/// All ids by section, the sections in the order of the specification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ids {
    sections: Vec<Section>,
}

/// The ids that differ in their last number only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    /// The id without its last number, such as `G-4.2-A`.
    pub(crate) key: String,
    pub(crate) numbers: BTreeSet<u32>,
}

// === impl Spec ===

impl Spec {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        #[expect(
            clippy::disallowed_methods,
            reason = "the specification is ours and is named by the developer"
        )]
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("reading the specification {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("in {}", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let mut ids = Ids::default();
        let mut sentences = BTreeMap::new();
        let mut rows = text.lines();
        let heading = rows.next().unwrap_or_default();
        ensure!(
            heading.starts_with("id\tsection\trequirement"),
            "the columns are `{heading}`"
        );
        for row in rows.filter(|row| !row.is_empty()) {
            let mut cells = row.split('\t');
            let (Some(id), Some(_section), Some(sentence)) =
                (cells.next(), cells.next(), cells.next())
            else {
                anyhow::bail!("a row with too few columns: `{row}`");
            };
            ids.add(id)?;
            sentences.insert(id.to_owned(), sentence.to_owned());
        }
        Ok(Self { ids, sentences })
    }
}

// === impl Ids ===

impl Ids {
    pub(crate) fn sections(&self) -> &[Section] {
        &self.sections
    }

    pub(crate) fn len(&self) -> usize {
        self.sections
            .iter()
            .map(|section| section.numbers.len())
            .sum()
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        let Some((key, number)) = split_id(id) else {
            return false;
        };
        self.sections
            .iter()
            .any(|section| section.key == key && section.numbers.contains(&number))
    }

    /// The list as committed: one line a section, numbers folded.
    pub(crate) fn to_committed(&self) -> String {
        let mut lines = vec![IDS_HEADING.to_owned()];
        for section in &self.sections {
            let numbers = ranges::fold(section.numbers.iter().copied());
            lines.push(format!("{}\t{numbers}", section.key));
        }
        lines.join("\n") + "\n"
    }

    pub(crate) fn parse_committed(text: &str) -> Result<Self> {
        let mut ids = Self::default();
        for line in text.lines().skip(1).filter(|line| !line.is_empty()) {
            let (key, numbers) = line
                .split_once('\t')
                .with_context(|| format!("no tab in `{line}`"))?;
            for number in ranges::unfold(numbers)? {
                ids.add(&format!("{key}-{}", ranges::number_text(number)))?;
            }
        }
        Ok(ids)
    }

    fn add(&mut self, id: &str) -> Result<()> {
        let (key, number) = split_id(id).with_context(|| format!("`{id}` is no id"))?;
        let known = self.sections.iter_mut().find(|section| section.key == key);
        let is_new = match known {
            Some(section) => section.numbers.insert(number),
            None => {
                self.sections.push(Section {
                    key: key.to_owned(),
                    numbers: BTreeSet::from([number]),
                });
                true
            }
        };
        ensure!(is_new, "`{id}` stands twice");
        Ok(())
    }
}

// === impl Section ===

impl Section {
    pub(crate) fn id(&self, number: u32) -> String {
        format!("{}-{}", self.key, ranges::number_text(number))
    }
}

/// The section key and the last number; `D-2-1` is not `D-2-01`.
fn split_id(id: &str) -> Option<(&str, u32)> {
    let (key, digits) = id.rsplit_once('-')?;
    let number = digits.parse().ok()?;
    (ranges::number_text(number) == digits && key.contains('-')).then_some((key, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "id\tsection\trequirement\thow to test\n\
        G-4.2-A-01\t1\tOne.\tlook\n\
        G-4.2-03\t1\tThree.\tlook\n\
        G-4.2-A-02\t1\tTwo.\tlook\n";

    #[test]
    fn the_committed_list_holds_the_ids_and_no_sentence() {
        let ids = Spec::parse(TABLE).unwrap().ids;
        let committed = ids.to_committed();
        assert_eq!(committed, "section\tnumbers\nG-4.2-A\t01..02\nG-4.2\t03\n");
        assert_eq!(Ids::parse_committed(&committed).unwrap(), ids);
        assert_eq!(ids.len(), 3);
    }

    #[test]
    fn an_id_is_known_only_as_it_is_written() {
        let ids = Spec::parse(TABLE).unwrap().ids;
        assert!(ids.contains("G-4.2-A-01") && ids.contains("G-4.2-03"));
        for unknown in ["G-4.2-A-1", "G-4.2-A-03", "G-4.2-A", "G-4.2-A-+1", ""] {
            assert!(!ids.contains(unknown), "{unknown}");
        }
    }

    #[test]
    fn a_table_that_names_an_id_twice_is_refused() {
        let twice = format!("{TABLE}G-4.2-03\t1\tAgain.\tlook\n");
        assert!(Spec::parse(&twice).is_err());
        assert!(Spec::parse("name\tvalue\n").is_err());
    }
}
