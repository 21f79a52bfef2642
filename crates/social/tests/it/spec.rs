//! The files of `cells/` say what the specification says, cell by cell.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use trunkline_social::{Cell, Cells, Kind, Param, catalog_cell};
use trunkline_types::Money;

const SPEC: &str = include_str!("../spec.tsv");
/// Platforms that the specification names, P1 and those that follow.
const PLATFORMS: u32 = 20;

/// One parameter as the specification has it.
#[derive(Debug, PartialEq)]
struct SpecParam {
    name: String,
    kind: char,
    required: bool,
    default: Option<String>,
    max: Option<i64>,
    chars: Option<(usize, usize)>,
}

fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    let lines = SPEC.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('\t').collect())
}

fn parse_param(text: &str) -> SpecParam {
    let (name, rest) = text.split_once(':').unwrap();
    let after = |mark: char| {
        let (_, behind) = rest.split_once(mark)?;
        let ends = behind.find(['=', '<', '#']).unwrap_or(behind.len());
        Some(behind[..ends].to_owned())
    };
    let chars = after('#').map(|text| {
        let (least, most) = text.split_once('-').unwrap();
        (least.parse().unwrap(), most.parse().unwrap())
    });
    SpecParam {
        name: name.to_owned(),
        kind: rest.chars().next().unwrap(),
        required: rest.contains('*'),
        default: after('='),
        max: after('<').map(|text| text.parse().unwrap()),
        chars,
    }
}

fn found(param: &Param) -> SpecParam {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let limits = param.limits;
    SpecParam {
        name: param.name.clone(),
        kind: match param.kind {
            Kind::Text => 's',
            Kind::Integer => 'i',
            Kind::Boolean => 'b',
            Kind::IntegerOrWord(_) => 'w',
        },
        required: param.required,
        default: param.default.as_ref().map(text),
        max: limits.max,
        chars: limits.min_chars.zip(limits.max_chars),
    }
}

fn by_label(cells: &Cells) -> BTreeMap<(String, String), &Cell> {
    let named = |cell: &Cell| {
        (
            cell.platform.label.clone(),
            cell.capability.as_str().to_owned(),
        )
    };
    of_spec(cells).map(|cell| (named(cell), &**cell)).collect()
}

/// The cells of the platforms that the specification names; others may be added.
fn of_spec(cells: &Cells) -> impl Iterator<Item = &Arc<Cell>> {
    let number = |cell: &Cell| cell.platform.label.trim_start_matches('P').parse::<u32>();
    cells
        .all()
        .filter(move |cell| number(cell).unwrap() <= PLATFORMS)
}

// covers: S-4-02, S-4-03, S-4-04, D-4-68, D-4-69, D-7-SOC-34, D-7-SOC-35, D-7-SOC-36
// covers: D-7-SOC-37, D-7-SOC-38, D-7-SOC-39, D-7-SOC-40, D-7-SOC-41
// covers: S-4.2-P01-01, S-4.2-P01-07, S-4.2-P01-08, S-4.2-P01-09, S-4.2-P01-10, S-4.2-P01-11, S-4.2-P02-01
// covers: S-4.2-P02-07, S-4.2-P02-09, S-4.2-P02-10, S-4.2-P02-15, S-4.2-P03-01, S-4.2-P03-03, S-4.2-P03-05
// covers: S-4.2-P03-06, S-4.2-P03-07, S-4.2-P03-09, S-4.2-P04-01, S-4.2-P04-04, S-4.2-P04-05, S-4.2-P04-06
// covers: S-4.2-P04-07, S-4.2-P04-10, S-4.2-P05-01, S-4.2-P05-03, S-4.2-P05-04, S-4.2-P05-05, S-4.2-P05-07
// covers: S-4.2-P05-09, S-4.2-P06-01, S-4.2-P06-02, S-4.2-P06-03, S-4.2-P06-04, S-4.2-P06-05, S-4.2-P07-01
// covers: S-4.2-P07-08, S-4.2-P07-12, S-4.2-P07-14, S-4.2-P07-17, S-4.2-P08-01, S-4.2-P08-06, S-4.2-P08-08
// covers: S-4.2-P08-10, S-4.2-P08-13, S-4.2-P09-01, S-4.2-P10-01, S-4.2-P10-02, S-4.2-P10-03, S-4.2-P11-01
// covers: S-4.2-P11-02, S-4.2-P11-03, S-4.2-P11-04, S-4.2-P11-05, S-4.2-P12-01, S-4.2-P12-02, S-4.2-P12-03
// covers: S-4.2-P12-04, S-4.2-P12-05, S-4.2-P12-06, S-4.2-P13-01, S-4.2-P13-03, S-4.2-P13-05, S-4.2-P13-06
// covers: S-4.2-P13-07, S-4.2-P13-10, S-4.2-P14-01, S-4.2-P14-02, S-4.2-P14-03, S-4.2-P14-04, S-4.2-P14-06
// covers: S-4.2-P14-07, S-4.2-P15-01, S-4.2-P15-05, S-4.2-P15-08, S-4.2-P15-09, S-4.2-P15-10, S-4.2-P16-01
// covers: S-4.2-P16-02, S-4.2-P16-03, S-4.2-P16-04, S-4.2-P16-05, S-4.2-P16-06, S-4.2-P17-01, S-4.2-P17-02
// covers: S-4.2-P17-03, S-4.2-P17-04, S-4.2-P17-05, S-4.2-P17-06, S-4.2-P18-01, S-4.2-P18-02, S-4.2-P18-03
// covers: S-4.2-P18-04, S-4.2-P19-01, S-4.2-P19-02, S-4.2-P19-03, S-4.2-P19-04, S-4.2-P20-01, S-4.2-P20-02
// covers: S-4.2-P20-03, S-4.2-P20-04, S-4.2-P20-05
#[test]
fn every_cell_is_what_the_specification_says_and_there_are_no_others() {
    let cells = Cells::builtin().unwrap();
    let found_cells = by_label(&cells);
    let mut count = 0;
    for row in rows() {
        let [id, label, capability, price, params] = row.as_slice() else {
            panic!("{row:?}");
        };
        let key = ((*label).to_owned(), (*capability).to_owned());
        let cell = found_cells.get(&key).unwrap_or_else(|| panic!("{id}"));
        let published: Option<Money> = (*price != "-").then(|| price.parse().unwrap());
        assert_eq!(cell.price, published, "{id}");
        let mut groups = Vec::new();
        let mut all = Vec::new();
        for part in params.split(' ').filter(|part| *part != "-") {
            match part
                .strip_prefix('[')
                .and_then(|part| part.strip_suffix(']'))
            {
                Some(group) => {
                    let members: Vec<SpecParam> = group.split('|').map(parse_param).collect();
                    groups.push(
                        members
                            .iter()
                            .map(|one| one.name.clone())
                            .collect::<Vec<_>>(),
                    );
                    all.extend(members);
                }
                None => all.push(parse_param(part)),
            }
        }
        assert_eq!(cell.require_one_of, groups, "{id}");
        let is: Vec<SpecParam> = cell.params.iter().map(found).collect();
        assert_eq!(is, all, "{id}");
        count += 1;
    }
    println!("{count} cells");
    assert_eq!(count, 101);
    assert_eq!(found_cells.len(), count);
    let unpriced = of_spec(&cells).filter(|cell| cell.price.is_none()).count();
    assert_eq!(unpriced, 26);
    let labels: Vec<String> = (1..=PLATFORMS).map(|number| format!("P{number}")).collect();
    let mut seen: Vec<&str> = Vec::new();
    for cell in of_spec(&cells) {
        let lower =
            |character: char| character.is_ascii_lowercase() || "_0123456789".contains(character);
        assert!(
            cell.platform.key.chars().all(lower),
            "{}",
            cell.platform.key
        );
        if seen.last() != Some(&cell.platform.label.as_str()) {
            seen.push(&cell.platform.label);
        }
    }
    assert_eq!(seen, labels);
}

