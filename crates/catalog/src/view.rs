//! A model's record as it is served: every field of the specification's section 2.6, the ratios
//! worked out from the faces.

use serde::Serialize;
use trunkline_types::{BillingUnit, EndpointType, Face, Ratio};

use crate::condition::Condition;
use crate::extra_prices::ExtraPrices;
use crate::model::Model;
use crate::number::Number;
use crate::price_book::Book;
use crate::price_list::{Faces, PriceClass};
use crate::vendor_list::{VendorList, compare};
use crate::version::PricingVersion;

/// Ratio 1 is 2 USD for a million input tokens.
const RATIO_ONE_PICO: i128 = 2_000_000;
/// Places of a ratio behind the point.
const RATIO_PLACES: u32 = 9;
const DEFAULT_SOURCE: &str = "default";

/// How a model's routes have done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RouteHealth {
    /// How far back it looks.
    pub window_hours: u32,
    pub sample_size: u64,
    /// The part of them that succeeded; none where nothing was counted.
    pub success_ratio: Option<Number>,
    /// When the last of them ended, as RFC 3339.
    pub last_checked_at: Option<String>,
}

/// What is known of a model's routes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Routes {
    pub count: u64,
    pub health: Option<RouteHealth>,
}

/// Who looks: the group whose multiplier is shown.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub book: &'a Book,
    pub group: &'a str,
}

#[derive(Debug, Clone, Serialize)]
pub struct RecordView<'a> {
    model_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    specs: String,
    login_required: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon: Option<&'a str>,
    #[serde(skip_serializing_if = "String::is_empty")]
    tags: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    vendor_id: Option<u32>,
    quota_type: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_ratio: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_price: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_ratio: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_ratio: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    create_cache_ratio: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_ratio: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audio_ratio: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audio_completion_ratio: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner_by: Option<&'a str>,
    enable_groups: &'a [String],
    supported_endpoint_types: &'a [EndpointType],
    capabilities: &'a [String],
    tasks: &'a [String],
    billing_rate: Number,
    billing_rate_source: &'a str,
    pricing_version: PricingVersion,
    billing_unit: BillingUnit,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_voice: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_response_format: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speech_input: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_upload_formats: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vendor_list: Option<VendorList>,
    book_faces: BookFaces<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_prices: Option<&'a ExtraPrices>,
    #[serde(skip_serializing_if = "Option::is_none")]
    route_health: Option<RouteHealth>,
}

/// The prices of a record.
#[derive(Debug, Clone, Serialize)]
pub struct BookFaces<'a> {
    standard: &'a Faces,
    paid: Option<&'a Faces>,
    route_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    has_request_condition: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    has_time_condition: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tiers: Option<Vec<TierView<'a>>>,
}

/// A tier of a record.
#[derive(Debug, Clone, Serialize)]
pub struct TierView<'a> {
    tier: &'a str,
    standard: &'a Faces,
    paid: Option<&'a Faces>,
    #[serde(skip_serializing_if = "<[Condition]>::is_empty")]
    when: &'a [Condition],
}

// === impl View ===

