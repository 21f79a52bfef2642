//! The tier that an answer was served in, by its own word, where prices depend on it. A vendor may serve a dear
//! tier as the default one, and then the default is what is paid. The other way round, the operator bears the
//! difference.

use http::HeaderMap;
use trunkline_catalog::Scalar;
use trunkline_types::{Money, Usage};
use trunkline_wire::openai_chat::SERVICE_TIER;
use trunkline_wire::{Format, Frame, FrameKind, served_tier};

use super::Quoted;
use crate::error::ApiError;
use crate::priced_call::Price;

/// What vendors call the tier that is served to who asks for none.
const DEFAULTS: [&str; 2] = ["default", "standard"];
/// Where Google says it.
const GEMINI_HEADER: &str = "x-gemini-service-tier";

/// What an answer costs in the tier that it was served in.
pub(super) struct ServedPrice {
    pub(super) price: Price,
    /// What the served tier costs, where that is more than the price.
    pub(super) dearer: Option<Money>,
}

/// Looks for the tier of an answer.
#[derive(Debug, Clone)]
pub(super) struct TierWatch {
    format: Format,
    has_looked: bool,
    tier: Option<String>,
}

impl TierWatch {
    pub(super) fn new(format: Format, headers: &HeaderMap) -> Self {
        let tier = headers
            .get(GEMINI_HEADER)
            .and_then(|tier| tier.to_str().ok());
        Self {
            format,
            has_looked: false,
            tier: tier.map(str::to_ascii_lowercase),
        }
    }

    pub(super) fn read(&mut self, body: &[u8]) {
        self.tier = served_tier(self.format, body).or_else(|| self.tier.take());
    }

    /// The first frame says it, and those at the end, which count: pieces between them are not looked at.
    pub(super) fn observe(&mut self, frame: &Frame, seen: &FrameKind) {
        let Some(data) = frame.data.as_ref() else {
            return;
        };
        if !self.has_looked || *seen != FrameKind::Content {
            self.has_looked = true;
            self.read(data);
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        self.tier.as_deref()
    }
}

impl Quoted {
    /// A watch for the tier, where the price depends on it.
    pub(super) fn tier_watch(&self, format: Format, headers: &HeaderMap) -> Option<TierWatch> {
        let list = self.call.sale.model.list();
        let sells_tiers = list.request_paths().any(|path| path == SERVICE_TIER);
        sells_tiers.then(|| TierWatch::new(format, headers))
    }

    /// What usage costs in the tier that was served: never more than in the tier that was asked for, of which the
    /// quote and the hold are made. A word that is no tier of ours changes nothing.
    pub(super) fn exact_as_served(
        &self,
        usage: &Usage,
        served: Option<&str>,
    ) -> Result<ServedPrice, ApiError> {
        let requested = self.exact(usage)?;
        let list = self.call.sale.model.list();
        let is_known =
            |tier: &str| DEFAULTS.contains(&tier) || list.sells(SERVICE_TIER, &Scalar::from(tier));
        let served = served.filter(|tier| is_known(tier));
        let quoted = served
            .and_then(|served| {
                self.call
                    .quote_with(&requested.units, SERVICE_TIER, served)
                    .ok()
            })
            .map(|quoted| (quoted.total, quoted.tier.to_owned()));
        let quoted = match quoted {
            Some((tokens, tier)) => Some((self.with_tools(tokens, &requested.tools)?, tier)),
            None => None,
        };
        Ok(match quoted {
            Some((amount, tier)) if amount <= requested.amount => ServedPrice {
                price: Price {
                    amount,
                    tier,
                    tools: requested.tools,
                    units: requested.units,
                },
                dearer: None,
            },
            dearer @ (Some(_) | None) => ServedPrice {
                price: requested,
                dearer: dearer.map(|(amount, _)| amount),
            },
        })
    }
}
