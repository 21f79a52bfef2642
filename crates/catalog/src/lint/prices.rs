//! Lint findings about prices: missing sources, missing faces, unreachable tiers.

use trunkline_types::{BillingUnit, EndpointType, Face};

use super::Notes;
use crate::condition::Condition;
use crate::document::Entry;
use crate::price_list::{Faces, RawTier};
use crate::pricing_context::Scalar;
use crate::rules::ParameterPolicy;
use crate::vendor_list::{FaceVerdict, VendorList, Verdict, compare_tier};

/// The attribute under which endpoints bring the resolution of a picture or video.
const RESOLUTION: &str = "resolution";

pub(super) fn check(entry: &Entry, notes: &mut Notes<'_>) {
    sources(entry, notes);
    billed_by_endpoint(entry, notes);
    stand_ins(entry, notes);
    for tier in &entry.prices.tiers {
        for condition in &tier.when {
            if let Some(reason) = never_holds(entry, condition) {
                let text = format!("tier {:?} is unreachable: {reason}", tier.tier);
                notes.error("tier_unreachable", text);
            }
        }
    }
}

/// Every tier beside what its vendor lists for it.
fn sources(entry: &Entry, notes: &mut Notes<'_>) {
    compared(entry, None, &entry.prices.standard, notes);
    let narrower = |tier: &&RawTier| !tier.when.is_empty();
    for tier in entry.prices.tiers.iter().filter(narrower) {
        compared(entry, Some(&tier.tier), &tier.standard, notes);
    }
    for price in &entry.list {
        let Some(name) = &price.tier else { continue };
        let mut tiers = entry.prices.tiers.iter().filter(narrower);
        if !tiers.any(|tier| tier.tier == *name) {
            let text = format!("{:?} lists tier {name:?}, which it has not", price.source);
            notes.warn("list_tier_unknown", text);
        }
    }
}

fn compared(entry: &Entry, tier: Option<&str>, sold: &Faces, notes: &mut Notes<'_>) {
    let place = tier.map_or_else(String::new, |tier| format!("tier {tier:?}: "));
    let beside = compare_tier(&entry.list, tier, sold);
    if !beside.unverified_faces.is_empty() {
        let text = format!(
            "{place}no source for the price of {}",
            named(&beside.unverified_faces)
        );
        notes.error("price_without_source", text);
    }
    for face in &beside.faces {
        compared_face(&place, face, &beside, notes);
    }
}

fn compared_face(place: &str, face: &FaceVerdict, beside: &VendorList, notes: &mut Notes<'_>) {
    let unit = beside.unit.as_deref().unwrap_or_default();
    let FaceVerdict { face: name, .. } = face;
    match (face.verdict, face.selling_usd) {
        (Verdict::SourcesDisagree, _) => notes.warn(
            "sources_disagree",
            format!("{place}its sources list different prices of {name}"),
        ),
        (Verdict::AboveList, Some(ours)) => notes.warn(
            "above_list",
            format!(
                "{place}{name} is sold at {ours} USD for {unit} and listed at {}",
                face.list_usd
            ),
        ),
        (Verdict::AboveList | Verdict::Unverified, None) => notes.warn(
            "list_face_not_sold",
            format!("{place}its vendor lists {name}, which is not sold"),
        ),
        (Verdict::Unverified, Some(_)) | (Verdict::AtList | Verdict::BelowList, _) => {}
    }
}

/// What is called through an endpoint must have the price by which that endpoint bills.
fn billed_by_endpoint(entry: &Entry, notes: &mut Notes<'_>) {
    for endpoint in &entry.endpoints {
        let units = units_of(*endpoint);
        if !units.contains(&entry.prices.billing_unit) {
            let units: Vec<&str> = units.iter().map(|unit| unit.name()).collect();
            let text = format!(
                "what is called through {endpoint} is billed by {}, not by {}",
                units.join(" or "),
                entry.prices.billing_unit
            );
            notes.error("face_unpriced", text);
        }
    }
}

