//! Quantities per face: the usage of a call, ready to be priced.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use crate::{Face, Side};

/// Most units of one face in one call. Far above any model, far below where 128 bits would end.
pub const MAX_QUANTITY: u64 = 1_000_000_000_000;

/// How many units of each face a call used. Faces that are not named were not used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "BTreeMap<Face, u64>")]
pub struct Units([u64; Face::ALL.len()]);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnitsError {
    /// Above [`MAX_QUANTITY`].
    #[error("{face}: {quantity} units are more than one call can use (at most {MAX_QUANTITY})")]
    TooMany { face: Face, quantity: u64 },
}

// === impl Units ===

impl Units {
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The same with `quantity` more units of a face.
    pub fn plus(mut self, face: Face, quantity: u64) -> Result<Self, UnitsError> {
        let total = self.of(face).saturating_add(quantity);
        if total > MAX_QUANTITY {
            return Err(UnitsError::TooMany {
                face,
                quantity: total,
            });
        }
        if let Some(units) = self.0.get_mut(face.place()) {
            *units = total;
        }
        Ok(self)
    }

    #[must_use]
    pub fn of(&self, face: Face) -> u64 {
        self.0.get(face.place()).copied().unwrap_or(0)
    }

    /// The faces that were used, in the order of [`Face::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Face, u64)> {
        let all = Face::ALL.into_iter().zip(self.0);
        all.filter(|(_, quantity)| *quantity > 0)
    }

    /// Units of all faces of one side together.
    #[must_use]
    pub fn total_of(&self, side: Side) -> u64 {
        let of_side = self.iter().filter(|(face, _)| face.side() == side);
        of_side.fold(0, |sum, (_, quantity)| sum.saturating_add(quantity))
    }
}

impl TryFrom<BTreeMap<Face, u64>> for Units {
    type Error = UnitsError;

    fn try_from(map: BTreeMap<Face, u64>) -> Result<Self, Self::Error> {
        map.into_iter()
            .try_fold(Self::none(), |units, (face, quantity)| {
                units.plus(face, quantity)
            })
    }
}

impl Serialize for Units {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_bounded_before_pricing() {
        let units = Units::none().plus(Face::Input, MAX_QUANTITY).unwrap();
        assert_eq!(units.of(Face::Input), MAX_QUANTITY);
        let refused = UnitsError::TooMany {
            face: Face::Input,
            quantity: MAX_QUANTITY + 1,
        };
        assert_eq!(units.clone().plus(Face::Input, 1), Err(refused));
        assert_eq!(
            units.plus(Face::Output, u64::MAX).unwrap_err(),
            UnitsError::TooMany {
                face: Face::Output,
                quantity: u64::MAX
            }
        );
        assert!(serde_json::from_str::<Units>(r#"{"input":1000000000001}"#).is_err());
        assert!(serde_json::from_str::<Units>(r#"{"input":-1}"#).is_err());
        assert!(serde_json::from_str::<Units>(r#"{"inputs":1}"#).is_err());
    }

    #[test]
    fn sides_are_summed_apart_and_zero_is_not_written() {
        let units = Units::none()
            .plus(Face::Input, 10)
            .and_then(|units| units.plus(Face::CacheRead, 5))
            .and_then(|units| units.plus(Face::Output, 7))
            .and_then(|units| units.plus(Face::AudioOutput, 0))
            .unwrap();
        assert_eq!(
            (units.total_of(Side::Input), units.total_of(Side::Output)),
            (15, 7)
        );
        assert_eq!(units.total_of(Side::Fixed), 0);
        assert_eq!(
            serde_json::to_string(&units).unwrap(),
            r#"{"input":10,"output":7,"cache_read":5}"#
        );
    }
}
