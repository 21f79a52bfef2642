//! Checks a statement or a receipt line by line, in memory that does not grow with the file.
//!
//! Each line of the chain stands behind the hash that it had when it was entered. So a line whose text was changed
//! is named; and if text and hash were both changed, the day is named, because its lines do not make its root.

mod day;
mod lines;

use std::io::{self, BufRead};

use self::day::OpenDay;
use self::lines::FileLines;
use crate::file::{FileLine, Signed, read_path};
use crate::line::LineFacts;
use crate::{
    DayRecord, EndRecord, Finding, Hash, PublicKey, RECEIPT_HEAD, Report, STATEMENT_HEAD,
    root_of_path,
};

/// Checking stops at so many findings.
pub const MAX_FINDINGS: usize = 100;
/// Most bytes of a line of a file, its end included.
pub const MAX_LINE_BYTES: u64 = 1_048_576;

/// Why checking ends before the end of the file.
enum Stop {
    Read(io::Error),
    Found(Finding),
    /// There are enough findings.
    Enough,
}

struct Verifier<'a> {
    trusted: Option<&'a [PublicKey]>,
    report: Report,
    day: Option<OpenDay>,
    /// The number of the first line of the next day.
    next_first: u64,
}

/// Checks a file. `trusted` are the keys that may sign; without them every key may, and the report names those that
/// did.
pub fn verify(file: &mut dyn BufRead, trusted: Option<&[PublicKey]>) -> io::Result<Report> {
    let mut verifier = Verifier {
        trusted,
        report: Report::default(),
        day: None,
        next_first: 0,
    };
    match verifier.run(&mut FileLines::new(file)) {
        Ok(()) | Err(Stop::Enough) => {}
        Err(Stop::Found(finding)) => verifier.report.findings.push(finding),
        Err(Stop::Read(error)) => return Err(error),
    }
    let mut report = verifier.report;
    report.findings.truncate(MAX_FINDINGS);
    Ok(report)
}

// === impl Verifier ===

