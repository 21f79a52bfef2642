//! The repository as a list of text files: what git tracks or would track, or a plain walk outside of git.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Larger files are not source; they are reported instead of read.
const MAX_FILE_BYTES: u64 = 8_000_000;

/// Never entered by the plain walk: git would ignore or hide them.
const SKIPPED_FOLDERS: [&str; 4] = ["target", ".git", "node_modules", "mutants.out"];

/// Every text file of one repository, in path order.
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    pub(crate) files: Vec<SourceFile>,
    pub(crate) too_large: Vec<String>,
}

/// A text file; `path` is relative to the root and uses forward slashes.
pub(crate) struct SourceFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

enum Content {
    Text(String),
    Binary,
    TooLarge,
    Gone,
}

// === impl Tree ===

impl Tree {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        if !root.is_dir() {
            bail!("{} is no folder", root.display());
        }
        let mut paths = if root.join(".git").exists() {
            listed_by_git(root)?
        } else {
            let mut found = Vec::new();
            walk(root, "", &mut found)?;
            found
        };
        paths.sort();
        paths.dedup();
        let mut tree = Self {
            root: root.to_path_buf(),
            files: Vec::new(),
            too_large: Vec::new(),
        };
        for path in paths {
            match read_content(&root.join(&path)).with_context(|| format!("reading {path}"))? {
                Content::Text(text) => tree.files.push(SourceFile { path, text }),
                Content::TooLarge => tree.too_large.push(path),
                Content::Binary | Content::Gone => {}
            }
        }
        Ok(tree)
    }

    /// The file at exactly this path, if the repository has it.
    pub(crate) fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }

    pub(crate) fn rust_files(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.has_extension("rs"))
    }
}

// === impl SourceFile ===

impl SourceFile {
    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|found| found == extension)
    }

    pub(crate) fn name(&self) -> &str {
        self.path
            .rsplit_once('/')
            .map_or(self.path.as_str(), |(_, name)| name)
    }
}

fn listed_by_git(root: &Path) -> Result<Vec<String>> {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["ls-files", "-z", "--cached", "--others"])
        .arg("--exclude-standard")
        // A hook sets these for its own checkout; the folder asked for may be another one.
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .output()
        .context("starting git")?;
    if !output.status.success() {
        bail!(
            "git ls-files: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let listing = String::from_utf8(output.stdout).context("a path that is not UTF-8")?;
    Ok(listing
        .split('\0')
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
        .collect())
}

fn walk(folder: &Path, prefix: &str, found: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name
            .to_str()
            .with_context(|| format!("not UTF-8: {}", entry.path().display()))?;
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_file() {
            found.push(path);
        } else if kind.is_dir() && !SKIPPED_FOLDERS.contains(&name) {
            walk(&entry.path(), &format!("{path}/"), found)?;
        }
    }
    Ok(())
}

/// A tracked file may be deleted and not yet staged, and a link is read where it points.
fn read_content(path: &Path) -> Result<Content> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Ok(Content::Gone),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Content::Gone),
        Err(error) => return Err(error.into()),
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Ok(Content::TooLarge);
    }
    Ok(String::from_utf8(bytes).map_or(Content::Binary, Content::Text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_walk_reads_text_and_leaves_build_output_and_binaries_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("target/debug")).unwrap();
        fs::create_dir_all(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("target/debug/made.rs"), "made").unwrap();
        fs::write(folder.path().join("src/lib.rs"), "source").unwrap();
        fs::write(folder.path().join("picture"), [0xFF, 0xD8, 0x00]).unwrap();
        let tree = Tree::read(folder.path()).unwrap();
        let paths: Vec<_> = tree.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["src/lib.rs"]);
    }

    #[test]
    fn a_checkout_lists_untracked_files_but_not_ignored_ones() {
        let folder = tempfile::tempdir().unwrap();
        let initialised = Command::new("git")
            .args(["init", "--quiet"])
            .arg(folder.path())
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env_remove("GIT_INDEX_FILE")
            .status()
            .unwrap();
        assert!(initialised.success());
        fs::write(folder.path().join(".gitignore"), "secret.rs\n").unwrap();
        fs::write(folder.path().join("secret.rs"), "ignored").unwrap();
        fs::write(folder.path().join("new.rs"), "untracked").unwrap();
        let tree = Tree::read(folder.path()).unwrap();
        assert!(tree.file("new.rs").is_some());
        assert!(tree.file("secret.rs").is_none());
    }
}
