//! Every case of the five families of video models through the real endpoint: what is refused, in which words and
//! before money moves, or the exact body that the vendor's simulator received, the report and the price.

use std::path::Path;

use bytes::Bytes;
use http::Method;
use serde_json::{Map, Value, json};
use trunkline_catalog::{
    Attributes, Book, GroupChoice, PriceClass, PricingContext, Scalar, quote, starter,
};
use trunkline_generation::video::BillableUnits;
use trunkline_types::{Money, Timestamp};

use crate::test_gateway::{GatewayResponse, TestGateway};
use crate::videos::{generation, make, quick};

/// Cases whose body our rules take and the vendor's own do not, as its simulator says.
const REFUSED_BY_VENDOR: [&str; 2] = ["content_one_roleless", "top_two_beside_roleless_image"];

/// A case and the model of the starter catalog that it is sent to.
struct Case {
    name: String,
    request: Value,
    expect: Value,
}

/// The cases of a family that need nothing fetched and no record of their own.
fn cases(family: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../generation/tests/fixtures/video");
    let models = starter().unwrap().models;
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder.join(family)).unwrap() {
        let path = entry.unwrap().path();
        let case: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let to_measure = case["expect"]["to_measure"].as_array();
        let is_measured = to_measure.is_some_and(|left| !left.is_empty());
        if is_measured || case.get("measured").is_some() || case.get("specs").is_some() {
            continue;
        }
        let word = format!("{family}_{}", case["variant"].as_str().unwrap());
        let mut ours = models
            .iter()
            .filter(|(_, entry)| entry.specs.video_family.as_deref() == Some(&*word));
        let (model, _) = ours.next().unwrap();
        let mut request = case["request"].clone();
        if request["model"].is_string() {
            request["model"] = json!(model);
        }
        cases.push(Case {
            name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
            request,
            expect: case["expect"].clone(),
        });
    }
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    cases
}

/// What the bill of a case costs at the prices of the starter catalog.
fn price(book: &Book, case: &Case) -> Money {
    let model = case.request["model"].as_str().unwrap();
    let bill = &case.expect["bill"];
    let number = |name: &str| bill[name].as_u64().unwrap();
    let mut attributes = Attributes::none();
    for (path, value) in bill["attributes"].as_object().unwrap() {
        let value: Scalar = serde_json::from_value(value.clone()).unwrap();
        attributes = attributes.with(path, value);
    }
    let bill = BillableUnits {
        output_seconds: number("output_seconds"),
        input_seconds: number("input_seconds"),
        extra_images: number("extra_images"),
        exact: bill["exact"].as_bool().unwrap(),
        attributes,
    };
    let (_, offer) = book.offer(model, GroupChoice::Named("default")).unwrap();
    let list = book.model(model).unwrap().list();
    let units = bill.usage().billed(list.billing_unit()).unwrap();
    let context = PricingContext {
        attributes: &bill.attributes,
        at: Timestamp::from_micros(0),
    };
    let quote = quote(offer, PriceClass::Standard, &units, context).unwrap();
    quote.total
}

/// The field, the fate and the code of each note that has a code.
fn codes(notes: &Value) -> Vec<[String; 3]> {
    let none = Vec::new();
    let notes = notes.as_array().unwrap_or(&none);
    let coded = notes.iter().filter(|note| note["code"].is_string());
    let mut codes: Vec<_> = coded
        .map(|note| ["field", "fate", "code"].map(|part| note[part].as_str().unwrap().to_owned()))
        .collect();
    codes.sort();
    codes
}

/// Whether a quote of the case names the fate of the same fields, or refuses it in the same words.
async fn quoted(harness: &TestGateway, case: &Case) -> Vec<String> {
    let ask = json!({ "endpoint": "videos", "body": case.request }).to_string();
    let got = harness
        .send(Method::POST, "/v1/quotes", Bytes::from(ask))
        .await;
    let got = GatewayResponse::read(got).await;
    if case.expect.get("refused").is_some() {
        return refused(&got, harness, case);
    }
    let (reported, expected) = (codes(&got.json()["fields"]), codes(&case.expect["notes"]));
    if reported == expected {
        return Vec::new();
    }
    vec![format!("quoted {reported:?}\n  not    {expected:?}")]
}

