//! A shop whose goods a test puts out.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use http::HeaderMap;
use serde_json::Value;
use trunkline_catalog::{Book, Number, RouteHealth, Routes};
use trunkline_console::{
    BoxFuture, FileLink, GatewayPort, MakeChange, PublishFault, PublishedPrices, SocialCell,
    TaskInspection, Viewer,
};
use trunkline_db::Tx;
use trunkline_social::Cells;
use trunkline_store::catalog::{self, NewChange};
use trunkline_store::tasks::{Task, TaskState};
use trunkline_types::Timestamp;

pub(crate) const CATALOG: &str = r#"
auto_groups = ["default"]
[groups.default]
rate = "1"
[groups.vip]
rate = "0.5"
[vendors.acme]
id = 7
icon = "acme"
[models.open-chat]
groups = ["default", "vip"]
vendor = "acme"
description = "Talks about Everything."
tags = ["chat", "cheap"]
tasks = ["chat", "reasoning"]
capabilities = ["text-multimodal"]
specs = { type = "llm", context_window = 128000, reasoning_efforts = ["low"] }
[models.open-chat.prices]
billing_unit = "tokens"
standard = { input = 2000000, output = 8000000, cache_read = 200000 }
paid = { input = 1500000, output = 6000000, cache_read = 150000 }
[[models.open-chat.prices.tiers]]
tier = "long_context"
standard = { input = 4000000, output = 16000000, cache_read = 400000 }
when = [{ dim = "context_len", context_len_gt = 200000 }]
[[models.open-chat.list]]
source = "https://acme.example/prices"
read_on = "2026-11-15"
unit = "1M tokens"
per = 1000000
faces = { input = "2.50", output = "10" }
[models.painter]
groups = ["default"]
endpoints = ["image-generation"]
tasks = ["text-to-image"]
specs = { type = "image" }
[models.painter.prices]
billing_unit = "per_call"
standard = { per_call = 20000000000 }
[models.members-only]
groups = ["default"]
login_required = true
[models.members-only.prices]
billing_unit = "tokens"
standard = { input = 1, output = 1 }
[models.vip-only]
groups = ["vip"]
[models.vip-only.prices]
billing_unit = "tokens"
standard = { input = 1, output = 1 }
"#;

/// A platform of which nothing but this is known.
const PLATFORM: &str = r#"
label = "P99"
key = "plaza"
name = "Plaza"
[cells.search]
method = "GET"
path = "/api/v1/plaza/search"
on_400 = "try_again"
cost = { usd = "0.001", source = "a test", read_on = "2026-11-15" }
result = { some_of = ["/items"] }
paging = { carry = [{ param = "cursor", from = ["/cursor"] }] }
require_one_of = [["keyword", "topic"]]
[[cells.search.params]]
name = "keyword"
type = "string"
example = "tea"
description = "What to look for. / 关键词。"
[[cells.search.params]]
name = "topic"
type = "string"
example = "food"
description = "Where to look. / 话题。"
[[cells.search.params]]
name = "cursor"
type = "integer"
default = 0
example = 20
description = "Of the page before. / 上一页的游标。"
[cells.trending]
method = "GET"
path = "/api/v1/plaza/trending"
on_400 = "try_again"
cost = { usd = "0.001", source = "a test", read_on = "2026-11-15" }
result = { some_of = ["/items"] }
"#;

pub(crate) struct FakeCatalog {
    book: Mutex<Arc<Book>>,
    /// Names of cells that are paused.
    paused: Mutex<Vec<String>>,
    cells: Cells,
    stamp: AtomicU64,
    /// How often it heard of keys.
    pub(crate) key_refreshes: AtomicU64,
    /// What it says to who stops a task.
    pub(crate) stops: Mutex<Option<bool>>,
}

impl FakeCatalog {
    pub(crate) fn new() -> Arc<Self> {
        let mut cells = Cells::builtin().unwrap();
        cells.add("plaza", PLATFORM).unwrap();
        Arc::new(Self {
            paused: Mutex::default(),
            cells,
            book: Mutex::new(Arc::new(Book::from_toml(CATALOG).unwrap())),
            stamp: AtomicU64::new(1),
            key_refreshes: AtomicU64::new(0),
            stops: Mutex::new(Some(false)),
        })
    }

    pub(crate) fn sell(&self, catalog: &str) {
        *self.book.lock().unwrap() = Arc::new(Book::from_toml(catalog).unwrap());
        self.stamp.fetch_add(1, Ordering::Relaxed);
    }
}

