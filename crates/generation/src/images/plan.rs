//! A request for images by the model's record.

use serde_json::{Map, Value};
use trunkline_catalog::{
    Attributes, Entry, FieldNote, FieldReport, FieldTreatment, PriceList, RequestError, Scalar,
};

use crate::field_policy;

use super::{ImageEndpoint, ImageRequest, Plan};

/// The fields of the format.
const KNOWN: [&str; 18] = [
    "model",
    "prompt",
    "n",
    "size",
    "quality",
    "response_format",
    "image",
    "images",
    "mask",
    "background",
    "input_fidelity",
    "moderation",
    "output_compression",
    "output_format",
    "partial_images",
    "stream",
    "style",
    "user",
];
/// Those that are ours alone.
const OURS: [&str; 4] = ["n", "response_format", "stream", "partial_images"];
/// Pictures that a caller brings; only edits have a use for them.
const BROUGHT: [&str; 4] = ["image", "image[]", "images", "mask"];
/// Leaves the choice to the vendor, and with it the price.
const AUTO: &str = "auto";

/// Checks a request by the model's record and writes in what moves its price.
pub fn plan(
    mut request: ImageRequest,
    entry: &Entry,
    prices: &PriceList,
) -> Result<Plan, RequestError> {
    let mut report = FieldReport::default();
    report.add(FieldNote::read("model"));
    report.add(FieldNote::read("prompt"));
    check_count(&request, entry)?;
    brought(&mut request, &mut report);
    for name in OURS {
        field_policy::ours(&mut report, entry, &mut request.extras, name)?;
    }
    field_policy::own(&mut report, entry, "size", &mut request.size)?;
    field_policy::own(&mut report, entry, "quality", &mut request.quality)?;
    field_policy::own(&mut report, entry, "mask", &mut request.mask)?;
    field_policy::extras(&mut report, entry, &mut request.extras, &KNOWN)?;
    let specs = &entry.specs;
    request.size = Choice {
        name: "size",
        listed: specs.resolutions.as_deref(),
        usual: specs.default_size.as_deref(),
        spellings: spellings_of_size,
    }
    .settle(request.size, prices, &mut report)?;
    request.quality = Choice {
        name: "quality",
        listed: specs.qualities.as_deref(),
        usual: specs.default_quality.as_deref(),
        spellings: |word| vec![word.to_owned()],
    }
    .settle(request.quality, prices, &mut report)?;
    say_form(&mut request, entry);
    let attributes = attributes(&request, prices);
    Ok(Plan {
        request,
        report,
        attributes,
    })
}

fn check_count(request: &ImageRequest, entry: &Entry) -> Result<(), RequestError> {
    match entry.specs.max_images {
        Some(most) if request.count > most => {
            let text = format!("this model makes at most {most} images in one call");
            Err(RequestError::invalid("n", text))
        }
        Some(_) | None => Ok(()),
    }
}

/// Input images are read at the edits endpoint only: elsewhere their effect would depend on the vendor.
fn brought(request: &mut ImageRequest, report: &mut FieldReport) {
    match request.endpoint {
        ImageEndpoint::Edits => report.add(FieldNote::read("image")),
        ImageEndpoint::Generations => {
            for name in BROUGHT {
                if request.extras.remove(name).is_some() {
                    let why = "pictures are read at /v1/images/edits alone";
                    let code = format!("{}_ignored", name.trim_end_matches("[]"));
                    let note = FieldNote::new(name, FieldTreatment::Ignored, code, why);
                    report.add(note.with_fix("use /v1/images/edits"));
                }
            }
        }
    }
}

/// The response does not depend on what the vendor returns, a URL or bytes: both are converted to the requested
/// format. So `response_format` is not sent, which OpenAI's newer models would refuse,
/// unless the record names it as a field that the model reads.
fn say_form(request: &mut ImageRequest, entry: &Entry) {
    if field_policy::is_named(entry, "response_format") {
        let word = if request.wants_base64 {
            "b64_json"
        } else {
            "url"
        };
        let name = "response_format".to_owned();
        request.extras.insert(name, Value::from(word));
    }
}

/// A field whose values a record may list and a price may depend on.
struct Choice<'a> {
    name: &'static str,
    listed: Option<&'a [String]>,
    usual: Option<&'a str>,
    /// Spellings of the same value.
    spellings: fn(&str) -> Vec<String>,
}

impl Choice<'_> {
    fn settle(
        &self,
        requested: Option<String>,
        prices: &PriceList,
        report: &mut FieldReport,
    ) -> Result<Option<String>, RequestError> {
        let is_priced = prices.request_paths().any(|path| path == self.name);
        match (requested, self.usual().filter(|_| is_priced)) {
            (None, Some(usual)) => {
                let why = "the price depends on this field, so its default is sent explicitly";
                let code = format!("{}_defaulted", self.name);
                let note = FieldNote::new(self.name, FieldTreatment::Defaulted, code, why);
                report.add(note.with_value(usual));
                Ok(Some(usual.to_owned()))
            }
            (None, None) => Ok(None),
            (Some(word), Some(usual)) if word == AUTO => {
                let why = "the vendor would choose, and with it the price";
                let code = format!("{}_fixed", self.name);
                let note = FieldNote::new(self.name, FieldTreatment::Rewritten, code, why)
                    .with_value(usual);
                report.add(note.with_fix(format!("say `{}` outright", self.name)));
                Ok(Some(usual.to_owned()))
            }
            (Some(word), None) if word == AUTO => Ok(Some(word)),
            (Some(word), _) => self.spelled(&word, prices).map(Some),
        }
    }

    fn usual(&self) -> Option<&str> {
        let first = self.listed.and_then(<[String]>::first);
        self.usual.or(first.map(String::as_str))
    }

    /// The value as the record spells it, or else as the prices do.
    fn spelled(&self, word: &str, prices: &PriceList) -> Result<String, RequestError> {
        let ways = (self.spellings)(word);
        if let Some(listed) = self.listed {
            let found = listed.iter().find(|known| ways.contains(known));
            return found.cloned().ok_or_else(|| {
                let (name, all) = (self.name, field_policy::listed(listed));
                let text = format!("`{name}` of this model must be one of {all}");
                RequestError::invalid(name, text)
            });
        }
        let is_sold = |way: &&String| prices.sells(self.name, &Scalar::Text((*way).clone()));
        let sold = ways.iter().find(is_sold);
        Ok(sold.cloned().unwrap_or_else(|| word.to_owned()))
    }
}

/// `1024x1024` and `1024*1024` are the same size.
fn spellings_of_size(size: &str) -> Vec<String> {
    vec![
        size.to_owned(),
        size.replace('*', "x"),
        size.replace('x', "*"),
    ]
}

/// What the price depends on, as it is sent.
fn attributes(request: &ImageRequest, prices: &PriceList) -> Attributes {
    let mut attributes = Attributes::none();
    for path in prices.request_paths() {
        if let Some(value) = at(&request.extras, path) {
            attributes = attributes.with(path, value);
        }
    }
    for (name, word) in [("size", &request.size), ("quality", &request.quality)] {
        if let Some(word) = word {
            attributes = attributes.with(name, word.as_str());
        }
    }
    attributes
}

fn at(extras: &Map<String, Value>, path: &str) -> Option<Scalar> {
    let mut names = path.split('.');
    let mut value = extras.get(names.next()?)?;
    for name in names {
        value = value.get(name)?;
    }
    match value {
        Value::Bool(flag) => Some(Scalar::Bool(*flag)),
        Value::Number(number) => number.as_i64().map(Scalar::Integer),
        Value::String(text) => Some(Scalar::Text(text.clone())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