fn refused(got: &GatewayResponse, harness: &TestGateway, case: &Case) -> Vec<String> {
    let refused = &case.expect["refused"];
    let mut wrong = Vec::new();
    let error = &got.json()["error"];
    if got.status != 400 {
        wrong.push(format!("status {}", got.status));
    }
    for part in ["code", "param", "message"] {
        if let Some(expected) = refused.get(part)
            && error[part] != *expected
        {
            wrong.push(format!("{part} is {}, not {expected}", error[part]));
        }
    }
    if !harness.simulator.requests().is_empty() {
        wrong.push("it was sent".to_owned());
    }
    wrong
}

fn taken(got: &GatewayResponse, harness: &TestGateway, book: &Book, case: &Case) -> Vec<String> {
    let mut wrong = Vec::new();
    let is_refused = REFUSED_BY_VENDOR.contains(&&*case.name);
    if got.status != if is_refused { 400 } else { 200 } {
        return vec![format!("status {}: {}", got.status, got.text())];
    }
    let task = got.json();
    let sent = harness.simulator.requests();
    let bodies: Vec<(&str, Map<String, Value>)> = sent
        .iter()
        .filter_map(|request| Some((&*request.path, serde_json::from_slice(&request.body).ok()?)))
        .collect();
    let [(path, mut body)] = <[_; 1]>::try_from(bodies).unwrap();
    let model = ["model", "model_name"]
        .iter()
        .find_map(|field| body.remove(*field));
    let name = case.request["model"].as_str().unwrap();
    let is_named = model.map_or_else(|| path.contains(name), |model| model == name);
    if !is_named {
        wrong.push(format!("{name} is neither in {path} nor in the body"));
    }
    // One vendor takes our own id of the task, at the top or among its options.
    let named = [None, Some("options")].iter().find_map(|at| {
        let of = match at {
            None => &mut body,
            Some(at) => body.get_mut(*at)?.as_object_mut()?,
        };
        of.remove("external_task_id")
    });
    if named.is_some_and(|named| named != task["id"]) {
        wrong.push("the task has another id there".to_owned());
    }
    if Value::Object(body.clone()) != case.expect["body"] {
        wrong.push(format!(
            "sent {}\n  not  {}",
            json!(body),
            case.expect["body"]
        ));
    }
    if is_refused {
        return wrong;
    }
    let (reported, mut expected) = (
        codes(&task["metadata"]["warnings"]),
        codes(&case.expect["notes"]),
    );
    // What was filled in is told by quotes alone.
    expected.retain(|[_, fate, _]| fate != "defaulted");
    if reported != expected {
        wrong.push(format!("reported {reported:?}\n  not      {expected:?}"));
    }
    if task["size"] != case.expect["size"] {
        wrong.push(format!(
            "size is {}, not {}",
            task["size"], case.expect["size"]
        ));
    }
    let cost = got.header("trunkline-cost-usd");
    let expected = price(book, case).to_string();
    if cost.as_deref() != Some(&*expected) {
        wrong.push(format!("costs {cost:?}, not {expected}"));
    }
    wrong
}

async fn walk(family: &str) -> usize {
    let harness = generation(quick()).await;
    let book = Book::check(starter().unwrap()).unwrap();
    let cases = cases(family);
    let mut all_wrong = Vec::new();
    for case in &cases {
        harness.simulator.clear_requests();
        let before = harness.wallets().await;
        let mut wrong = quoted(&harness, case).await;
        let got = make(&harness, &case.request).await;
        if got.status != 200 {
            assert_eq!(harness.wallets().await, before, "{}", case.name);
        }
        wrong.extend(if case.expect.get("refused").is_some() {
            refused(&got, &harness, case)
        } else {
            taken(&got, &harness, &book, case)
        });
        all_wrong.extend(
            wrong
                .iter()
                .map(|what| format!("{family}/{}: {what}", case.name)),
        );
    }
    assert!(
        all_wrong.is_empty(),
        "{} of {}:\n{}",
        all_wrong.len(),
        cases.len(),
        all_wrong.join("\n")
    );
    println!("{} cases of family {family}", cases.len());
    cases.len()
}

