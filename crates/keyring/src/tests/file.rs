//! Proofs for the file: who can reach it, and that a change is whole or did not happen.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::{DocumentError, FileSource, MAX_DOCUMENT_BYTES, RootKeySource, SourceError};

fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("keyring.toml");
    (folder, path)
}

fn created(path: &Path) -> FileSource {
    let source = FileSource::new(path.to_path_buf());
    source.create(&document(0)).unwrap();
    source
}

fn names_in(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

/// Reports a test that cannot run here as testkit does, which this crate does not know: a line in the file
/// that `scripts/nextest` prints, and an error for root and in CI.
fn skipped(reason: &str) {
    #[expect(
        clippy::disallowed_methods,
        reason = "the recipe and CI tell tests how to report by the environment only"
    )]
    let [report, name, ci] =
        ["TRUNKLINE_SKIPPED", "NEXTEST_TEST_NAME", "CI"].map(|name| std::env::var(name).ok());
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    assert!(!is_root && ci.as_deref() != Some("true"), "{reason}");
    println!("skipped: {reason}");
    if let Some(report) = report {
        let line = format!("trunkline-keyring {}: {reason}\n", name.unwrap_or_default());
        let file = fs::File::options().append(true).open(report);
        file.unwrap().write_all(line.as_bytes()).unwrap();
    }
}

#[test]
fn a_created_file_is_the_owners_alone_and_reads_back() {
    let (folder, path) = folder();
    let source = created(&path);
    assert_eq!(mode_of(&path), 0o600);
    assert_eq!(names_in(&folder), ["keyring.toml"]);
    let read = Document::from_source(&source).unwrap();
    assert_eq!(read.to_toml().reveal(), document(0).to_toml().reveal());
}

#[test]
fn a_file_that_others_can_reach_is_refused_with_the_way_to_mend_it() {
    let (folder, path) = folder();
    let source = created(&path);
    for mode in [0o640, 0o604, 0o644, 0o620, 0o602, 0o666, 0o700 | 0o001] {
        set_mode(&path, mode);
        let error = source.read().unwrap_err();
        assert!(matches!(error, SourceError::Exposed { .. }), "{mode:o}");
        assert!(error.to_string().contains("chmod 600 "), "{error}");
        assert!(
            error.to_string().contains(&format!("{mode:04o}")),
            "{error}"
        );
        let error = source.rotate(now(), &CountingRandom::from(50)).unwrap_err();
        assert!(matches!(error, SourceError::Exposed { .. }));
    }
    for mode in [0o600, 0o400] {
        set_mode(&path, mode);
        assert!(source.read().is_ok());
    }
    assert_eq!(
        names_in(&folder),
        ["keyring.toml"],
        "a refused change leaves nothing"
    );
}

#[test]
fn a_keyring_is_never_overwritten_by_a_new_one() {
    let (folder, path) = folder();
    let source = created(&path);
    let error = source.create(&document(1)).unwrap_err();
    assert!(matches!(error, SourceError::Exists { .. }), "{error}");
    let read = Document::from_source(&source).unwrap();
    assert_eq!(read.generations(), document(0).generations());
    assert_eq!(names_in(&folder), ["keyring.toml"]);
}

#[test]
fn rotating_the_file_keeps_old_tokens_readable_and_tells_what_retired() {
    let (folder, path) = folder();
    let source = created(&path);
    let random = CountingRandom::from(50);
    let rotated = source.rotate(now(), &random).unwrap();
    assert_eq!(rotated.retired, None);
    let read = Document::from_source(&source).unwrap();
    assert_eq!(read.to_toml().reveal(), rotated.document.to_toml().reveal());
    assert_eq!(
        read.generations().previous,
        Some(document(0).generations().current)
    );
    let retired = source.rotate(now(), &random).unwrap().retired;
    assert_eq!(retired.unwrap().number(), 1);
    assert_eq!(mode_of(&path), 0o600);
    assert_eq!(names_in(&folder), ["keyring.toml"]);
}

