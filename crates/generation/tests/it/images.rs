//! Requests for images: what is read, what a record makes of it, what moves the price.

use serde_json::{Value, json};
use trunkline_catalog::{FieldTreatment, RequestError, Scalar};
use trunkline_generation::Fields;
use trunkline_generation::images::{
    ImageEndpoint, ImageRequest, ImageSource, InputImage, Plan, plan, protocol_of,
};
use trunkline_generation::vendor_http::VendorResponse;

use crate::records::{body, entry, form, note, prices, telling, tiered, with};

const PNG: &str = "data:image/png;base64,UE5H";

fn fox() -> Value {
    json!({ "model": "m", "prompt": "a fox" })
}

fn read(endpoint: ImageEndpoint, fields: &Value) -> Result<ImageRequest, RequestError> {
    ImageRequest::read(endpoint, &body(fields), Vec::new())
}

fn generations(fields: &Value) -> Result<ImageRequest, RequestError> {
    read(ImageEndpoint::Generations, fields)
}

fn edits(fields: &Value) -> Result<ImageRequest, RequestError> {
    read(ImageEndpoint::Edits, fields)
}

fn planned(fields: &Value, record: &Value) -> Result<Plan, RequestError> {
    let record = entry(record);
    plan(generations(fields)?, &record, &prices(&record))
}

/// The field that a request is refused for.
fn param(outcome: Result<ImageRequest, RequestError>) -> String {
    outcome.expect_err("it must be refused").param
}

fn sent(plan: &Plan) -> Value {
    let write = protocol_of("openai_images").unwrap().encode;
    let call = write(&plan.request, "upstream").unwrap().request;
    serde_json::from_slice(&call.body.unwrap()).unwrap()
}

fn file(name: &str, text: &'static str) -> (String, InputImage) {
    let picture = InputImage::Held {
        name: "a.png".to_owned(),
        content_type: "image/png".to_owned(),
        bytes: text.into(),
    };
    (name.to_owned(), picture)
}

// covers: G-4.3-01, G-4.3-02
#[test]
fn model_and_prompt_are_required_texts() {
    for name in ["model", "prompt"] {
        for wrong in [json!(null), json!(""), json!(5), json!(["x"])] {
            assert_eq!(param(generations(&with(&fox(), name, wrong.clone()))), name);
            assert_eq!(param(edits(&with(&fox(), name, wrong))), name);
        }
    }
    assert_eq!(param(generations(&json!({ "prompt": "x" }))), "model");
    assert_eq!(param(generations(&json!({ "model": "x" }))), "prompt");
}

// covers: G-4.3-03, D-4-52
#[test]
fn n_is_a_whole_number_from_1_to_128_and_so_many_are_asked_for() {
    for (value, count) in [
        (json!(null), 1),
        (json!(1), 1),
        (json!(2), 2),
        (json!(128), 128),
    ] {
        let ask = generations(&with(&fox(), "n", value)).unwrap();
        assert_eq!(ask.count, count);
    }
    for wrong in [
        json!(0),
        json!(129),
        json!("2"),
        json!(1.5),
        json!(-1),
        json!([1]),
    ] {
        assert_eq!(param(generations(&with(&fox(), "n", wrong))), "n");
    }
    let plan = planned(&with(&fox(), "n", json!(2)), &json!({})).unwrap();
    assert_eq!(sent(&plan)["n"], json!(2));
    let answer =
        json!({ "data": [{ "url": "https://a.example" }, { "url": "https://b.example" }] });
    let bytes = answer.to_string();
    let response = VendorResponse {
        status: 200,
        retry_after: None,
        body: bytes.as_bytes(),
    };
    let read = protocol_of("openai_images").unwrap().decode;
    assert_eq!(read(&plan.request, &response).unwrap().pictures.len(), 2);
}

#[test]
fn in_a_form_numbers_are_texts() {
    let fields = json!({ "model": "m", "prompt": "x", "n": "3", "stream": "false", "seed": "7" });
    let ask = ImageRequest::read(
        ImageEndpoint::Edits,
        &form(&fields),
        vec![file("image", "A")],
    )
    .unwrap();
    assert_eq!(ask.count, 3);
    assert_eq!(ask.extras["seed"], json!(7));
    for wrong in ["0", "129", "two", "1.5"] {
        let fields = form(&with(&fields, "n", json!(wrong)));
        assert_eq!(
            param(ImageRequest::read(
                ImageEndpoint::Edits,
                &fields,
                vec![file("image", "A")]
            )),
            "n"
        );
    }
}

