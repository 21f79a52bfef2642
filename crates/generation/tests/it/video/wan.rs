//! Family A: every case of its folder, and random requests.

use proptest::prelude::*;
use trunkline_catalog::starter;

use crate::video::cases;
use crate::video::random::{any_measurements, any_request, is_priced_twice};

/// The models of the family by the words in their records.
const MODELS: [(&str, &str); 4] = [
    ("a_text", "wan2.7-t2v"),
    ("a_image", "wan2.7-i2v"),
    ("a_reference", "wan2.7-r2v"),
    ("a_edit", "wan2.7-videoedit"),
];

// covers: D-6-01, D-6-02, D-6-04, D-6-12, D-6-13, D-6-18, D-6-23, D-6-24, D-6-25, D-6-26, D-6-27
// covers: D-6-28, D-6-29, D-6-A-01, D-6-A-02, D-6-A-03, D-6-A-04, D-6-A-05, D-6-A-06, D-6-A-07
// covers: D-6-A-08, D-6-A-10, D-6-A-11, D-6-A-12, D-6-M-01, D-6-M-04, D-6-M-05, D-7-VID-01
// covers: D-7-VID-02, D-7-VID-04, D-7-VID-05, D-7-VID-06, D-7-VID-07, D-7-VID-10, D-7-VID-12
// covers: D-7-VID-13, D-7-VID-14, D-7-VID-15, D-7-VID-34, D-7-VID-35, D-7-VID-36, D-7-VID-37
// covers: G-4.2-02, G-4.2-03, G-4.2-04, G-4.2-05, G-4.2-06, G-4.2-07, G-4.2-08, G-4.2-09, G-4.2-10
// covers: G-4.2-11, G-4.2-12, G-4.2-13, G-4.2-14, G-4.2-15, G-4.2-A-02, G-4.2-A-03, G-4.2-A-04
// covers: G-4.2-A-05, G-4.2-A-06, G-4.2-A-07, G-4.2-A-08, G-4.2-A-09, G-4.2-A-10, G-4.2-A-11
// covers: G-4.2-A-12, G-4.2-A-13, G-4.2-A-14, G-4.2-A-15, G-4.2-A-16, G-4.2-A-17, G-4.2-A-18
// covers: G-4.2-A-19, G-4.2-A-20, G-4.2-A-21, G-4.2-A-22, G-4.2-A-23, G-4.2-A-24, G-4.2-A-25
// covers: G-4.2-A-26, G-4.2-A-27, G-4.2-A-28, G-4.2-A-29, G-4.2-A-30, G-4.2-A-31, G-4.2-A-32
// covers: G-4.2-A-33, G-7-01, G-8-01, G-8-02, G-8-03, G-8-11, G-8-12
#[test]
fn every_case_of_family_a_is_read_as_its_file_says() {
    assert!(cases::walk("a") >= 140);
}

// covers: G-4.2-A-01
#[test]
fn every_variant_of_family_a_has_a_record_of_the_starter_catalog() {
    let records = starter().unwrap();
    for (word, model) in MODELS {
        let family = cases::specs_of(&records, model).video_family;
        assert_eq!(family.as_deref(), Some(word), "{model}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_request_for_a_text_is_refused_or_priced_the_same_from_its_body(
        request in any_request("wan2.7-t2v"),
        measured in any_measurements(),
    ) {
        is_priced_twice("a_text", &request, &measured);
    }


    #[test]
    fn any_request_for_a_image_is_refused_or_priced_the_same_from_its_body(
        request in any_request("wan2.7-i2v"),
        measured in any_measurements(),
    ) {
        is_priced_twice("a_image", &request, &measured);
    }


    #[test]
    fn any_reference_request_is_refused_or_priced_the_same_from_its_body(
        request in any_request("wan2.7-r2v"),
        measured in any_measurements(),
    ) {
        is_priced_twice("a_reference", &request, &measured);
    }


    #[test]
    fn any_request_for_a_edit_is_refused_or_priced_the_same_from_its_body(
        request in any_request("wan2.7-videoedit"),
        measured in any_measurements(),
    ) {
        is_priced_twice("a_edit", &request, &measured);
    }
}
