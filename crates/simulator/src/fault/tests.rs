//! Rules strike whom they name, and faults are written as they are read.

use super::*;

fn rule(fault: Fault) -> Rule {
    Rule {
        fault,
        times: None,
        model: None,
        key: None,
        one_in: 1,
    }
}

#[test]
fn a_rule_with_one_in_three_strikes_the_third_and_the_sixth() {
    let mut plans = Plans::default();
    plans.add(Rule {
        one_in: 3,
        ..rule(Fault::NoUsage)
    });
    let struck: Vec<bool> = (0..6)
        .map(|_| plans.strike("sim-a", "k").is_some())
        .collect();
    assert_eq!(struck, [false, false, true, false, false, true]);
}

#[test]
fn a_rule_with_times_is_spent_and_leaves_the_list() {
    let mut plans = Plans::default();
    plans.add(Rule {
        times: Some(1),
        ..rule(Fault::NoUsage)
    });
    assert_eq!(plans.strike("sim-a", "k"), Some(Fault::NoUsage));
    assert_eq!(plans.strike("sim-a", "k"), None);
    assert_eq!(plans.len(), 0);
}

#[test]
fn a_rule_for_a_model_and_a_key_leaves_others_alone() {
    let mut plans = Plans::default();
    plans.add(Rule {
        model: Some("sim-a".to_owned()),
        key: Some("k".to_owned()),
        ..rule(Fault::NoDone)
    });
    assert_eq!(plans.strike("sim-b", "k"), None);
    assert_eq!(plans.strike("sim-a", "other"), None);
    assert_eq!(plans.strike("sim-a", "k"), Some(Fault::NoDone));
}

#[test]
fn a_rule_of_social_data_leaves_models_alone_and_theirs_leave_it_alone() {
    let mut plans = Plans::default();
    plans.add(Rule {
        times: Some(1),
        model: Some("/api/v1/a".to_owned()),
        ..rule(Fault::Social(SocialFault::Empty))
    });
    plans.add(rule(Fault::NoUsage));
    assert_eq!(plans.strike("/api/v1/a", "k"), Some(Fault::NoUsage));
    assert_eq!(plans.strike_social("/api/v1/b", "k"), None);
    let struck = plans.strike_social("/api/v1/a", "k");
    assert_eq!((struck, plans.len()), (Some(SocialFault::Empty), 1));
    let written = serde_json::to_string(&Fault::Social(SocialFault::Slow { millis: 9 }));
    assert_eq!(written.unwrap(), r#"{"social":"slow:9"}"#);
}

#[test]
fn a_rule_of_pictures_leaves_models_alone_and_theirs_strike_pictures_too() {
    let mut plans = Plans::default();
    let refused = Fault::Image(ImageFault::Refused);
    plans.add(Rule {
        times: Some(1),
        ..rule(refused)
    });
    plans.add(rule(Fault::NoUsage));
    assert_eq!(plans.strike("sim-a", "k"), Some(Fault::NoUsage));
    assert_eq!(plans.strike_image("sim-a", "k"), Some(refused));
    assert_eq!(plans.strike_image("sim-a", "k"), Some(Fault::NoUsage));
}

#[test]
fn the_name_in_a_prompt_is_the_name_in_json() {
    for text in [
        "close_before_headers",
        "hang_before_headers",
        "slow_first_byte:20",
        "hang_mid_stream:3",
        "close_mid_stream",
        "garbage_frame",
        "truncated_json",
        "rate_limited:7",
        "status:503",
        "error_inside200",
        "base_resp",
        "error_frame_mid_stream",
        "slow_drip",
        "wrong_content_length",
        "gigantic_body:9",
        "gigantic_frame",
        "lying_usage",
        "no_usage",
        "split_usage",
        "no_done",
        "no_finish_reason",
        "split_bytes",
        "cr_lf",
        "not_ready:12",
    ] {
        let fault = Fault::from_text(text).expect(text);
        let json = serde_json::to_string(&fault).unwrap();
        let name = text.split(':').next().unwrap();
        assert!(json.contains(&format!("\"{name}\"")), "{text} is {json}");
        assert_eq!(serde_json::from_str::<Fault>(&json).unwrap(), fault);
    }
    assert_eq!(
        serde_json::from_str::<Fault>(r#"{"not_ready":{"secs":10}}"#).unwrap(),
        Fault::from_text("not_ready").unwrap()
    );
    assert_eq!(
        Fault::from_text("nonsense"),
        Err(FaultTextError::UnknownName)
    );
    assert_eq!(
        Fault::from_text("no_usage:3"),
        Err(FaultTextError::TakesNoNumber)
    );
    assert_eq!(
        Fault::from_text("status:200"),
        Err(FaultTextError::NotANumber)
    );
}
