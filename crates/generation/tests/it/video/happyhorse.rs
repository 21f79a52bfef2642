//! Family E: every case of its folder, and random requests.

use proptest::prelude::*;
use trunkline_catalog::starter;

use crate::video::cases;
use crate::video::random::{any_measurements, any_request, is_priced_twice};

/// The models of the family by the words in their records.
const MODELS: [(&str, &str); 3] = [
    ("e_text", "happyhorse-1.1-t2v"),
    ("e_image", "happyhorse-1.1-i2v"),
    ("e_reference", "happyhorse-1.1-r2v"),
];

// covers: D-6-02, D-6-08, D-6-12, D-6-13, D-6-21, D-6-23, D-6-24, D-6-25, D-6-26, D-6-27, D-6-28
// covers: D-6-29, D-6-A-01, D-6-A-03, D-7-VID-01, D-7-VID-02, D-7-VID-08, D-7-VID-09, D-7-VID-11
// covers: D-7-VID-12, D-7-VID-13, D-7-VID-14, D-7-VID-15, D-7-VID-36, G-4.2-11, G-4.2-13
// covers: G-4.2-E-02, G-4.2-E-03, G-4.2-E-04, G-4.2-E-05, G-4.2-E-06, G-4.2-E-07, G-4.2-E-08
#[test]
fn every_case_of_family_e_is_read_as_its_file_says() {
    assert!(cases::walk("e") >= 90);
}

// covers: G-4.2-E-01
#[test]
fn every_variant_of_family_e_has_a_record_of_the_starter_catalog() {
    let records = starter().unwrap();
    for (word, model) in MODELS {
        let family = cases::specs_of(&records, model).video_family;
        assert_eq!(family.as_deref(), Some(word), "{model}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_request_for_e_text_is_refused_or_priced_the_same_from_its_body(
        request in any_request("happyhorse-1.1-t2v"),
        measured in any_measurements(),
    ) {
        is_priced_twice("e_text", &request, &measured);
    }


    #[test]
    fn any_request_for_e_image_is_refused_or_priced_the_same_from_its_body(
        request in any_request("happyhorse-1.1-i2v"),
        measured in any_measurements(),
    ) {
        is_priced_twice("e_image", &request, &measured);
    }


    #[test]
    fn any_e_reference_is_refused_or_priced_the_same_from_its_body(
        request in any_request("happyhorse-1.1-r2v"),
        measured in any_measurements(),
    ) {
        is_priced_twice("e_reference", &request, &measured);
    }
}