// covers: D-4-53
#[test]
fn n_is_at_most_what_the_record_says() {
    let record = json!({ "specs": { "max_images": 4 } });
    assert!(planned(&with(&fox(), "n", json!(4)), &record).is_ok());
    let refusal = planned(&with(&fox(), "n", json!(5)), &record).unwrap_err();
    assert_eq!(
        (refusal.code, refusal.param.as_str()),
        ("invalid_request", "n")
    );
    assert!(planned(&with(&fox(), "n", json!(5)), &json!({})).is_ok());
}

#[test]
fn the_answer_is_whole_and_in_one_of_two_forms() {
    let forms = [
        (json!(null), false),
        (json!("url"), false),
        (json!("b64_json"), true),
    ];
    for (value, wants) in forms {
        let ask = generations(&with(&fox(), "response_format", value)).unwrap();
        assert_eq!(ask.wants_base64, wants);
    }
    for wrong in [json!("base64"), json!(1)] {
        let fields = with(&fox(), "response_format", wrong);
        assert_eq!(param(generations(&fields)), "response_format");
    }
    assert_eq!(
        param(generations(&with(&fox(), "stream", json!(true)))),
        "stream"
    );
    assert_eq!(
        param(generations(&with(&fox(), "partial_images", json!(2)))),
        "stream"
    );
    let still = json!({ "model": "m", "prompt": "x", "stream": false, "partial_images": 0 });
    let plan = planned(&still, &json!({})).unwrap();
    assert_eq!(
        sent(&plan),
        json!({ "model": "upstream", "prompt": "x", "n": 1 })
    );
    assert!(note(&plan.report, "stream").is_some());
}

// covers: G-4.3-12
#[test]
fn a_picture_is_required_for_edits_and_ignored_elsewhere() {
    let refusal = edits(&fox()).unwrap_err();
    assert_eq!(
        (refusal.param.as_str(), refusal.fix.is_empty()),
        ("image", false)
    );
    let fields = with(&fox(), "image", json!("https://c.example/a.png"));
    assert_eq!(edits(&fields).unwrap().images.len(), 1);
    let plan = planned(&fields, &json!({})).unwrap();
    let reported = telling(plan.report.notes());
    assert_eq!(reported, json!([["image", "ignored", "image_ignored"]]));
    assert!(
        note(&plan.report, "image")
            .unwrap()
            .fix
            .as_ref()
            .unwrap()
            .contains("/v1/images/edits")
    );
    assert!(!sent(&plan).as_object().unwrap().contains_key("image"));
}

#[test]
fn pictures_come_as_addresses_data_uris_lists_objects_and_files() {
    let link = InputImage::Link("https://c.example/a.png".to_owned());
    let here = InputImage::Held {
        name: "image.png".to_owned(),
        content_type: "image/png".to_owned(),
        bytes: "PNG".into(),
    };
    let url = "https://c.example/a.png";
    let cases = [
        ("image", json!(url), vec![link.clone()]),
        ("image", json!(PNG), vec![here.clone()]),
        ("image", json!([url, PNG]), vec![link.clone(), here]),
        ("images", json!([{ "image_url": url }]), vec![link]),
    ];
    for (name, value, images) in cases {
        assert_eq!(edits(&with(&fox(), name, value)).unwrap().images, images);
    }
    let files = vec![
        file("image[]", "A"),
        file("image[]", "B"),
        file("mask", "M"),
    ];
    let ask = ImageRequest::read(ImageEndpoint::Edits, &form(&fox()), files).unwrap();
    assert_eq!((ask.images.len(), ask.mask.is_some()), (2, true));
}

#[test]
fn pictures_that_cannot_be_are_refused_by_their_field() {
    let wrong = [
        ("image", json!("fox.png")),
        ("image", json!("ftp://c.example/a.png")),
        ("image", json!("data:image/png;base64,")),
        ("image", json!("data:image/png;base64,***")),
        ("image", json!("data:text/plain;base64,UE5H")),
        ("image", json!("data:image/png,UE5H")),
        ("image", json!(7)),
        ("image", json!([null])),
        ("images", json!([{ "file_id": "file-1" }])),
        ("images", json!([{ "url": "https://c.example/a.png" }])),
        ("image", json!(vec![PNG; 17])),
    ];
    for (name, value) in wrong {
        assert_eq!(param(edits(&with(&fox(), name, value))), name);
    }
    assert_eq!(
        edits(&with(&fox(), "image", json!(vec![PNG; 16])))
            .unwrap()
            .images
            .len(),
        16
    );
    let files = |files: Vec<(String, InputImage)>| {
        ImageRequest::read(ImageEndpoint::Edits, &form(&fox()), files)
    };
    assert_eq!(param(files(vec![file("image", "")])), "image");
    assert_eq!(param(files(vec![file("photo", "A")])), "photo");
    let masks = vec![file("image", "A"), file("mask", "M"), file("mask", "M")];
    assert_eq!(param(files(masks)), "mask");
    let mask = json!({ "model": "m", "prompt": "x", "image": PNG, "mask": "m.png" });
    assert_eq!(param(edits(&mask)), "mask");
}

