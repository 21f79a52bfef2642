//! Text and JSON of closed enums.

/// Longest part of an unknown name in an error.
const SHOWN_CHARACTERS: usize = 64;

/// A name that is not in a closed enum.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} {word:?}; known are {known}")]
pub struct UnknownName {
    kind: &'static str,
    word: String,
    known: String,
}

impl UnknownName {
    pub(crate) fn new(kind: &'static str, word: &str, known: &[&str]) -> Self {
        Self {
            kind,
            word: word.chars().take(SHOWN_CHARACTERS).collect(),
            known: known.join(", "),
        }
    }
}

/// Text and JSON of an enum with `ALL` and `name`.
macro_rules! closed_enum {
    ($type:ident, $kind:literal) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = crate::UnknownName;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                Self::ALL
                    .into_iter()
                    .find(|known| known.name() == word)
                    .ok_or_else(|| crate::UnknownName::new($kind, word, &Self::ALL.map(Self::name)))
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <String as serde::Deserialize>::deserialize(deserializer)?;
                word.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use closed_enum;
