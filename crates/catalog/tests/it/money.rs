//! What a charge is, in the numbers of the specification.

use trunkline_catalog::{
    Attributes, Book, GroupChoice, Limits, PriceClass, PricingContext, QuoteError, Unavailable,
    audio_tokens_shown, bound, quote,
};
use trunkline_types::{Face, Timestamp, Units};

const BOOK: &str = r#"
auto_groups = ["vip", "default"]

[groups]
default = { rate = "1" }
vip = { rate = "0.9" }

[models.chat]
groups = ["default", "vip"]
prices = { billing_unit = "tokens", standard = { input = 2000000, output = 8000000, cache_read = 200000 }, paid = { input = 1000000, output = 4000000, cache_read = 100000 } }

[models.picture]
groups = ["default"]
prices = { billing_unit = "per_call", standard = { per_call = 20000000000 } }

[models.speech]
groups = ["default"]
prices = { billing_unit = "characters", standard = { input = 15000000 } }

[models.ear]
groups = ["default"]
prices = { billing_unit = "audio_duration", standard = { audio_input = 6000000 } }

[models.clip]
groups = ["default"]
prices = { billing_unit = "per_second", standard = { video_second = 100000000000 } }
"#;

fn units(of: &[(Face, u64)]) -> Units {
    of.iter().fold(Units::none(), |units, (face, quantity)| {
        units.plus(*face, *quantity).unwrap()
    })
}

fn charge(
    model: &str,
    group: &str,
    class: PriceClass,
    of: &[(Face, u64)],
) -> Result<i64, QuoteError> {
    let book = Book::from_toml(BOOK).unwrap();
    let (_, offer) = book.offer(model, GroupChoice::Named(group)).unwrap();
    let attributes = Attributes::none();
    let context = PricingContext {
        attributes: &attributes,
        at: Timestamp::from_micros(0),
    };
    quote(offer, class, &units(of), context).map(|quote| quote.total.nanos())
}

fn standard(model: &str, of: &[(Face, u64)]) -> i64 {
    charge(model, "default", PriceClass::Standard, of).unwrap()
}

// covers: D-2-03
#[test]
fn two_usd_per_million_input_tokens_is_2000000() {
    assert_eq!(standard("chat", &[(Face::Input, 1_000_000)]), 2_000_000_000);
    assert_eq!(standard("chat", &[(Face::Input, 1)]), 2_000);
}

// covers: D-2-04, G-2.6-51
#[test]
fn a_call_of_two_cents_is_20000000000() {
    assert_eq!(standard("picture", &[(Face::PerCall, 1)]), 20_000_000);
    assert_eq!(standard("picture", &[(Face::PerCall, 3)]), 60_000_000);
}

// covers: G-2.6-52
#[test]
fn a_record_in_characters_is_charged_per_input_character() {
    assert_eq!(standard("speech", &[(Face::Input, 7)]), 105_000);
}

// covers: G-2.6-50
#[test]
fn a_record_per_second_is_charged_per_generated_second() {
    assert_eq!(standard("clip", &[(Face::VideoSecond, 5)]), 500_000_000);
}

// covers: D-2-14, G-2.6-53
#[test]
fn uploaded_audio_costs_seconds_x_1000_x_price_over_60_rounded_once() {
    // 6 USD per million tokens: 1 s is 16.66… tokens, 100 micro-USD a second exactly.
    assert_eq!(standard("ear", &[(Face::AudioInput, 1)]), 100_000);
    assert_eq!(standard("ear", &[(Face::AudioInput, 7)]), 700_000);
    assert_eq!(standard("ear", &[(Face::AudioInput, 60)]), 6_000_000);
    let odd = BOOK.replace("audio_input = 6000000", "audio_input = 1001");
    let book = Book::from_toml(&odd).unwrap();
    let (_, offer) = book.offer("ear", GroupChoice::Named("default")).unwrap();
    let attributes = Attributes::none();
    let context = PricingContext {
        attributes: &attributes,
        at: Timestamp::from_micros(0),
    };
    let nanos = |seconds| {
        let units = units(&[(Face::AudioInput, seconds)]);
        quote(offer, PriceClass::Standard, &units, context)
            .unwrap()
            .total
            .nanos()
    };
    // 1 s: 1001 * 1000 / 60 = 16683.33 pico; 7 s: 116783.33 pico; 60 s: 1001000 pico.
    assert_eq!([nanos(1), nanos(7), nanos(60)], [17, 117, 1_001]);
}

// covers: D-2-15
#[test]
fn the_tokens_shown_for_uploaded_audio_are_rounded_up() {
    assert_eq!(
        [1, 2, 3, 6, 60].map(audio_tokens_shown),
        [17, 34, 50, 100, 1_000]
    );
    assert_eq!(audio_tokens_shown(0), 0);
}

// covers: D-2-16, D-2-17, D-2-18
#[test]
fn paid_faces_apply_to_topped_up_accounts_where_they_are_not_null() {
    let used = [(Face::Input, 1_000), (Face::Output, 1_000)];
    assert_eq!(
        charge("chat", "default", PriceClass::Standard, &used),
        Ok(10_000_000)
    );
    assert_eq!(
        charge("chat", "default", PriceClass::Paid, &used),
        Ok(5_000_000)
    );
    let call = [(Face::PerCall, 1)];
    assert_eq!(
        charge("picture", "default", PriceClass::Paid, &call),
        Ok(20_000_000)
    );
}

