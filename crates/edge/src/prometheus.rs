//! Prometheus' text format, version 0.0.4. Every family has its help and its type.

use std::fmt::{Display, Write as _};

use crate::metrics::{ByStream, Histogram};

const PREFIX: &str = "trunkline_";

/// A page that is being written.
#[derive(Default)]
pub struct Page(String);

/// The samples of one family.
pub struct Family<'a> {
    page: &'a mut String,
    name: &'static str,
}

pub type Label<'a> = (&'a str, &'a str);

// === impl Page ===

impl Page {
    pub fn counter(&mut self, name: &'static str, help: &str, value: impl Display) {
        self.counters(name, help).sample(&[], value);
    }

    pub fn gauge(&mut self, name: &'static str, help: &str, value: impl Display) {
        self.gauges(name, help).sample(&[], value);
    }

    pub fn counters(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "counter", help)
    }

    pub fn gauges(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "gauge", help)
    }

    pub fn histograms(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "histogram", help)
    }

    pub fn by_stream(&mut self, name: &'static str, help: &str, both: &ByStream) {
        let mut family = self.histograms(name, help);
        family.histogram(("stream", "false"), &both.whole);
        family.histogram(("stream", "true"), &both.stream);
    }

    pub fn text(self) -> String {
        self.0
    }

    fn family(&mut self, name: &'static str, kind: &str, help: &str) -> Family<'_> {
        let page = &mut self.0;
        line(page, format_args!("# HELP {PREFIX}{name} {help}"));
        line(page, format_args!("# TYPE {PREFIX}{name} {kind}"));
        Family { page, name }
    }
}

// === impl Family ===

impl Family<'_> {
    pub fn sample(&mut self, labels: &[Label<'_>], value: impl Display) {
        self.part("", labels, value);
    }

    pub fn histogram(&mut self, label: Label<'_>, histogram: &Histogram) {
        // Read before the count: an observation in between must not make a bucket larger than it.
        let buckets: Vec<(&str, u64)> = histogram.buckets().collect();
        let count = histogram.count();
        for (seconds, below) in buckets {
            self.part("_bucket", &[label, ("le", seconds)], below.min(count));
        }
        self.part("_bucket", &[label, ("le", "+Inf")], count);
        self.part("_sum", &[label], histogram.sum_seconds());
        self.part("_count", &[label], count);
    }

    fn part(&mut self, suffix: &str, labels: &[Label<'_>], value: impl Display) {
        let (name, labels) = (self.name, written(labels));
        line(
            self.page,
            format_args!("{PREFIX}{name}{suffix}{labels} {value}"),
        );
    }
}

fn line(page: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    writeln!(page, "{line}").ok();
}

fn written(labels: &[Label<'_>]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let pairs: Vec<String> = labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
        .collect();
    format!("{{{}}}", pairs.join(","))
}

/// Customers and operators name models and channels.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_end_its_line_or_its_quotes() {
        let labels = written(&[("model", "a\"b\\c\nd"), ("le", "1")]);
        assert_eq!(labels, "{model=\"a\\\"b\\\\c\\nd\",le=\"1\"}");
        assert_eq!(written(&[]), "");
    }
}