fn units_of(endpoint: EndpointType) -> &'static [BillingUnit] {
    match endpoint {
        EndpointType::Openai
        | EndpointType::Anthropic
        | EndpointType::OpenaiResponse
        | EndpointType::Gemini => &[BillingUnit::Tokens, BillingUnit::PerCall],
        EndpointType::OpenaiVideo => &[BillingUnit::PerSecond, BillingUnit::PerCall],
        EndpointType::ImageGeneration => &[BillingUnit::PerCall],
        EndpointType::AudioSpeech => &[BillingUnit::Characters, BillingUnit::PerCall],
        EndpointType::AudioTranscription => &[BillingUnit::AudioDuration, BillingUnit::PerCall],
        EndpointType::Realtime => &[BillingUnit::Tokens],
        EndpointType::MusicGeneration | EndpointType::SystemOne => &BillingUnit::ALL,
    }
}

/// Pictures and sound that have no price of their own are billed as text.
fn stand_ins(entry: &Entry, notes: &mut Notes<'_>) {
    if entry.prices.billing_unit != BillingUnit::Tokens {
        return;
    }
    let takes =
        |words: &Option<Vec<String>>, word: &str| words.iter().flatten().any(|known| known == word);
    let specs = &entry.specs;
    let implied = [
        (Face::ImageInput, takes(&specs.input_modalities, "image")),
        (Face::AudioInput, takes(&specs.input_modalities, "audio")),
        (Face::ImageOutput, takes(&specs.output_modalities, "image")),
        (Face::AudioOutput, takes(&specs.output_modalities, "audio")),
    ];
    let (mut standing_in, mut unpriced) = (Vec::new(), Vec::new());
    for (face, is_used) in implied {
        let sold = &entry.prices.standard;
        if !is_used || sold.contains_key(&face) {
            continue;
        }
        match face.stand_in() {
            Some(other) if sold.contains_key(&other) => standing_in.push(face),
            Some(_) | None => unpriced.push(face),
        }
    }
    if !standing_in.is_empty() {
        let text = format!(
            "{} has no price of its own and is billed as text",
            named(&standing_in)
        );
        notes.warn("face_unpriced", text);
    }
    if !unpriced.is_empty() {
        notes.error(
            "face_unpriced",
            format!("no price for {}", named(&unpriced)),
        );
    }
}

/// Why a condition can never hold for this model.
fn never_holds(entry: &Entry, condition: &Condition) -> Option<String> {
    match condition {
        Condition::ContextLen { context_len_gt } => {
            let specs = &entry.specs;
            let longest = specs.max_input_tokens.or(specs.context_window)?;
            (*context_len_gt >= longest).then(|| {
                format!("a context of more than {context_len_gt} tokens does not fit {longest}")
            })
        }
        Condition::RequestAttr { path, equals } => {
            let field = path.split('.').next()?;
            match entry.parameters.get(field) {
                Some(ParameterPolicy::Drop | ParameterPolicy::Refuse) => {
                    Some(format!("its parameters do not let {field} through"))
                }
                Some(ParameterPolicy::Pass) | None => unmade(entry, path, equals),
            }
        }
        // Hours that never come are refused with the tier itself.
        Condition::WallClock { .. } => None,
    }
}

/// A resolution that the model does not make.
fn unmade(entry: &Entry, path: &str, equals: &Scalar) -> Option<String> {
    let made = entry.specs.resolutions.as_ref()?;
    let is_made = |word: &String| *equals == Scalar::Text(word.clone());
    (path == RESOLUTION && !made.iter().any(is_made))
        .then(|| format!("{equals} is none of its resolutions"))
}

fn named(faces: &[Face]) -> String {
    let names: Vec<&str> = faces.iter().map(|face| face.name()).collect();
    names.join(", ")
}