// covers: D-2-25, D-2-31
#[test]
fn a_group_is_a_view_of_the_book_and_its_rate_multiplies_the_faces() {
    let used = [(Face::Input, 1_000), (Face::Output, 1_000)];
    assert_eq!(
        charge("chat", "default", PriceClass::Standard, &used),
        Ok(10_000_000)
    );
    assert_eq!(
        charge("chat", "vip", PriceClass::Standard, &used),
        Ok(9_000_000)
    );
}

#[test]
fn a_model_outside_the_keys_group_is_unpriced_and_auto_walks_in_order() {
    let book = Book::from_toml(BOOK).unwrap();
    let refused = book.offer("picture", GroupChoice::Named("vip")).map(|_| ());
    assert_eq!(refused, Err(Unavailable::OtherGroups));
    assert_eq!(
        book.offer("picture", GroupChoice::Named("nobody"))
            .map(|_| ()),
        Err(Unavailable::OtherGroups)
    );
    assert_eq!(
        book.offer("nothing", GroupChoice::Auto).map(|_| ()),
        Err(Unavailable::UnknownModel("nothing".to_owned()))
    );
    assert_eq!(book.offer("chat", GroupChoice::Auto).unwrap().0, "vip");
    assert_eq!(
        book.offer("picture", GroupChoice::Auto).unwrap().0,
        "default",
        "the first group without it is passed over"
    );
    assert_eq!(book.auto_groups(), ["vip", "default"]);
}

#[test]
fn an_unpriced_input_kind_is_billed_as_its_stand_in_and_named_so() {
    let book = Book::from_toml(BOOK).unwrap();
    let (_, offer) = book.offer("chat", GroupChoice::Named("default")).unwrap();
    let attributes = Attributes::none();
    let context = PricingContext {
        attributes: &attributes,
        at: Timestamp::from_micros(0),
    };
    let used = units(&[
        (Face::CacheWrite1h, 10),
        (Face::CacheRead, 10),
        (Face::AudioOutput, 10),
    ]);
    let quote = quote(offer, PriceClass::Standard, &used, context).unwrap();
    let seen: Vec<_> = quote
        .lines
        .iter()
        .map(|line| (line.face, line.priced_as, line.price.pico()))
        .collect();
    assert_eq!(
        seen,
        [
            (Face::CacheRead, Face::CacheRead, 200_000),
            (Face::CacheWrite1h, Face::Input, 2_000_000),
            (Face::AudioOutput, Face::Output, 8_000_000),
        ]
    );
    assert_eq!(quote.total.nanos(), 2_000 + 20_000 + 80_000);
    assert_eq!(
        (quote.tier, quote.why.to_string().as_str()),
        ("standard", "no narrower tier applies")
    );
}

#[test]
fn what_a_list_cannot_bill_is_refused_and_never_free() {
    let wrong = charge(
        "chat",
        "default",
        PriceClass::Standard,
        &[(Face::PerCall, 1)],
    );
    assert!(matches!(
        wrong,
        Err(QuoteError::WrongUnit {
            face: Face::PerCall,
            ..
        })
    ));
    let wrong = charge("clip", "default", PriceClass::Standard, &[(Face::Input, 1)]);
    assert!(matches!(
        wrong,
        Err(QuoteError::WrongUnit {
            face: Face::Input,
            ..
        })
    ));
    let too_dear = charge(
        "clip",
        "default",
        PriceClass::Standard,
        &[(Face::VideoSecond, 1_000_000_000_000)],
    );
    assert!(matches!(too_dear, Err(QuoteError::Amount(_))));
}

#[test]
fn a_bound_takes_the_dearest_kind_of_input_and_output_and_rounds_up() {
    let book = Book::from_toml(&BOOK.replace("input = 15000000", "input = 1")).unwrap();
    let attributes = Attributes::none();
    let context = PricingContext {
        attributes: &attributes,
        at: Timestamp::from_micros(0),
    };
    let most = |model, limits| {
        let (_, offer) = book.offer(model, GroupChoice::Named("default")).unwrap();
        bound(offer, PriceClass::Standard, &limits, context)
            .unwrap()
            .total
            .nanos()
    };
    let tokens = Limits {
        input: 10,
        output: 5,
        ..Limits::default()
    };
    assert_eq!(most("chat", tokens), 10 * 2_000 + 5 * 8_000);
    assert_eq!(
        most(
            "speech",
            Limits {
                input: 1,
                ..Limits::default()
            }
        ),
        1,
        "a thousandth of a nano is one"
    );
    assert_eq!(
        most(
            "speech",
            Limits {
                input: 1,
                output: 99,
                calls: 9,
                video_seconds: 9
            }
        ),
        1
    );
    assert_eq!(
        most(
            "picture",
            Limits {
                calls: 2,
                ..Limits::default()
            }
        ),
        40_000_000
    );
    assert_eq!(
        most(
            "clip",
            Limits {
                video_seconds: 2,
                ..Limits::default()
            }
        ),
        200_000_000
    );
    assert_eq!(
        most(
            "ear",
            Limits {
                input: 1,
                ..Limits::default()
            }
        ),
        100_000
    );
    assert_eq!(most("chat", Limits::default()), 0);
    let (_, offer) = book.offer("chat", GroupChoice::Named("default")).unwrap();
    let nothing = bound(offer, PriceClass::Standard, &Limits::default(), context).unwrap();
    assert_eq!(nothing.lines, [], "what is not used has no line");
    let (_, offer) = book.offer("clip", GroupChoice::Named("default")).unwrap();
    let nothing = bound(offer, PriceClass::Standard, &Limits::default(), context).unwrap();
    assert_eq!(nothing.lines, []);
}
