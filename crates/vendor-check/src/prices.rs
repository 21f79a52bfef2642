//! Prices that a vendor lists beside its models, compared with those of our table. Not every vendor lists them.

use serde_json::Value;

use crate::vendor::Vendor;

/// Pico-USD in a USD, as decimal places.
const PLACES: usize = 12;

/// Prices of one token, in pico-USD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListedPrices {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

/// The prices of a model in a list of models, as `pricing` with USD for a token: `prompt` and `completion`.
pub(crate) fn listed(body: &[u8], model: &str) -> Option<ListedPrices> {
    let list: Value = serde_json::from_slice(body).ok()?;
    let mut models = list.get("data")?.as_array()?.iter();
    let pricing = models
        .find(|one| one.get("id").and_then(Value::as_str) == Some(model))?
        .get("pricing")?;
    Some(ListedPrices {
        input: pico(pricing.get("prompt")?)?,
        output: pico(pricing.get("completion")?)?,
    })
}

/// A line for each price that is another one.
pub(crate) fn differences(listed: ListedPrices, vendor: &Vendor) -> Vec<String> {
    let pairs = [
        ("input", listed.input, vendor.input_pico),
        ("output", listed.output, vendor.output_pico),
    ];
    let changed = pairs.into_iter().filter(|(_, theirs, ours)| theirs != ours);
    let lines = changed.map(|(name, theirs, ours)| {
        format!("price of {name}: vendor has {theirs} pico-USD a token, our table has {ours}")
    });
    lines.collect()
}

/// A decimal number of USD; none for what is finer, or another notation.
fn pico(value: &Value) -> Option<u64> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    if fraction.len() > PLACES || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    format!("{whole}{fraction:0<PLACES$}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_read_to_the_pico_and_another_form_is_none() {
        let list = |pricing: &str| {
            format!(r#"{{"data":[{{"id":"a"}},{{"id":"m","pricing":{pricing}}}]}}"#)
        };
        let read = |pricing: &str| listed(list(pricing).as_bytes(), "m");
        let prices = ListedPrices {
            input: 1_000_000,
            output: 12_500_000,
        };
        assert_eq!(
            read(r#"{"prompt":"0.000001","completion":"0.0000125"}"#),
            Some(prices)
        );
        assert_eq!(read(r#"{"prompt":"1e-6","completion":"1"}"#), None);
        assert_eq!(read("null"), None);
        assert_eq!(listed(b"[]", "m"), None);
        let mut vendor = Vendor::find("simulator").unwrap();
        vendor.input_pico = 1_000_000;
        vendor.output_pico = 4_000_000;
        let lines = differences(prices, &vendor);
        let expected =
            "price of output: vendor has 12500000 pico-USD a token, our table has 4000000";
        assert_eq!(lines, [expected]);
    }
}