// covers: D-6-01, D-6-02, D-6-04, D-6-12, D-6-13, D-6-18, D-6-23, D-6-24, D-6-25, D-6-26, D-6-27, D-6-28, D-6-29
// covers: D-6-A-01, D-6-A-02, D-6-A-03, D-6-A-04, D-6-A-05, D-6-A-07, D-6-A-08, D-6-A-10, D-6-A-11, D-6-A-12
// covers: D-7-VID-01, D-7-VID-02, D-7-VID-04, D-7-VID-05, D-7-VID-06, D-7-VID-07, D-7-VID-12, D-7-VID-13
// covers: D-7-VID-14, D-7-VID-15, D-7-VID-34, D-7-VID-35, D-7-VID-36, G-4.2-02, G-4.2-03, G-4.2-04, G-4.2-05
// covers: G-4.2-06, G-4.2-07, G-4.2-08, G-4.2-09, G-4.2-10, G-4.2-11, G-4.2-12, G-4.2-13, G-4.2-14, G-4.2-15
// covers: G-4.2-A-02, G-4.2-A-03, G-4.2-A-04, G-4.2-A-05, G-4.2-A-06, G-4.2-A-07, G-4.2-A-08, G-4.2-A-09
// covers: G-4.2-A-10, G-4.2-A-11, G-4.2-A-12, G-4.2-A-13, G-4.2-A-14, G-4.2-A-15, G-4.2-A-17, G-4.2-A-18
// covers: G-4.2-A-19, G-4.2-A-20, G-4.2-A-21, G-4.2-A-22, G-4.2-A-23, G-4.2-A-24, G-4.2-A-32, G-4.2-A-33, G-7-01
// covers: G-8-01, G-8-11, G-8-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_of_family_a_gets_every_case_over_http_as_its_file_says() {
    assert_eq!(Box::pin(walk("a")).await, 108);
}

// covers: D-6-11, D-6-16, D-6-22, D-6-24, D-6-25, D-6-26, D-6-27, D-6-28, D-6-29, D-6-B-01, D-6-B-02, D-6-B-03
// covers: D-6-B-04, D-6-B-05, D-6-B-06, D-6-B-07, D-6-B-08, D-6-B-09, D-6-B-10, D-6-B-11, D-6-B-12, D-6-B-13
// covers: D-6-B-16, D-7-VID-01, D-7-VID-02, D-7-VID-17, D-7-VID-38, D-7-VID-39, G-4.2-01, G-4.2-02, G-4.2-03
// covers: G-4.2-04, G-4.2-08, G-4.2-09, G-4.2-10, G-4.2-11, G-4.2-15, G-4.2-B-01, G-4.2-B-02, G-4.2-B-03
// covers: G-4.2-B-04, G-4.2-B-05, G-4.2-B-06, G-4.2-B-07, G-4.2-B-08, G-4.2-B-09, G-4.2-B-10, G-4.2-B-11
// covers: G-4.2-B-12, G-4.2-B-13, G-4.2-B-14, G-4.2-B-15, G-4.2-B-16, G-4.2-B-17, G-4.2-B-18, G-4.2-B-19
// covers: G-4.2-B-20, G-4.2-B-21, G-4.2-B-22, G-4.2-B-23, G-4.2-B-24, G-4.2-B-25, G-4.2-B-26, G-4.2-B-28
// covers: G-4.2-B-29, G-4.2-B-30, G-4.2-B-31, G-4.2-B-32, G-4.2-B-33, G-4.2-B-34, G-4.2-B-35, G-4.2-B-37
// covers: G-4.2-B-38, G-4.2-B-39, G-7-05, G-8-07, G-8-08, G-8-09, G-8-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_of_family_b_gets_every_case_over_http_as_its_file_says() {
    assert_eq!(Box::pin(walk("b")).await, 126);
}

