//! A platform and its cells, checked. Values of these types have passed every rule of their file.

use std::collections::BTreeMap;

use serde_json::Value;
use trunkline_types::Money;

/// A capability of a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Capability {
    Search,
    Post,
    User,
    /// Reads the comments below a post.
    Comments,
    /// Reads what one user has posted.
    UserPosts,
    Trending,
}

/// The HTTP method of the vendor's endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    /// Parameters in a JSON body.
    Post,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Platform {
    /// The label of the specification, such as `P1`.
    pub label: String,
    /// The segment of the path.
    pub key: String,
    pub name: String,
}

/// One capability of one platform.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub platform: Platform,
    pub capability: Capability,
    /// The name in the usage log and in the price book.
    pub model: String,
    /// The published price of a call; none where nothing is published.
    pub price: Option<Money>,
    /// The vendor's price of a call.
    pub cost: Cost,
    /// The parameters, in the order in which they are shown.
    pub params: Vec<Param>,
    /// Groups of which one member at least must be given.
    pub require_one_of: Vec<Vec<String>>,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) fixed: BTreeMap<String, String>,
    pub(crate) on_400: On400,
    pub(crate) some_of: Vec<String>,
    pub(crate) inner: Vec<Inner>,
    pub(crate) paging: Option<Paging>,
}

/// The vendor's price of a call, with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    pub usd: Money,
    pub source: String,
    /// When it was read there.
    pub read_on: String,
}

/// What a 400 of the source means, which does not say whether the item or the moment was wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On400 {
    /// There is no such thing.
    NotFound,
    TryAgain,
}

/// What a value is written as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// A decimal 64-bit number.
    Integer,
    /// `true` or `false`.
    Boolean,
    /// One of these names, or an integer.
    IntegerOrWord(BTreeMap<String, i64>),
}

/// Stated bounds of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Characters at least.
    pub min_chars: Option<usize>,
    /// Characters at most.
    pub max_chars: Option<usize>,
    pub max: Option<i64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    /// The platform's own name for it.
    pub name: String,
    /// What it is written as.
    pub kind: Kind,
    /// A call without it is refused.
    pub required: bool,
    /// What holds when it is left out, where that is stated.
    pub default: Option<Value>,
    pub example: Option<Value>,
    pub description: String,
    pub limits: Limits,
    /// Listed values; others are passed on too.
    pub values: Vec<String>,
    /// An empty value is no mistake although it is no integer.
    pub(crate) may_be_empty: bool,
    pub(crate) pitfalls: FieldPitfalls,
}

/// Where a parameter does not do what one might think.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct FieldPitfalls {
    /// It never does anything, and why.
    pub(crate) no_effect: Option<String>,
    /// It does nothing when one of these is given.
    pub(crate) beside: Vec<String>,
    /// Above 0 it does nothing without this one.
    pub(crate) without: Option<String>,
    /// Pages that it asks for need these too.
    pub(crate) pages_with: Vec<String>,
    /// Its values are good for a short time.
    pub(crate) short_lived: bool,
    /// Only the listed values are known to give results.
    pub(crate) warn_unlisted: bool,
}

/// A marker inside the data that must have one of some values, where it is there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inner {
    pub(crate) at: String,
    pub(crate) is: Vec<Value>,
}

/// How the next page is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paging {
    pub(crate) carry: Vec<CursorParam>,
    pub(crate) step: Option<StepParam>,
    pub(crate) more: Vec<String>,
    pub(crate) is_end: Vec<String>,
    pub(crate) ends: Vec<String>,
}

/// A parameter that comes out of the page before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CursorParam {
    pub(crate) param: String,
    pub(crate) from: Vec<String>,
    /// A page without it is not the last one: the value stays as it was.
    pub(crate) keep: bool,
}

/// A parameter that is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepParam {
    pub(crate) param: String,
    pub(crate) first: i64,
    pub(crate) by: Increment,
}

/// The increment of a counted parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Increment {
    Number(i64),
    /// As many as the page had.
    Items,
}

// === impl Capability ===

impl Capability {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 6] = [
        Self::Search,
        Self::Post,
        Self::User,
        Self::Comments,
        Self::UserPosts,
        Self::Trending,
    ];

    /// The segment of the path.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Post => "post",
            Self::User => "user",
            Self::Comments => "comments",
            Self::UserPosts => "user-posts",
            Self::Trending => "trending",
        }
    }

    /// The capability of a segment.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }

    /// What it does, for people.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Search => "Finds public posts on",
            Self::Post => "Reads one public post on",
            Self::User => "Reads one public profile on",
            Self::Comments => "Reads the comments below a public post on",
            Self::UserPosts => "Reads the public posts of one user on",
            Self::Trending => "Reads what is popular on",
        }
    }
}

// === impl Cell ===

impl Cell {
    /// A parameter by its name.
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params.iter().find(|param| param.name == name)
    }

    #[must_use]
    pub fn route(&self) -> String {
        format!(
            "/v1/social/{}/{}",
            self.platform.key,
            self.capability.as_str()
        )
    }

    /// Whether there is a way from one page to the next.
    #[must_use]
    pub const fn has_pages(&self) -> bool {
        self.paging.is_some()
    }

    /// Where the source has it.
    #[must_use]
    pub fn source_path(&self) -> &str {
        &self.path
    }
}

// === impl Kind ===

impl Kind {
    /// The type name in the catalog.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Text | Self::IntegerOrWord(_) => "string",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
        }
    }
}