#[test]
fn a_rotation_that_fails_leaves_the_old_keyring_and_no_litter() {
    let (folder, path) = folder();
    let source = created(&path);
    let before = fs::read(&path).unwrap();
    let error = source.rotate(now(), &NoRandom).unwrap_err();
    assert!(matches!(
        error,
        SourceError::Document(DocumentError::Random(_))
    ));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(names_in(&folder), ["keyring.toml"]);
}

#[test]
fn of_two_changes_at_once_one_is_refused() {
    let (folder, path) = folder();
    let source = created(&path);
    let beside = folder.path().join("keyring.toml.new");
    fs::write(&beside, "another writer's").unwrap();
    let error = source.rotate(now(), &CountingRandom::from(50)).unwrap_err();
    assert!(matches!(error, SourceError::Busy { .. }), "{error}");
    assert!(error.to_string().contains("keyring.toml.new"), "{error}");
    assert_eq!(fs::read(&beside).unwrap(), b"another writer's");
    let generations = Document::from_source(&source).unwrap().generations();
    assert_eq!(generations.previous, None);
}

#[test]
fn many_rotations_at_once_never_lose_a_generation() {
    let (_folder, path) = folder();
    let source = created(&path);
    let done: Vec<u16> = std::thread::scope(|scope| {
        let turns: Vec<_> = (1..=4_u64)
            .map(|turn| {
                let source = &source;
                scope.spawn(move || {
                    let random = CountingRandom::from(turn * 1_000);
                    let attempts = (0..20).filter_map(|_| source.rotate(now(), &random).ok());
                    let id = |rotated: crate::Rotated| rotated.document.generations().current.id;
                    attempts
                        .map(|rotated| id(rotated).number())
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        turns
            .into_iter()
            .flat_map(|turn| turn.join().unwrap())
            .collect()
    });
    let mut sorted = done.clone();
    sorted.sort_unstable();
    let last = Document::from_source(&source)
        .unwrap()
        .generations()
        .current
        .id
        .number();
    let expected: Vec<u16> = (2..=last).collect();
    assert_eq!(sorted, expected, "each number was given once");
}

#[test]
fn a_link_stays_and_the_file_behind_it_is_rotated() {
    let (folder, path) = folder();
    created(&path);
    let link = folder.path().join("link.toml");
    symlink(&path, &link).unwrap();
    FileSource::new(link.clone())
        .rotate(now(), &CountingRandom::from(50))
        .unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let read = Document::from_source(&FileSource::new(path)).unwrap();
    assert_eq!(read.generations().current.id.number(), 2);
}

#[test]
fn rotating_as_root_leaves_the_file_to_its_owner() {
    let (_folder, path) = folder();
    let source = created(&path);
    // A user namespace does not help here: a plain user has one user id in it, its own.
    if let Err(error) = chown(&path, Some(12_345), Some(12_346)) {
        skipped(&format!(
            "only root can give a file to another user: {error}"
        ));
        return;
    }
    source.rotate(now(), &CountingRandom::from(50)).unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (12_345, 12_346));
    assert_eq!(mode_of(&path), 0o600);
}

#[test]
fn what_is_no_keyring_file_is_refused() {
    let (folder, path) = folder();
    let source = FileSource::new(path.clone());
    let error = source.read().unwrap_err();
    assert!(matches!(error, SourceError::Io { .. }), "{error}");
    let error = FileSource::new(folder.path().to_path_buf())
        .read()
        .unwrap_err();
    assert!(matches!(error, SourceError::NotAFile { .. }), "{error}");
    let error = FileSource::new(PathBuf::from("/"))
        .create(&document(0))
        .unwrap_err();
    assert!(matches!(error, SourceError::NotAFile { .. }), "{error}");

    fs::write(&path, "a".repeat(MAX_DOCUMENT_BYTES * 1_000)).unwrap();
    set_mode(&path, 0o600);
    assert_eq!(
        source.read().unwrap().reveal().len(),
        MAX_DOCUMENT_BYTES + 1
    );
    let error = Document::from_source(&source).unwrap_err();
    assert!(matches!(
        error,
        SourceError::Document(DocumentError::TooLarge)
    ));
}