// covers: D-6-03, D-6-05, D-6-06, D-6-09, D-6-10, D-6-14, D-6-17, D-6-19, D-6-29, D-6-30, D-6-C-01, D-6-C-02
// covers: D-6-C-03, D-6-C-04, D-6-C-05, D-6-C-06, D-6-C-07, D-6-C-08, D-6-C-09, D-6-C-10, D-6-C-11, D-6-C-12
// covers: D-7-VID-01, D-7-VID-02, D-7-VID-18, D-7-VID-19, D-7-VID-20, D-7-VID-21, D-7-VID-22, D-7-VID-23
// covers: D-7-VID-24, D-7-VID-40, G-4.2-08, G-4.2-09, G-4.2-11, G-4.2-15, G-4.2-C-01, G-4.2-C-02, G-4.2-C-03
// covers: G-4.2-C-04, G-4.2-C-05, G-4.2-C-06, G-4.2-C-07, G-4.2-C-08, G-4.2-C-09, G-4.2-C-10, G-4.2-C-11
// covers: G-4.2-C-12, G-4.2-C-13, G-4.2-C-14, G-4.2-C-15, G-4.2-C-16, G-4.2-C-17, G-4.2-C-18, G-4.2-C-19
// covers: G-4.2-C-20, G-4.2-C-21, G-4.2-C-22, G-4.2-C-23, G-4.2-C-24, G-4.2-C-25, G-4.2-C-26, G-4.2-C-27
// covers: G-4.2-C-28, G-4.2-C-29, G-4.2-C-30, G-4.2-C-31, G-4.2-C-32, G-4.2-C-33, G-4.2-C-34, G-4.2-C-35
// covers: G-4.2-C-36, G-4.2-C-37, G-4.2-C-38, G-4.2-C-39, G-4.2-C-40, G-4.2-C-41, G-4.2-C-42, G-4.2-C-43
// covers: G-4.2-C-44, G-4.2-C-45, G-4.2-C-46, G-4.2-C-47, G-4.2-C-48, G-4.2-C-49, G-4.2-C-50, G-4.2-C-51
// covers: G-4.2-C-52, G-4.2-C-53, G-4.2-C-54, G-7-08, G-8-04, G-8-05, G-8-13, G-8-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_of_family_c_gets_every_case_over_http_as_its_file_says() {
    assert_eq!(Box::pin(walk("c")).await, 147);
}

// covers: D-6-01, D-6-02, D-6-07, D-6-15, D-6-20, D-6-23, D-6-24, D-6-25, D-6-26, D-6-27, D-6-28, D-6-29, D-6-D-01
// covers: D-6-D-02, D-6-D-03, D-6-D-04, D-6-D-05, D-6-D-06, D-6-D-07, D-6-D-08, D-6-D-09, D-6-M-01, D-7-VID-01
// covers: D-7-VID-02, D-7-VID-25, G-4.2-01, G-4.2-02, G-4.2-03, G-4.2-04, G-4.2-05, G-4.2-06, G-4.2-07, G-4.2-08
// covers: G-4.2-09, G-4.2-10, G-4.2-11, G-4.2-15, G-4.2-D-01, G-4.2-D-02, G-4.2-D-03, G-4.2-D-04, G-4.2-D-06
// covers: G-4.2-D-07, G-4.2-D-08, G-4.2-D-09, G-4.2-D-10, G-4.2-D-11, G-4.2-D-12, G-4.2-D-13, G-4.2-D-14
// covers: G-4.2-D-15, G-4.2-D-16, G-4.2-D-17, G-4.2-D-18, G-4.2-D-19, G-4.2-D-20, G-4.2-D-21, G-4.2-D-22
// covers: G-4.2-D-23, G-4.2-D-24, G-4.2-D-25, G-8-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_of_family_d_gets_every_case_over_http_as_its_file_says() {
    assert_eq!(Box::pin(walk("d")).await, 90);
}

// covers: D-6-02, D-6-08, D-6-12, D-6-13, D-6-21, D-6-23, D-6-24, D-6-25, D-6-26, D-6-27, D-6-28, D-6-29, D-6-A-01
// covers: D-6-A-03, D-7-VID-01, D-7-VID-02, D-7-VID-08, D-7-VID-09, D-7-VID-11, D-7-VID-12, D-7-VID-13, D-7-VID-14
// covers: D-7-VID-15, D-7-VID-36, G-4.2-11, G-4.2-13, G-4.2-E-02, G-4.2-E-03, G-4.2-E-04, G-4.2-E-05, G-4.2-E-06
// covers: G-4.2-E-07, G-4.2-E-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_of_family_e_gets_every_case_over_http_as_its_file_says() {
    assert_eq!(Box::pin(walk("e")).await, 95);
}