/// Whether a text has Chinese in it.
fn is_chinese(text: &str) -> bool {
    text.chars()
        .any(|character| ('\u{4e00}'..='\u{9fff}').contains(&character))
}

// covers: S-2.2-02, S-2.2-03, S-2.2-04, S-2.2-05, S-2.2-06, S-2.2-07, S-2.2-08, S-2.2-09, S-2.2-10
// covers: S-2.2-11, S-2.2-12, S-2.2-13, S-2.2-14, S-2.2-15, S-2.2-16, S-2.2-17, S-2.2-18, S-2.2-19
// covers: D-7-SOC-28
#[test]
fn a_cell_of_the_catalog_has_every_field_described_in_two_languages() {
    for cell in Cells::builtin().unwrap().all() {
        let price = cell.price;
        let view: Value = serde_json::from_str(&catalog_cell(cell, price, false)).unwrap();
        let (platform, capability) = (&cell.platform.key, cell.capability.as_str());
        assert_eq!(view["platform"], json!(platform));
        assert_eq!(view["capability"], json!(capability));
        assert_eq!(
            view["model"],
            json!(format!("social-{platform}-{capability}"))
        );
        assert_eq!(view["method"], json!("GET"));
        assert_eq!(
            view["path"],
            json!(format!("/v1/social/{platform}/{capability}"))
        );
        assert_eq!(view["unit"], json!("call"));
        let text = price.map(|price| price.to_string());
        let number = text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap());
        assert_eq!(view["price_usd"], number);
        let status = if price.is_some() {
            "available"
        } else {
            "paused"
        };
        assert_eq!(view["status"], json!(status));
        let has_groups = !cell.require_one_of.is_empty();
        assert_eq!(view.get("require_one_of").is_some(), has_groups);
        if has_groups {
            assert_eq!(view["require_one_of"], json!(cell.require_one_of));
        }
        let params = view["params"].as_array().unwrap();
        assert_eq!(params.len(), cell.params.len());
        for (view, param) in params.iter().zip(&cell.params) {
            assert_eq!(view["name"], json!(param.name));
            let word = view["type"].as_str().unwrap();
            assert!(["string", "integer", "boolean"].contains(&word));
            assert!(!matches!(param.kind, Kind::IntegerOrWord(_)) || word == "string");
            assert_eq!(view["required"], json!(param.required));
            assert_eq!(view.get("default"), param.default.as_ref());
            assert_eq!(view.get("example"), param.example.as_ref());
            let text = view["description"].as_str().unwrap();
            let english = text.chars().filter(char::is_ascii_alphabetic).count();
            assert!(
                is_chinese(text) && english > 5,
                "{platform} {capability}: {text}"
            );
        }
        let view: Value = serde_json::from_str(&catalog_cell(cell, price, true)).unwrap();
        assert_eq!(view["status"], json!("paused"));
    }
}