impl Verifier<'_> {
    fn run(&mut self, lines: &mut FileLines<'_>) -> Result<(), Stop> {
        let first = lines.next()?;
        if first.as_deref() == Some(STATEMENT_HEAD.trim_end().as_bytes()) {
            return self.statement(lines);
        }
        if first.as_deref() == Some(RECEIPT_HEAD.trim_end().as_bytes()) {
            self.report.is_receipt = true;
            return self.receipt(lines);
        }
        Err(malformed(1))
    }

    fn statement(&mut self, lines: &mut FileLines<'_>) -> Result<(), Stop> {
        loop {
            if self.report.findings.len() >= MAX_FINDINGS {
                return Err(Stop::Enough);
            }
            let Some(line) = lines.next()? else {
                self.close_day();
                return Err(Stop::Found(Finding::MissingEnd));
            };
            let at = lines.number();
            match FileLine::read(&line).ok_or_else(|| malformed(at))? {
                FileLine::Text { leaf, text } => self.text(leaf, text, at)?,
                FileLine::Day(signed) => self.open_day(signed, at)?,
                FileLine::End(signed) => {
                    self.end(signed, at)?;
                    return match lines.next()? {
                        None => Ok(()),
                        Some(_) => Err(malformed(lines.number())),
                    };
                }
                FileLine::Path(_) => return Err(malformed(at)),
            }
            lines.keep(line);
        }
    }

    /// A line of the chain.
    fn text(&mut self, leaf: Hash, text: &[u8], at: u64) -> Result<(), Stop> {
        let day = self.day.as_mut().ok_or_else(|| malformed(at))?;
        let made = Hash::of_leaf(text);
        day.tree.add(made);
        let finding = if made == leaf {
            let facts = LineFacts::read(text).ok_or_else(|| malformed(at))?;
            let totals = &mut self.report.totals;
            totals.paid = totals.paid.saturating_add(facts.paid.into());
            totals.trial = totals.trial.saturating_add(facts.trial.into());
            day.place(facts.n)
        } else {
            day.place_changed()
        };
        self.report.totals.lines = self.report.totals.lines.saturating_add(1);
        self.report.findings.extend(finding);
        Ok(())
    }

    fn open_day(&mut self, signed: Signed<'_>, at: u64) -> Result<(), Stop> {
        self.check_signature(&signed, at)?;
        let record = DayRecord::parse(signed.record).filter(|record| record.key == signed.key);
        let record = record.ok_or_else(|| malformed(at))?;
        self.close_day();
        let report = &mut self.report;
        if report.totals.days == 0 {
            report.previous = Some(record.previous);
        } else if report.account != Some(record.account)
            || report.head != Some(record.previous)
            || self.next_first != record.first
        {
            report.findings.push(Finding::MissingDays {
                before: record.day.clone(),
            });
        }
        report.account = Some(record.account);
        report.head = Some(Hash::of_record(signed.record));
        report.totals.days = report.totals.days.saturating_add(1);
        self.next_first = record.first.saturating_add(record.lines);
        self.day = Some(OpenDay::new(record));
        Ok(())
    }

    fn close_day(&mut self) {
        if let Some(day) = self.day.take() {
            self.report.findings.extend(day.close());
        }
    }

    fn end(&mut self, signed: Signed<'_>, at: u64) -> Result<(), Stop> {
        self.check_signature(&signed, at)?;
        let record = EndRecord::parse(signed.record).filter(|record| record.key == signed.key);
        let record = record.ok_or_else(|| malformed(at))?;
        self.close_day();
        let report = &mut self.report;
        let is_whole = record.days == report.totals.days
            && record.lines == report.totals.lines
            && report
                .account
                .is_none_or(|account| account == record.account)
            && report.head.is_none_or(|head| head == record.head);
        if !is_whole {
            report.findings.push(Finding::WrongEnd);
        }
        report.account = Some(record.account);
        report.head = Some(record.head);
        (report.from, report.to) = (record.from, record.to);
        Ok(())
    }

    fn check_signature(&mut self, signed: &Signed<'_>, file_line: u64) -> Result<(), Stop> {
        if self.trusted.is_some_and(|keys| !keys.contains(&signed.key)) {
            return Err(Stop::Found(Finding::UnknownKey { file_line }));
        }
        if !signed.is_signed() {
            return Err(Stop::Found(Finding::WrongSignature { file_line }));
        }
        if !self.report.keys.contains(&signed.key) {
            self.report.keys.push(signed.key);
        }
        Ok(())
    }

    fn receipt(&mut self, lines: &mut FileLines<'_>) -> Result<(), Stop> {
        let day = lines.required()?;
        let Some(FileLine::Day(signed)) = FileLine::read(&day) else {
            return Err(malformed(lines.number()));
        };
        self.open_day(signed, lines.number())?;
        let beside = lines.required()?;
        let path = match FileLine::read(&beside) {
            Some(FileLine::Path(rest)) => read_path(rest),
            Some(FileLine::Day(_) | FileLine::End(_) | FileLine::Text { .. }) | None => None,
        };
        let path = path.ok_or_else(|| malformed(lines.number()))?;
        let own = lines.required()?;
        let Some(FileLine::Text { leaf, text }) = FileLine::read(&own) else {
            return Err(malformed(lines.number()));
        };
        let facts = LineFacts::read(text).ok_or_else(|| malformed(lines.number()))?;
        if lines.next()?.is_some() {
            return Err(malformed(lines.number()));
        }
        let record = self.day.take().map(|day| day.record);
        let root = record.as_ref().and_then(|record| {
            let index = facts.n.checked_sub(record.first)?;
            root_of_path(leaf, index, record.lines, &path)
        });
        let report = &mut self.report;
        match record {
            Some(record) if root == Some(record.root) && Hash::of_leaf(text) == leaf => {
                (report.from, report.to) = (record.day.clone(), record.day);
            }
            Some(_) | None => return Err(Stop::Found(Finding::ChangedReceipt)),
        }
        (report.totals.lines, report.totals.paid) = (1, facts.paid.into());
        report.totals.trial = facts.trial.into();
        Ok(())
    }
}

fn malformed(file_line: u64) -> Stop {
    Stop::Found(Finding::Malformed { file_line })
}