impl FakeCatalog {
    /// Takes these cells off sale, and no others.
    pub(crate) fn pause(&self, models: &[&str]) {
        *self.paused.lock().unwrap() = models.iter().map(|name| (*name).to_owned()).collect();
        self.stamp.fetch_add(1, Ordering::Relaxed);
    }
}

impl GatewayPort for FakeCatalog {
    fn book(&self) -> Arc<Book> {
        Arc::clone(&self.book.lock().unwrap())
    }

    fn routes(&self, model: &str) -> Routes {
        let health = (model == "open-chat").then(|| RouteHealth {
            window_hours: 24,
            sample_size: 200,
            success_ratio: Number::fraction(199, 200, 4),
            last_checked_at: Some("2026-11-15T12:00:00Z".to_owned()),
        });
        Routes { count: 3, health }
    }

    fn cells(&self) -> Vec<SocialCell> {
        let paused = self.paused.lock().unwrap();
        let cells = self.cells.all().map(|cell| SocialCell {
            cell: Arc::clone(cell),
            is_paused: paused.contains(&cell.model),
        });
        cells.collect()
    }

    fn stamp(&self) -> u64 {
        self.stamp.load(Ordering::Relaxed)
    }

    fn viewer(&self, headers: &HeaderMap) -> Viewer {
        let key = headers
            .get("authorization")
            .and_then(|value| value.to_str().ok());
        match key {
            None => Viewer::Stranger,
            Some("Bearer vip") => Viewer::Customer {
                group: Some("vip".to_owned()),
                models: None,
            },
            Some("Bearer one") => Viewer::Customer {
                group: Some("default".to_owned()),
                models: Some(vec!["members-only".to_owned()]),
            },
            Some(_) => Viewer::Unknown,
        }
    }

    fn refresh_keys(&self) -> BoxFuture<'_, ()> {
        self.key_refreshes.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(()))
    }

    fn inspect_task<'a>(
        &'a self,
        task: &'a Task,
        closely: bool,
    ) -> BoxFuture<'a, Option<TaskInspection>> {
        let done = task.state == TaskState::Completed;
        let link = format!("http://127.0.0.1:8080/media/{}", task.id);
        let ends = Timestamp::from_micros(1_800_000_000_000_000);
        let settings = [("size".to_owned(), "720p".to_owned())];
        let look = TaskInspection {
            link: done.then(|| FileLink {
                download_url: format!("{link}&download=1"),
                url: link,
                ends,
            }),
            content_type: "video/mp4".to_owned(),
            guess: (task.state == TaskState::Running).then_some(40),
            prompt: closely.then(|| "a <b>cat</b>".to_owned()),
            settings: settings.into_iter().filter(|_| closely).collect(),
            can_stop: !task.state.is_over(),
        };
        Box::pin(std::future::ready(Some(look)))
    }

    /// As the gateway does it, but for events.
    fn publish<'a>(
        &'a self,
        tx: &'a mut Tx,
        author: &'a str,
        note: &'a str,
        change: MakeChange<'a>,
    ) -> BoxFuture<'a, Result<PublishedPrices, PublishFault>> {
        Box::pin(async move {
            let before = self.book();
            let before_revision = catalog::newest(tx).await.map_err(PublishFault::Db)?;
            let number = catalog::next_number(tx).await.map_err(PublishFault::Db)?;
            let change = change(&before).map_err(PublishFault::Refused)?;
            let after = before.changed(change.frame.clone(), change.models.clone());
            let after = after.map_err(|error| PublishFault::Refused(error.to_string()))?;
            let header = serde_json::to_value(after.header()).unwrap();
            let models: Vec<(String, Option<Value>)> = change
                .models
                .iter()
                .map(|(name, entry)| {
                    let entry = entry.as_ref();
                    (
                        name.clone(),
                        entry.map(|entry| serde_json::to_value(entry).unwrap()),
                    )
                })
                .collect();
            let new = NewChange {
                pricing_version: after.version().bytes(),
                author,
                note,
                header: Some(&header),
                models: &models,
            };
            let written = catalog::write(tx, number, &new).await;
            written.map_err(PublishFault::Db)?;
            Ok(PublishedPrices {
                before,
                before_revision,
                after: Arc::new(after),
                revision: number,
                models: models.len(),
            })
        })
    }

    fn stop_task<'a>(&'a self, _: &'a Task) -> BoxFuture<'a, Option<bool>> {
        let reply = *self.stops.lock().unwrap();
        Box::pin(std::future::ready(reply))
    }
}
