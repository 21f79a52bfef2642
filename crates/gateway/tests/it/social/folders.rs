//! The operator's own platform files: what they add and replace, and what happens when they cannot be
//! read.

use std::path::Path;

use serde_json::json;
use trunkline_gateway::{FolderError, Settings, SocialSettings, cells_with_folder};
use trunkline_social::{Cells, MAX_CELL_FILE_BYTES, MAX_PLATFORMS};

use crate::log::Log;
use crate::social::harness::{cells, records};
use crate::test_gateway::TestGateway;

fn with_cells(folder: &Path) -> Settings {
    Settings {
        social: SocialSettings {
            cells: Some(folder.to_owned()),
            ..SocialSettings::default()
        },
        ..Settings::default()
    }
}

const PLAZA: &str = r#"
label = "P21"
key = "plaza"
name = "Plaza"
[cells.trending]
method = "GET"
path = "/api/v1/douyin/web/fetch_hot_search_result"
on_400 = "try_again"
cost = { usd = "0.005", source = "invented", read_on = "2026-11-15" }
[cells.trending.result]
some_of = ["/data"]
"#;

// covers: S-4.1-06, S-9-02
#[tokio::test]
async fn an_operators_platform_file_adds_and_removes_a_cell() {
    let folder = tempfile::tempdir().unwrap();
    let harness = TestGateway::social_with(with_cells(folder.path()), 1_000_000_000, 0).await;
    assert_eq!(harness.look("plaza/trending", "").await.status, 404);
    std::fs::write(folder.path().join("plaza.toml"), PLAZA).unwrap();
    harness.gateway.refresh().await.unwrap();
    assert_eq!(trunkline_gateway::social_cells(&harness.gateway).len(), 102);
    assert_eq!(harness.look("plaza/trending", "").await.status, 503);
    let mut all = Cells::builtin().unwrap();
    all.add("plaza", PLAZA).unwrap();
    let plaza = all.get("plaza", "trending").unwrap();
    harness.sell(&records([plaza])).await;
    let base = format!("http://{}", harness.simulator.address());
    let models = [("social-plaza-trending", "social-plaza-trending")];
    let options = crate::test_gateway::ChannelOptions {
        provider: Some("tikhub"),
        ..crate::test_gateway::ChannelOptions::default()
    };
    harness.channel_with("plaza", &base, &models, options).await;
    let got = harness.look("plaza/trending", "").await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert_eq!(got.json()["platform"], json!("plaza"));
    // One that is wrong changes nothing.
    std::fs::write(folder.path().join("plaza.toml"), "key = 1").unwrap();
    harness.gateway.refresh().await.unwrap();
    assert_eq!(harness.look("plaza/trending", "").await.status, 200);
    std::fs::remove_file(folder.path().join("plaza.toml")).unwrap();
    harness.gateway.refresh().await.unwrap();
    assert_eq!(harness.look("plaza/trending", "").await.status, 404);
    assert_eq!(
        trunkline_gateway::social_cells(&harness.gateway).len(),
        cells().all().count()
    );
}

// Looks at the database and at the folder side by side: what one of them sees, the other must not undo.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_pauses_and_platform_files_that_change_at_once_none_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let harness = TestGateway::social_with(with_cells(folder.path()), 1_000_000_000, 0).await;
    for _ in 0..20 {
        std::fs::write(folder.path().join("plaza.toml"), PLAZA).unwrap();
        let (file, pause) = (harness.gateway.refresh(), harness.pause("douyin", "search"));
        let (read, ()) = tokio::join!(file, pause);
        read.unwrap();
        assert!(harness.is_paused("social-douyin-search"));
        assert!(!harness.is_paused("social-plaza-trending"));
        std::fs::remove_file(folder.path().join("plaza.toml")).unwrap();
        let (file, resume) = (
            harness.gateway.refresh(),
            harness.resume("douyin", "search"),
        );
        let (read, ()) = tokio::join!(file, resume);
        read.unwrap();
        assert!(!harness.is_paused("social-douyin-search"));
        assert_eq!(
            trunkline_gateway::social_cells(&harness.gateway).len(),
            cells().all().count()
        );
    }
}

#[test]
fn a_folder_adds_platforms_and_replaces_those_of_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let douyin = PLAZA.replace("\"plaza\"", "\"douyin\"");
    put("plaza.toml", PLAZA);
    put("douyin.toml", &douyin);
    put("notes.txt", "not a platform");
    let all = cells();
    let replaced = all.all().filter(|cell| cell.platform.key == "douyin");
    let left = all.all().count() - replaced.count();
    let found = cells_with_folder(folder.path()).unwrap();
    assert_eq!(found.all().count(), left + 2);
    let trending = found.get("douyin", "trending").unwrap();
    assert_eq!(trending.platform.name, "Plaza");
    put("other.toml", PLAZA);
    let wrong = cells_with_folder(folder.path()).unwrap_err();
    assert!(wrong.to_string().contains("other.toml"), "{wrong}");
}