// covers: G-4.3-05, G-4.3-07
#[test]
fn an_absent_size_or_quality_is_the_default_and_is_sent_if_priced() {
    for name in ["size", "quality"] {
        let specs = json!({ "default_size": "2x2", "default_quality": "2x2" });
        let free = planned(&fox(), &json!({ "specs": specs })).unwrap();
        assert!(!sent(&free).as_object().unwrap().contains_key(name));
        assert_eq!(free.attributes.get(name), None);

        let record = json!({ "specs": specs, "prices": tiered(name, &["1x1", "2x2"]) });
        let priced = planned(&fox(), &record).unwrap();
        assert_eq!(sent(&priced)[name], json!("2x2"));
        assert_eq!(priced.attributes.get(name), Some(&Scalar::from("2x2")));
        let reported = note(&priced.report, name).unwrap();
        assert_eq!(
            (reported.fate, reported.value.as_deref()),
            (FieldTreatment::Defaulted, Some("2x2"))
        );

        let requested = planned(&with(&fox(), name, json!("1x1")), &record).unwrap();
        assert_eq!(sent(&requested)[name], json!("1x1"));
        assert_eq!(requested.attributes.get(name), Some(&Scalar::from("1x1")));
    }
}

#[test]
fn without_a_default_the_first_of_the_list_is_meant() {
    let specs = json!({ "resolutions": ["1x1", "2x2"], "qualities": ["low", "high"] });
    let record = json!({ "specs": specs, "prices": tiered("size", &["1x1", "2x2"]) });
    let plan = planned(&fox(), &record).unwrap();
    assert_eq!(
        (plan.request.size.as_deref(), plan.request.quality),
        (Some("1x1"), None)
    );
    let unknown = json!({ "prices": tiered("size", &["1x1", "2x2"]) });
    assert_eq!(planned(&fox(), &unknown).unwrap().request.size, None);
}

#[test]
fn auto_is_replaced_where_the_price_depends_on_it_and_goes_on_elsewhere() {
    let auto = with(&fox(), "size", json!("auto"));
    let specs = json!({ "resolutions": ["1x1", "2x2"], "default_size": "2x2" });
    let record = json!({ "specs": specs, "prices": tiered("size", &["1x1", "2x2"]) });
    let plan = planned(&auto, &record).unwrap();
    assert_eq!(plan.request.size.as_deref(), Some("2x2"));
    assert_eq!(
        telling(plan.report.notes()),
        json!([["size", "rewritten", "size_fixed"]])
    );
    let free = planned(&auto, &json!({ "specs": specs })).unwrap();
    assert_eq!(free.request.size.as_deref(), Some("auto"));
    assert!(free.report.first_pitfall().is_none());
}

// covers: G-4.3-06
#[test]
fn a_size_goes_on_whether_it_is_written_with_an_x_or_an_asterisk() {
    let record = json!({ "specs": { "resolutions": ["1024x1024", "3840x2160"] } });
    for size in ["3840x2160", "3840*2160"] {
        let plan = planned(&with(&fox(), "size", json!(size)), &record).unwrap();
        assert_eq!(sent(&plan)["size"], json!("3840x2160"));
        assert!(plan.report.first_pitfall().is_none());
    }
    let refusal = planned(&with(&fox(), "size", json!("5x5")), &record).unwrap_err();
    assert_eq!(refusal.param, "size");
    assert!(refusal.message.contains("1024x1024, 3840x2160"));
    let open = planned(&with(&fox(), "size", json!("3840x2160")), &json!({})).unwrap();
    assert_eq!(sent(&open)["size"], json!("3840x2160"));
    // Prices are found by either spelling, also where the record lists no sizes.
    let priced = json!({ "prices": tiered("size", &["1*1", "2*2"]) });
    let plan = planned(&with(&fox(), "size", json!("2x2")), &priced).unwrap();
    assert_eq!(plan.attributes.get("size"), Some(&Scalar::from("2*2")));
}

