//! Validation of fields: limits and error messages. The tables' checks have the same limits; a test
//! compares the two.

/// Longest name of an account, a key, a channel or a credential.
pub const NAME_MAX_CHARACTERS: usize = 100;
/// Longest word of a list, and longest name of a group.
pub const WORD_MAX_CHARACTERS: usize = 128;
/// Most entries of a list: far above practical use, and every node caches every list.
pub const LIST_MAX_WORDS: usize = 200;
/// Largest rate limit: means "no limit" in practice, and stays far below overflow of the counters.
pub const LIMIT_MAX: i64 = 1_000_000_000_000;

/// Longest reason of a pause.
pub const REASON_MAX_CHARACTERS: usize = 200;

/// Characters of an invalid value that are repeated in the error.
const SHOWN_CHARACTERS: usize = 40;

/// Which field is wrong, and how.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {problem}")]
pub struct FieldError {
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("must not be empty")]
    Empty,
    /// Too many characters.
    #[error("may have at most {most} characters")]
    TooLong { most: usize },
    /// A character that a name cannot have.
    #[error("must not have line breaks or other control characters")]
    Control,
    /// A character that a word cannot have.
    #[error("has {excerpt:?}: a word is made of visible ASCII characters without commas")]
    Character { excerpt: String },
    #[error("may have at most {most} entries")]
    TooMany { most: usize },
    /// Not an address or a network.
    #[error("has {excerpt:?}, which is not a network such as 10.0.0.0/8 or 2001:db8::/32")]
    NotANetwork { excerpt: String },
    /// A word that names no endpoint.
    #[error("has {excerpt:?}, which is no endpoint; the words are {}", crate::ENDPOINT_NAMES.join(", "))]
    NotAnEndpoint { excerpt: String },
    /// A number outside its range.
    #[error("must be from {least} to {most}")]
    OutOfRange { least: i64, most: i64 },
    /// Not of the form that is asked for.
    #[error("must be {be}")]
    Must { be: &'static str },
    /// Something is in it twice.
    #[error("has {excerpt:?} twice")]
    Twice { excerpt: String },
    /// A header that is not an extra.
    #[error(
        "has {excerpt:?}, which we set ourselves; credentials are given as such and kept sealed"
    )]
    OurHeader { excerpt: String },
    /// A document that cannot be read.
    #[error("is not understood: {message}")]
    NotUnderstood { message: String },
    /// `auto` where a group must be named.
    #[error("must name a group; auto is a way to choose one")]
    Auto,
    /// A moment that is over.
    #[error("must be in the future")]
    Past,
    /// A key below another one that would be allowed more.
    #[error("must not allow more than the parent key does ({excerpt})")]
    WiderThanParent {
        /// What is too much, cut.
        excerpt: String,
    },
}

// === impl FieldError ===

impl FieldError {
    pub(crate) const fn new(field: &'static str, problem: Problem) -> Self {
        Self { field, problem }
    }
}

/// A name that people read: any script, one line.
pub(crate) fn check_name(field: &'static str, name: &str) -> Result<(), FieldError> {
    if name.trim().is_empty() {
        return Err(FieldError::new(field, Problem::Empty));
    }
    if name.chars().count() > NAME_MAX_CHARACTERS {
        let most = NAME_MAX_CHARACTERS;
        return Err(FieldError::new(field, Problem::TooLong { most }));
    }
    if name.chars().any(char::is_control) {
        return Err(FieldError::new(field, Problem::Control));
    }
    Ok(())
}

/// A word that programs compare. Commas separate words on the command line.
pub(crate) fn check_word(field: &'static str, word: &str) -> Result<(), FieldError> {
    if word.is_empty() {
        return Err(FieldError::new(field, Problem::Empty));
    }
    if word.chars().count() > WORD_MAX_CHARACTERS {
        let most = WORD_MAX_CHARACTERS;
        return Err(FieldError::new(field, Problem::TooLong { most }));
    }
    let legal = |byte: u8| byte.is_ascii_graphic() && byte != b',';
    if !word.bytes().all(legal) {
        let excerpt = cut(word);
        return Err(FieldError::new(field, Problem::Character { excerpt }));
    }
    Ok(())
}

/// The entries sorted and without duplicates, so that equal lists are equal values.
pub(crate) fn check_words(
    field: &'static str,
    mut words: Vec<String>,
) -> Result<Vec<String>, FieldError> {
    for word in &words {
        check_word(field, word)?;
    }
    words.sort_unstable();
    words.dedup();
    check_count(field, words.len())?;
    Ok(words)
}

pub(crate) fn check_count(field: &'static str, count: usize) -> Result<(), FieldError> {
    let most = LIST_MAX_WORDS;
    if count > most {
        return Err(FieldError::new(field, Problem::TooMany { most }));
    }
    Ok(())
}

/// A reason that fits its column: one line, truncated with an ellipsis.
pub(crate) fn reason(text: &str) -> String {
    let line = text.replace(char::is_control, " ");
    let line = line.trim();
    if line.is_empty() {
        return "no reason was given".to_owned();
    }
    if line.chars().count() <= REASON_MAX_CHARACTERS {
        return line.to_owned();
    }
    let most = REASON_MAX_CHARACTERS.saturating_sub(1);
    line.chars().take(most).chain(['…']).collect()
}

/// Truncates a client's text for an error message.
pub(crate) fn cut(text: &str) -> String {
    text.chars().take(SHOWN_CHARACTERS).collect()
}
