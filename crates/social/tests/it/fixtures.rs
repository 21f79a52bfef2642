//! Answers of the source, one file a cell: pages that follow each other, and one that is empty.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::value::RawValue;
use trunkline_social::{
    Cell, Cells, CheckedQuery, Next, ResponseClass, check, fingerprint, next, read,
};

type Pages = BTreeMap<String, Box<RawValue>>;

/// The platform of `docs/dev/adding/platform.md`, which stands in no list and no code.
const EXAMPLE: &str = "lumen";

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dev/adding/platform")
}

fn fixtures(cell: &Cell) -> PathBuf {
    if cell.platform.key == EXAMPLE {
        return example();
    }
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

#[expect(clippy::disallowed_methods, reason = "a fixture")]
fn text(path: &Path) -> String {
    let text = std::fs::read_to_string(path);
    text.unwrap_or_else(|_| panic!("there is no file {}", path.display()))
}

/// Those built in, and the example.
fn cells() -> Cells {
    let mut cells = Cells::builtin().unwrap();
    let file = example().join(format!("{EXAMPLE}.toml"));
    cells.add(EXAMPLE, &text(&file)).unwrap();
    cells
}

fn fixture(cell: &Cell) -> Pages {
    let name = format!("{}.json", cell.capability.as_str());
    let path = fixtures(cell).join(&cell.platform.key).join(name);
    serde_json::from_str(&text(&path)).unwrap()
}

/// The question that every required parameter's example makes.
fn query(cell: &Arc<Cell>) -> CheckedQuery {
    let of_groups = cell.require_one_of.iter().filter_map(|group| group.first());
    let required = cell.params.iter().filter(|param| param.required);
    let names = required.map(|param| &param.name).chain(of_groups);
    let pairs: Vec<String> = names
        .map(|name| {
            let example = cell.param(name).unwrap().example.as_ref().unwrap();
            let text = example
                .as_str()
                .map_or_else(|| example.to_string(), str::to_owned);
            let text = text
                .replace('%', "%25")
                .replace('&', "%26")
                .replace('+', "%2B");
            format!("{name}={}", text.replace('#', "%23"))
        })
        .collect();
    check(cell, &pairs.join("&")).unwrap()
}

fn enveloped(data: &str) -> Vec<u8> {
    format!(r#"{{"code":200,"router":"/x","data":{data}}}"#).into_bytes()
}

// covers: D-7-SOC-30, D-7-SOC-31
#[test]
fn every_cell_reads_its_pages_and_finds_nothing_in_an_empty_answer() {
    let (mut read_cells, mut pages) = (0, 0);
    let cells = cells();
    for cell in cells.all() {
        let fixture = fixture(cell);
        let name = &cell.model;
        let empty = fixture["empty"].get();
        assert_eq!(
            read(cell, 200, &enveloped(empty)),
            ResponseClass::Nothing,
            "{name}"
        );
        assert_eq!(
            read(cell, 200, &enveloped("null")),
            ResponseClass::Nothing,
            "{name}"
        );
        let mut now = query(cell);
        let mut prints = Vec::new();
        for number in 1..=3 {
            let Some(data) = fixture.get(&format!("page_{number}")) else {
                assert!(number > 1, "{name} has no first page");
                assert!(
                    !cell.has_pages(),
                    "{name} has pages, and no fixture of them"
                );
                break;
            };
            let ResponseClass::Data(found) = read(cell, 200, &enveloped(data.get())) else {
                panic!(
                    "{name} page {number}: {:?}",
                    read(cell, 200, &enveloped(data.get()))
                );
            };
            // Exactly: large integers keep every digit.
            assert_eq!(found.json(), data.get());
            let print = fingerprint(&now, &found);
            assert!(
                !prints.contains(&print),
                "{name} page {number} looks like another"
            );
            prints.push(print);
            pages += 1;
            match next(&now, &found) {
                Next::Page(following) if number < 3 => now = following,
                Next::End if number == 3 || !cell.has_pages() => {}
                other @ (Next::Page(_) | Next::End | Next::Repeated) => {
                    panic!("{name} page {number}: {other:?}")
                }
            }
        }
        read_cells += 1;
    }
    println!("{read_cells} cells, {pages} pages");
    assert!(
        read_cells > 101,
        "those of the specification and of the example"
    );
}

#[test]
#[should_panic(expected = "there is no file")]
fn a_platform_without_its_folder_of_answers_fails() {
    let page = text(&example().join(format!("{EXAMPLE}.toml")));
    let page = page.replace("key = \"lumen\"", "key = \"unanswered\"");
    let mut cells = Cells::default();
    cells.add("unanswered", &page).unwrap();
    for cell in cells.all() {
        fixture(cell);
    }
}

#[test]
fn the_same_page_again_has_the_same_print_and_names_itself() {
    let cells = Cells::builtin().unwrap();
    let cell = cells.get("douyin", "search").unwrap();
    let query = check(cell, "keyword=a&cursor=10").unwrap();
    let data = r#"{"status_code":0,"data":[{"id":1}],"cursor":10,"has_more":1,"extra":{"now":1}}"#;
    let later = data.replace("\"now\":1", "\"now\":2");
    let found = |data: &str| {
        let ResponseClass::Data(found) = read(cell, 200, &enveloped(data)) else {
            panic!("{data}");
        };
        found
    };
    let (one, other) = (found(data), found(&later));
    assert_eq!(fingerprint(&query, &one), fingerprint(&query, &other));
    assert_eq!(next(&query, &one), Next::Repeated);
}
