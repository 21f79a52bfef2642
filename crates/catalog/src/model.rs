//! A checked model: its entry, and its price list ready for quotes.

use crate::check::Finding;
use crate::document::{CatalogHeader, Entry};
use crate::price_list::PriceList;
use crate::rules::MAX_RULES;
use crate::vendor_list::{MAX_SOURCES, is_day};
use crate::version::{PricesDigest, prices_digest};

const MAX_DESCRIPTION: usize = 20_000;
/// Most words in one list of a record.
const MAX_WORDS: usize = 1_000;
const MAX_WORD: usize = 200;
/// Most fields of a request with a policy.
const MAX_PARAMETERS: usize = 200;

/// Fields whose meaning and price are ours; no policy can take them away.
const OWN_FIELDS: [&str; 6] = [
    "model",
    "messages",
    "stream",
    "max_tokens",
    "max_completion_tokens",
    "n",
];

/// A model that passed every check.
#[derive(Debug, Clone)]
pub struct Model {
    entry: Entry,
    groups: Vec<String>,
    list: PriceList,
    digest: PricesDigest,
}

impl Model {
    /// Checks an entry by itself.
    pub(crate) fn check(entry: Entry) -> Result<Self, Vec<Finding>> {
        let mut faults = Vec::new();
        let mut groups = entry.groups.clone();
        groups.sort();
        groups.dedup();
        if groups.is_empty() {
            faults.push("it is sold in no group".to_owned());
        }
        faults.extend(words_faults(&entry));
        faults.extend(entry.extra_prices.faults());
        faults.extend(entry.rules.iter().flat_map(|rule| rule.faults()));
        faults.extend(entry.list.iter().flat_map(|price| price.faults()));
        let list = entry.prices.clone().check();
        let mut findings: Vec<Finding> = faults.into_iter().map(Finding::from).collect();
        match list {
            Ok(list) if findings.is_empty() => {
                let digest = prices_digest(&groups, &list, &entry.extra_prices);
                Ok(Self {
                    entry,
                    groups,
                    list,
                    digest,
                })
            }
            Ok(_) => Err(findings),
            Err(wrong) => {
                findings.extend(wrong);
                Err(findings)
            }
        }
    }

    /// Checks what it says of the catalog around it.
    pub(crate) fn check_within(&self, header: &CatalogHeader, say: &mut impl FnMut(String)) {
        let unknown = |group: &&String| !header.groups.contains_key(*group);
        for group in self.groups.iter().filter(unknown) {
            say(format!("it is sold in {group:?}, which is no group"));
        }
        if let Some(vendor) = &self.entry.vendor
            && !header.vendors.contains_key(vendor)
        {
            say(format!("its vendor {vendor:?} is no vendor"));
        }
    }

    /// All that is written of it.
    #[must_use]
    pub const fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The groups it is sold in, sorted.
    #[must_use]
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    #[must_use]
    pub const fn list(&self) -> &PriceList {
        &self.list
    }

    pub(crate) const fn digest(&self) -> &PricesDigest {
        &self.digest
    }
}

/// Everything is bounded, and days are days.
fn words_faults(entry: &Entry) -> Vec<String> {
    let mut faults = Vec::new();
    let specs = &entry.specs;
    let lists = [
        ("tags", Some(&entry.tags)),
        ("capabilities", Some(&entry.capabilities)),
        ("tasks", Some(&entry.tasks)),
        (
            "accepted_upload_formats",
            entry.accepted_upload_formats.as_ref(),
        ),
        ("input_modalities", specs.input_modalities.as_ref()),
        ("output_modalities", specs.output_modalities.as_ref()),
        ("reasoning_efforts", specs.reasoning_efforts.as_ref()),
        ("resolutions", specs.resolutions.as_ref()),
        ("qualities", specs.qualities.as_ref()),
        ("voices", specs.voices.as_ref()),
        ("response_formats", specs.response_formats.as_ref()),
        ("request_fields", specs.request_fields.as_ref()),
    ];
    for (name, words) in lists {
        let Some(words) = words else { continue };
        let wrong = |word: &String| word.is_empty() || word.len() > MAX_WORD;
        if words.len() > MAX_WORDS || words.iter().any(wrong) {
            faults.push(format!(
                "{name} has too many words, or empty or too long ones"
            ));
        }
    }
    if entry.tags.iter().any(|tag| tag.contains(',')) {
        faults.push("a tag must not have a comma: tags are served as one text".to_owned());
    }
    let description = entry.description.as_ref();
    if description.is_some_and(|text| text.len() > MAX_DESCRIPTION) {
        faults.push(format!("description has more than {MAX_DESCRIPTION} bytes"));
    }
    for (name, day) in [
        ("deprecated_on", &entry.deprecated_on),
        ("sunset_on", &entry.sunset_on),
    ] {
        if day.as_ref().is_some_and(|day| !is_day(day)) {
            faults.push(format!("{name} must be a day such as 2026-11-15"));
        }
    }
    let speech = [
        &entry.default_voice,
        &entry.default_response_format,
        &entry.speech_input,
    ];
    let speaks = entry.serves(trunkline_types::EndpointType::AudioSpeech);
    if !speaks && speech.iter().any(|field| field.is_some()) {
        faults.push("only speech models have a voice, a speech format and speech input".to_owned());
    }
    if entry.rules.len() > MAX_RULES || entry.parameters.len() > MAX_PARAMETERS {
        faults.push("it has too many rules or parameters".to_owned());
    }
    for name in OWN_FIELDS {
        if entry.parameters.contains_key(name) {
            faults.push(format!("parameters: `{name}` cannot have a policy"));
        }
    }
    if entry.list.len() > MAX_SOURCES {
        faults.push(format!("more than {MAX_SOURCES} sources of its list price"));
    }
    faults
}