#[test]
fn a_quality_is_one_of_the_records_words() {
    let record = json!({ "specs": { "qualities": ["low", "high"] } });
    assert!(planned(&with(&fox(), "quality", json!("high")), &record).is_ok());
    let refusal = planned(&with(&fox(), "quality", json!("hd")), &record).unwrap_err();
    assert_eq!(refusal.param, "quality");
}

#[test]
fn other_fields_that_move_the_price_are_its_attributes() {
    let record = json!({ "prices": tiered("style.kind", &["vivid", "plain"]) });
    let fields = with(&fox(), "style", json!({ "kind": "vivid" }));
    let plan = planned(&fields, &record).unwrap();
    assert_eq!(
        plan.attributes.get("style.kind"),
        Some(&Scalar::from("vivid"))
    );
}

#[test]
fn every_field_is_in_the_report_and_strange_ones_are_told() {
    let fields = json!({
        "model": "m", "prompt": "x", "n": 1, "size": "1x1", "quality": "low", "user": "u",
        "response_format": "url", "stream": false, "backgruond": "opaque", "seed": 5,
    });
    let plan = planned(&fields, &json!({ "parameters": { "seed": "pass" } })).unwrap();
    for name in fields.as_object().unwrap().keys() {
        assert!(note(&plan.report, name).is_some(), "{name}");
    }
    assert_eq!(
        telling(plan.report.notes()),
        json!([["backgruond", "read", "unknown_field"]])
    );
    let fix = note(&plan.report, "backgruond").unwrap().fix.clone();
    assert_eq!(fix.as_deref(), Some("did you mean `background`?"));
    assert_eq!(sent(&plan)["backgruond"], json!("opaque"));
}

#[test]
fn a_record_may_drop_or_refuse_fields() {
    let fields = json!({ "model": "m", "prompt": "x", "quality": "low", "style": "vivid" });
    let record = json!({ "parameters": { "quality": "drop", "style": "drop" } });
    let plan = planned(&fields, &record).unwrap();
    assert_eq!(
        sent(&plan),
        json!({ "model": "upstream", "prompt": "x", "n": 1 })
    );
    let reported = json!([
        ["quality", "ignored", "parameter_dropped"],
        ["style", "ignored", "parameter_dropped"],
    ]);
    assert_eq!(telling(plan.report.notes()), reported);
    for name in ["quality", "style"] {
        let refusal = planned(&fields, &json!({ "parameters": { name: "refuse" } })).unwrap_err();
        assert_eq!(
            (refusal.code, refusal.param.as_str()),
            ("parameter_refused", name)
        );
    }
    let record = json!({ "parameters": { "response_format": "refuse" } });
    let fields = with(&fields, "response_format", json!("url"));
    assert_eq!(
        planned(&fields, &record).unwrap_err().param,
        "response_format"
    );
}

#[test]
fn a_mask_and_pictures_of_an_edit_are_in_the_report() {
    let fields = json!({ "model": "m", "prompt": "x", "image": PNG, "mask": PNG });
    let record = entry(&json!({}));
    let plan = plan(edits(&fields).unwrap(), &record, &prices(&record)).unwrap();
    assert!(note(&plan.report, "image").is_some() && note(&plan.report, "mask").is_some());
    assert!(plan.report.first_pitfall().is_none());
}

#[test]
fn a_file_that_came_with_a_generation_is_ignored_aloud() {
    let ask = ImageRequest::read(ImageEndpoint::Generations, &Fields::default(), Vec::new());
    assert_eq!(param(ask), "model");
    let ask = ImageRequest::read(
        ImageEndpoint::Generations,
        &form(&fox()),
        vec![file("image[]", "A")],
    )
    .unwrap();
    let record = entry(&json!({}));
    let plan = plan(ask, &record, &prices(&record)).unwrap();
    let reported = telling(plan.report.notes());
    assert_eq!(reported, json!([["image[]", "ignored", "image_ignored"]]));
}

#[test]
fn a_picture_that_is_here_is_handed_on_byte_by_byte() {
    let ask = edits(&with(&fox(), "image", json!(PNG))).unwrap();
    let body = json!({ "data": [{ "b64_json": "iVBORw" }] }).to_string();
    let response = VendorResponse {
        status: 200,
        retry_after: None,
        body: body.as_bytes(),
    };
    let made = (protocol_of("openai_images").unwrap().decode)(&ask, &response).unwrap();
    let bytes = ImageSource::Held([0x89, b'P', b'N', b'G'].to_vec().into());
    assert_eq!(made.pictures[0].at, bytes);
}
