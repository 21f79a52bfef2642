//! Every row of the files at once: what holds for all endpoints of social data.

use std::collections::BTreeSet;

use serde_json::Value;

use super::data::filled;
use super::paging::{self, TOTAL};
use super::params::Arguments;
use super::rows::{self, PAGE_ITEMS, Row};
use crate::fault::SocialFault;

/// A good question for an endpoint: every parameter that it needs, and no page.
fn question(row: &Row) -> Arguments {
    let mut arguments = Arguments::default();
    let needed = row.params.iter().filter(|param| param.required);
    let names = needed.map(|param| &param.name).chain(row.one_of.first());
    for name in names.chain(&row.target) {
        arguments.values.insert(name.clone(), "fox".to_owned());
    }
    if let Some(paging) = &row.page {
        arguments.values.remove(&paging.param);
    }
    arguments
}

fn answered(row: &Row, arguments: &Arguments, fault: Option<SocialFault>) -> Value {
    let turn = paging::turn(row, arguments).unwrap_or_else(|why| panic!("{}: {}", row.path, why.0));
    filled(row, arguments, turn, fault)
}

/// The same question for the page behind this one.
fn turned(row: &Row, arguments: &Arguments) -> Arguments {
    let turn = paging::turn(row, arguments).unwrap_or_else(|why| panic!("{}: {}", row.path, why.0));
    let paging = row.page.as_ref().expect("it is paged");
    let next = paging.next(row, turn, true);
    let next = next.as_str().map_or(next.to_string(), str::to_owned);
    let mut values = arguments.values.clone();
    values.insert(paging.param.clone(), next);
    for name in paging.session.iter().chain(&paging.checks) {
        values.insert(name.clone(), paging::given(turn.seed, name));
    }
    Arguments {
        received: Vec::new(),
        values,
    }
}

/// Every text and number of a document.
fn leaves(value: &Value, all: &mut Vec<Value>) {
    match value {
        Value::Array(list) => list.iter().for_each(|inside| leaves(inside, all)),
        Value::Object(map) => map.values().for_each(|inside| leaves(inside, all)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            all.push(value.clone());
        }
    }
}

/// The items that a document tells of, by their texts.
fn items(value: &Value) -> BTreeSet<String> {
    let mut all = Vec::new();
    leaves(value, &mut all);
    let texts = all.iter().filter_map(Value::as_str);
    let view = texts.filter(|text| text.starts_with("Item ") && text.ends_with(" asked for"));
    view.map(str::to_owned).collect()
}

#[test]
fn every_endpoint_tells_something_and_a_list_tells_three_pages_of_five() {
    let mut paged = 0;
    for row in rows::all() {
        let arguments = question(row);
        let first = answered(row, &arguments, None);
        assert!(!items(&first).is_empty(), "{}: {first}", row.path);
        if row.page.is_none() {
            continue;
        }
        paged += 1;
        let second = turned(row, &arguments);
        let third = turned(row, &second);
        let mut seen = items(&first);
        assert_eq!(seen.len(), PAGE_ITEMS, "{}", row.path);
        seen.extend(items(&answered(row, &second, None)));
        seen.extend(items(&answered(row, &third, None)));
        assert_eq!(seen.len(), TOTAL, "{}", row.path);
    }
    assert_eq!(paged, 52);
}

#[test]
fn the_same_question_has_the_same_answer_and_another_one_another() {
    for row in rows::all().filter(|row| !row.target.is_empty()) {
        let arguments = question(row);
        let mut other = question(row);
        for name in &row.target {
            other.values.insert(name.clone(), "crow".to_owned());
        }
        let first = answered(row, &arguments, None);
        assert_eq!(first, answered(row, &arguments, None), "{}", row.path);
        assert_ne!(first, answered(row, &other, None), "{}", row.path);
    }
}

#[test]
fn empty_null_and_inner_tell_nothing_at_any_endpoint() {
    for row in rows::all() {
        let arguments = question(row);
        for fault in [
            SocialFault::Empty,
            SocialFault::Null,
            SocialFault::Inner,
            SocialFault::Scalar,
        ] {
            let view = answered(row, &arguments, Some(fault));
            let mut found = items(&view);
            // What stands beside a list may have words of its own.
            found.remove("Item 0 of what was asked for");
            assert!(found.is_empty(), "{} {fault}: {view}", row.path);
            assert_ne!(
                view,
                answered(row, &arguments, None),
                "{} {fault}",
                row.path
            );
        }
    }
}

#[test]
fn a_page_that_repeats_itself_is_the_first_and_says_that_there_is_another() {
    let path = "/api/v1/kuaishou/app/search_video_v2";
    let row = rows::at(path).unwrap().unwrap();
    let arguments = question(row);
    let fault = Some(SocialFault::SamePage);
    let first = answered(row, &arguments, fault);
    assert_eq!(first, answered(row, &turned(row, &arguments), fault));
    assert_ne!(first["pcursor"], "no_more");
    let third = turned(row, &turned(row, &arguments));
    assert_eq!(answered(row, &third, None)["pcursor"], "no_more");
}

#[test]
fn ids_that_no_float_holds_stand_in_most_platforms_as_whole_numbers() {
    let mut with = BTreeSet::new();
    for row in rows::all() {
        let mut all = Vec::new();
        leaves(&answered(row, &question(row), None), &mut all);
        if all.iter().filter_map(Value::as_u64).any(|id| id > 1 << 53) {
            with.extend(row.path.split('/').nth(3));
        }
    }
    let with: Vec<&str> = with.into_iter().collect();
    let expected = "bilibili douyin instagram kuaishou lemon8 linkedin pipixia threads tiktok \
                    toutiao wechat_channels wechat_mp wechat_search weibo xiaohongshu xigua zhihu";
    assert_eq!(with, expected.split_whitespace().collect::<Vec<_>>());
}