impl<'a> View<'a> {
    /// The record of a model.
    #[must_use]
    pub fn record(&self, name: &'a str, routes: Routes) -> Option<RecordView<'a>> {
        let model = self.book.model(name)?;
        let entry = model.entry();
        let vendor = entry.vendor.as_ref();
        let known = vendor.and_then(|vendor| self.book.header().vendors.get(vendor));
        let faces = BookFaces::of(model, routes.count)?;
        let ratios = Ratios(faces.standard);
        let unit = model.list().billing_unit();
        let rate = self.book.header().groups.get(self.group)?.rate;
        Some(RecordView {
            model_name: name,
            description: entry.description.as_deref(),
            specs: serde_json::to_string(&entry.specs).unwrap_or_default(),
            login_required: u8::from(entry.login_required),
            icon: self.book.icon(entry),
            tags: entry.tags.join(","),
            vendor_id: known.map(|vendor| vendor.id),
            quota_type: u8::from(!matches!(unit, BillingUnit::Tokens)),
            model_ratio: ratios.model(unit),
            model_price: ratios.price(unit),
            completion_ratio: ratios.of(Face::Output, Face::Input),
            cache_ratio: ratios.of(Face::CacheRead, Face::Input),
            create_cache_ratio: ratios.of(Face::CacheWrite, Face::Input),
            image_ratio: ratios.of(Face::ImageInput, Face::Input),
            audio_ratio: ratios.of(Face::AudioInput, Face::Input),
            audio_completion_ratio: ratios.of(Face::AudioOutput, Face::AudioInput),
            owner_by: vendor.map(String::as_str),
            enable_groups: model.groups(),
            supported_endpoint_types: &entry.endpoints,
            capabilities: &entry.capabilities,
            tasks: &entry.tasks,
            billing_rate: number_of(rate),
            billing_rate_source: if rate == Ratio::ONE {
                DEFAULT_SOURCE
            } else {
                self.group
            },
            pricing_version: self.book.version(),
            billing_unit: unit,
            default_voice: entry.default_voice.as_deref(),
            default_response_format: entry.default_response_format.as_deref(),
            speech_input: entry.speech_input.as_deref(),
            accepted_upload_formats: entry.accepted_upload_formats.as_deref(),
            vendor_list: (!entry.list.is_empty()).then(|| compare(&entry.list, faces.standard)),
            book_faces: faces,
            extra_prices: Some(&entry.extra_prices).filter(|extra| !extra.is_empty()),
            route_health: routes.health,
        })
    }
}

// === impl BookFaces ===

impl<'a> BookFaces<'a> {
    fn of(model: &'a Model, route_count: u64) -> Option<Self> {
        let tiers = model.list().tiers();
        let default = model.list().default_tier()?;
        let several = tiers.len() > 1;
        let any = |is: fn(&Condition) -> bool| {
            several.then(|| tiers.iter().any(|tier| tier.when().iter().any(is)))
        };
        Some(Self {
            standard: default.faces(PriceClass::Standard),
            paid: default.paid(),
            route_count,
            tier_count: several.then_some(tiers.len()),
            has_request_condition: any(|one| matches!(one, Condition::RequestAttr { .. })),
            has_time_condition: any(|one| matches!(one, Condition::WallClock { .. })),
            tiers: several.then(|| tiers.iter().rev().map(TierView::of).collect()),
        })
    }
}

impl<'a> TierView<'a> {
    fn of(tier: &'a crate::price_list::Tier) -> Self {
        Self {
            tier: tier.name(),
            standard: tier.faces(PriceClass::Standard),
            paid: tier.paid(),
            when: tier.when(),
        }
    }
}

/// Ratios for clients that expect them.
struct Ratios<'a>(&'a Faces);

impl Ratios<'_> {
    fn pico(&self, face: Face) -> Option<i128> {
        self.0.get(&face).map(|price| i128::from(price.pico()))
    }

    fn model(&self, unit: BillingUnit) -> Option<Number> {
        match unit {
            BillingUnit::Tokens | BillingUnit::Characters => {
                Number::fraction(self.pico(Face::Input)?, RATIO_ONE_PICO, RATIO_PLACES)
            }
            BillingUnit::PerSecond | BillingUnit::PerCall | BillingUnit::AudioDuration => None,
        }
    }

    fn price(&self, unit: BillingUnit) -> Option<Number> {
        let face = match unit {
            BillingUnit::PerSecond => Face::VideoSecond,
            BillingUnit::PerCall => Face::PerCall,
            BillingUnit::Tokens | BillingUnit::Characters | BillingUnit::AudioDuration => {
                return None;
            }
        };
        self.pico(face).map(Number::from_pico)
    }

    fn of(&self, face: Face, base: Face) -> Option<Number> {
        Number::fraction(self.pico(face)?, self.pico(base)?, RATIO_PLACES)
    }
}

fn number_of(rate: Ratio) -> Number {
    let (upper, lower) = (i128::from(rate.numerator()), i128::from(rate.denominator()));
    Number::fraction(upper, lower, RATIO_PLACES).unwrap_or_default()
}
