//! What a reader of a container answers for the bytes it is shown.

/// What a reader does with the bytes at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It is done with so many of them, even beyond those that are there. At least one.
    Consume(u64),
    /// It needs more of them to go on.
    NeedMore,
}

impl Step {
    pub(crate) fn consume(count: usize) -> Self {
        Self::Consume(u64::try_from(count).unwrap_or(u64::MAX))
    }
}
