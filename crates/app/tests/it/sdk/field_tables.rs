//! The catalog records and the cells of social data that `trunkline dev` publishes, beside the specification's tables.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;
use trunkline_upstream::{Client, Deadlines, Outgoing, Protocol};

use crate::dev::Dev;

/// Transcribed from the specification: section, field, type, words.
const TABLES: &str = include_str!("../../../../gateway/tests/spec_tables.tsv");

async fn get(url: String) -> Value {
    let minute = Duration::from_secs(60);
    let call = Outgoing {
        method: Method::GET,
        uri: url.parse().unwrap(),
        headers: HeaderMap::new(),
        body: Bytes::new().into(),
        deadlines: Deadlines {
            first_byte: minute,
            idle: minute,
            total: minute,
        },
        proxy: None,
        protocol: Protocol::Http1,
    };
    let client = Client::new(Duration::from_secs(2)).unwrap();
    let mut got = client.send(call).await.unwrap();
    serde_json::from_slice(&got.whole(50_000_000).await.unwrap()).unwrap()
}

/// Every object has the fields of its table, each of its type, and beside them only our own; every field is somewhere.
fn check(section: &str, objects: &[Value], own: &[&str], seldom: &[&str]) {
    let rows = TABLES
        .lines()
        .map(|row| row.split('\t').collect::<Vec<_>>());
    let fields: Vec<Vec<&str>> = rows.filter(|cells| cells[0] == section).collect();
    let names: BTreeSet<&str> = fields.iter().map(|cells| cells[1]).collect();
    let mut seen = BTreeSet::new();
    for object in objects {
        let object = object.as_object().unwrap();
        for name in object.keys() {
            let known = names.contains(name.as_str()) || own.contains(&name.as_str());
            assert!(known, "{section}: {name} is in no table");
        }
        for cells in &fields {
            let (name, kind, note) = (cells[1], cells[2], cells[3]);
            let Some(value) = object.get(name).filter(|value| !value.is_null()) else {
                assert_eq!(note, "optional", "{section}: no {name} in {object:?}");
                continue;
            };
            seen.insert(name);
            let fits = match kind {
                "string" => value.is_string(),
                "number" => value.is_number(),
                "integer" => value.is_i64() || value.is_u64(),
                "array" => value.is_array(),
                "object" => value.is_object(),
                other => panic!("{other} is no type"),
            };
            assert!(fits, "{section} {name}: {value}");
            if !note.is_empty() && note != "optional" {
                let word = value.as_str().unwrap();
                assert!(
                    note.split('|').any(|one| one == word),
                    "{section} {name}: {word}"
                );
            }
        }
    }
    let missing: Vec<&&str> = names.difference(&seen).collect();
    assert!(
        missing.iter().all(|name| seldom.contains(name)),
        "{section}: nowhere {missing:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_and_cells_have_the_fields_of_their_tables() {
    let dev = Dev::start().await;
    let dash = dev.text("dash_url").to_owned();
    let catalog = get(format!("{dash}/api/pricing")).await;
    assert!(catalog["auto_groups"].is_array());
    let records = catalog["data"].as_array().unwrap();
    assert!(records.len() > 100, "{}", records.len());
    // Nothing was called yet.
    check("2.6", records, &[], &["route_health"]);
    let cells = get(format!("{dash}/api/social/catalog")).await;
    let cells = cells["cells"].as_array().unwrap();
    assert!(cells.len() >= 101, "{}", cells.len());
    check("S-2.2", cells, &["label", "name", "pages"], &[]);
    dev.end().await;
}
