//! What the prompt of a video job may ask for: `[[job:ms:300]]`, `[[job:fail:CODE]]` and so on.

use crate::directives::bracketed;
use crate::fault::Fault;

/// The directives of one prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobDirectives {
    /// `[[id:NAME]]`: the name under which a checker finds the job.
    pub(crate) marker: Option<String>,
    /// `[[job:wait_ms:N]]`: it waits so long before it begins.
    pub(crate) wait_millis: Option<u64>,
    /// `[[job:ms:N]]`: it runs so long.
    pub(crate) run_millis: Option<u64>,
    /// `[[job:fail:CODE]]`: it ends badly, with this code of the vendor's.
    pub(crate) fail: Option<String>,
    /// `[[job:refuse:CODE]]`: it is not taken, with this code of the vendor's.
    pub(crate) refuse: Option<String>,
    /// `[[job:lost]]`: it is taken, and the connection ends before the answer.
    pub(crate) is_lost: bool,
    /// `[[job:silent]]`: it is taken, and no answer comes while the connection stays open.
    pub(crate) is_silent: bool,
    /// `[[job:stuck]]`: it never ends.
    pub(crate) is_stuck: bool,
    /// `[[job:odd]]`: while it runs, its state is an undocumented word.
    pub(crate) is_odd: bool,
    /// `[[job:full:N]]`: the first N submissions of this marker are refused for lack of capacity.
    pub(crate) full_times: u64,
    /// `[[job:no_file]]`: it is done, and its file is not there.
    pub(crate) has_no_file: bool,
    /// `[[job:file_later:N]]`: the first N downloads of its file fail.
    pub(crate) failing_downloads: u64,
}

const MAX_NAME_BYTES: usize = 200;
/// The longest wait and run: a day.
const MAX_MILLIS: u64 = 86_400_000;

impl JobDirectives {
    /// What comes instead of the answer to a job that was taken.
    pub(crate) fn fault(&self) -> Option<Fault> {
        match (self.is_silent, self.is_lost) {
            (true, _) => Some(Fault::HangBeforeHeaders),
            (false, true) => Some(Fault::CloseBeforeHeaders),
            (false, false) => None,
        }
    }

    /// Reads a prompt. Other brackets are left alone.
    pub(crate) fn read(prompt: &str) -> Self {
        let mut directives = Self::default();
        for inside in bracketed(prompt) {
            directives.take(inside);
        }
        directives
    }

    fn take(&mut self, inside: &str) {
        let number = |text: &str| text.parse::<u64>().ok().map(|n| n.min(MAX_MILLIS));
        let name = |text: &str| {
            let end = text.floor_char_boundary(MAX_NAME_BYTES);
            text.get(..end).map(str::to_owned)
        };
        let mut parts = inside.splitn(3, ':');
        match (parts.next(), parts.next(), parts.next()) {
            (Some("id"), Some(marker), None) => self.marker = name(marker),
            (Some("job"), Some("wait_ms"), Some(text)) => self.wait_millis = number(text),
            (Some("job"), Some("ms"), Some(text)) => self.run_millis = number(text),
            (Some("job"), Some("fail"), Some(code)) => self.fail = name(code),
            (Some("job"), Some("refuse"), Some(code)) => self.refuse = name(code),
            (Some("job"), Some("full"), Some(text)) => {
                self.full_times = number(text).unwrap_or_default();
            }
            (Some("job"), Some("lost"), None) => self.is_lost = true,
            (Some("job"), Some("silent"), None) => self.is_silent = true,
            (Some("job"), Some("stuck"), None) => self.is_stuck = true,
            (Some("job"), Some("odd"), None) => self.is_odd = true,
            (Some("job"), Some("no_file"), None) => self.has_no_file = true,
            (Some("job"), Some("file_later"), Some(text)) => {
                self.failing_downloads = number(text).unwrap_or_default();
            }
            (_, _, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_stand_anywhere_in_a_prompt_and_unknown_ones_are_ignored() {
        let directives = JobDirectives::read(
            "a [[id:x-1]] cat [[job:ms:30]][[job:fail:Bad]] [[other]] [[job:odd]]",
        );
        assert_eq!(directives.marker.as_deref(), Some("x-1"));
        assert_eq!(directives.run_millis, Some(30));
        assert_eq!(directives.fail.as_deref(), Some("Bad"));
        assert!(directives.is_odd && !directives.is_lost);
        assert_eq!(JobDirectives::read("no [[ end"), JobDirectives::default());
    }
}