#[test]
fn a_folder_that_cannot_be_read_whole_is_an_error_that_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("none");
    let refused = cells_with_folder(&absent).unwrap_err();
    assert!(matches!(refused, FolderError::Unreadable { .. }));
    assert!(refused.to_string().contains("cannot read"), "{refused}");
    std::fs::create_dir(&absent).unwrap();
    assert_eq!(cells_with_folder(&absent).unwrap(), cells());
    let file = absent.join("plaza.toml");
    let most = usize::try_from(MAX_CELL_FILE_BYTES).unwrap();
    let padded = |length: usize| format!("{PLAZA}#{}", "x".repeat(length - PLAZA.len() - 1));
    std::fs::write(&file, padded(most)).unwrap();
    assert!(cells_with_folder(&absent).is_ok());
    std::fs::write(&file, padded(most + 1)).unwrap();
    let long = cells_with_folder(&absent).unwrap_err();
    assert!(long.to_string().contains("plaza.toml: longer"), "{long}");
    std::fs::write(&file, [0xff]).unwrap();
    let strange = cells_with_folder(&absent).unwrap_err();
    assert!(strange.to_string().contains("not UTF-8"), "{strange}");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    let no_file = cells_with_folder(&absent).unwrap_err();
    assert!(matches!(no_file, FolderError::Unreadable { .. }));
}

#[tokio::test]
async fn a_folder_that_is_away_changes_nothing_and_is_told_once() {
    let log = Log::capture();
    let reported = || log.text().matches("social platform files rejected").count();
    let parent = tempfile::tempdir().unwrap();
    let (folder, away) = (parent.path().join("cells"), parent.path().join("away"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("plaza.toml"), PLAZA).unwrap();
    let harness = TestGateway::social_with(with_cells(&folder), 1_000_000_000, 0).await;
    let all = trunkline_gateway::social_cells(&harness.gateway).len();
    assert_eq!(all, cells().all().count() + 1);
    for times in 1..=2 {
        std::fs::rename(&folder, &away).unwrap();
        for _ in 0..3 {
            harness.gateway.refresh().await.unwrap();
            assert_eq!(trunkline_gateway::social_cells(&harness.gateway).len(), all);
        }
        assert_eq!(reported(), times);
        // When it is back and away once more, that is told as well.
        std::fs::rename(&away, &folder).unwrap();
        harness.gateway.refresh().await.unwrap();
        assert_eq!(trunkline_gateway::social_cells(&harness.gateway).len(), all);
    }
    // So is a file that cannot be read, and it hides no later change.
    std::fs::create_dir(folder.join("agora.toml")).unwrap();
    for _ in 0..3 {
        harness.gateway.refresh().await.unwrap();
    }
    assert_eq!(reported(), 3);
    std::fs::remove_dir(folder.join("agora.toml")).unwrap();
    std::fs::remove_file(folder.join("plaza.toml")).unwrap();
    harness.gateway.refresh().await.unwrap();
    assert_eq!(
        trunkline_gateway::social_cells(&harness.gateway).len(),
        all - 1
    );
    assert_eq!(reported(), 3);
}

#[tokio::test]
async fn more_files_than_platforms_may_be_are_told_and_not_cut() {
    let log = Log::capture();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("plaza.toml"), PLAZA).unwrap();
    let harness = TestGateway::social_with(with_cells(folder.path()), 1_000_000_000, 0).await;
    let all = trunkline_gateway::social_cells(&harness.gateway).len();
    for number in 0..MAX_PLATFORMS {
        let key = format!("plaza{number}");
        let text = PLAZA.replace("\"plaza\"", &format!("{key:?}"));
        std::fs::write(folder.path().join(format!("{key}.toml")), text).unwrap();
    }
    for _ in 0..3 {
        harness.gateway.refresh().await.unwrap();
        assert_eq!(trunkline_gateway::social_cells(&harness.gateway).len(), all);
    }
    let text = log.text();
    let reported = text.matches("has more than 200 platforms").count();
    assert_eq!(reported, 1);
    let refused = cells_with_folder(folder.path()).unwrap_err();
    assert!(matches!(refused, FolderError::TooMany { .. }));
}
