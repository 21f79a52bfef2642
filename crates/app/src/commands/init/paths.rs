//! The files of an installation: where they are, whose they are, and who may read them. No file that is
//! there is ever written.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, chown};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use trunkline_db::SystemClock;
use trunkline_keyring::{Document, FileSource, SystemRandom};
use trunkline_types::{Clock as _, Secret};

use crate::cli::InitArguments;
use crate::config::{Config, load};
use crate::files;

const MAX_PASSWD_BYTES: u64 = 1_000_000;
/// Longest database address that is read.
const MAX_URL_BYTES: u64 = 4_096;
/// Data is the service's own business.
const DATA_MODE: u32 = 0o750;
/// Root writes, the service reads.
const SERVICE_READS: u32 = 0o640;
const OWNER_ALONE: u32 = 0o600;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) user: u32,
    pub(super) group: u32,
}

pub(super) struct Paths {
    pub(super) config: PathBuf,
    pub(super) database_url: PathBuf,
    pub(super) keyring: PathBuf,
    pub(super) data: PathBuf,
    /// Whom the service runs as, if we are root; otherwise everything is our own.
    pub(super) service: Option<Owner>,
}

// === impl Paths ===

impl Paths {
    pub(super) fn of(options: &InitArguments) -> anyhow::Result<Self> {
        let service = match is_root()? {
            true => Some(user(&options.user)?),
            false => None,
        };
        let folder = absolute(&options.folder)?;
        Ok(Self {
            config: folder.join("trunkline.toml"),
            database_url: folder.join("database.url"),
            keyring: folder.join("trunkline.keyring.toml"),
            data: absolute(&options.data)?,
            service,
        })
    }

    /// Makes the folders that are missing; says which.
    pub(super) fn make_folders(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut made = Vec::new();
        let folder = self.config.parent().unwrap_or(Path::new("/"));
        for (path, mode, owner) in [
            (folder.to_owned(), 0o755, None),
            (self.data.clone(), DATA_MODE, self.service),
            (self.data.join("media"), DATA_MODE, self.service),
            (self.data.join("uploads"), DATA_MODE, self.service),
        ] {
            if path.exists() {
                continue;
            }
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(mode)
                .create(&path)
                .with_context(|| self.advice("create the folder", &path))?;
            give(&path, owner)?;
            made.push(path);
        }
        Ok(made)
    }

    /// The configuration, if there is one. What the environment says is not asked: the service does not
    /// hear it.
    pub(super) fn read_config(&self) -> anyhow::Result<Option<Config>> {
        if !self.config.exists() {
            return Ok(None);
        }
        Ok(Some(load(Some(&self.config), &[])?))
    }

    /// Writes the configuration under another name, and only gives it its own when it is usable.
    pub(super) fn write_config(&self, text: &str) -> anyhow::Result<Config> {
        let (beside, config) = self.write_beside(text)?;
        // A link fails where a file is, which a rename would replace.
        let linked = std::fs::hard_link(&beside, &self.config);
        drop(std::fs::remove_file(&beside));
        linked.with_context(|| self.advice("write", &self.config))?;
        Ok(config)
    }

    /// Says whether a configuration would be usable, and keeps nothing.
    pub(super) fn try_config(&self, text: &str) -> anyhow::Result<()> {
        let (beside, _) = self.write_beside(text)?;
        drop(std::fs::remove_file(beside));
        Ok(())
    }

    fn write_beside(&self, text: &str) -> anyhow::Result<(PathBuf, Config)> {
        let beside = self.config.with_extension("toml.new");
        // Left by an interrupted run; no other program writes that name.
        drop(std::fs::remove_file(&beside));
        self.write(&beside, SERVICE_READS, text)?;
        match load(Some(&beside), &[]) {
            Ok(config) => Ok((beside, config)),
            Err(error) => {
                drop(std::fs::remove_file(&beside));
                Err(error.into())
            }
        }
    }

    /// The database's address that an earlier run has kept.
    pub(super) fn kept_url(&self) -> anyhow::Result<Option<Secret>> {
        if !self.database_url.exists() {
            return Ok(None);
        }
        let text = files::read_bounded(&self.database_url, MAX_URL_BYTES)
            .with_context(|| self.advice("read", &self.database_url))?;
        Ok(Some(Secret::new(text.trim().to_owned())))
    }

    pub(super) fn keep_url(&self, url: &Secret) -> anyhow::Result<()> {
        self.write(
            &self.database_url,
            SERVICE_READS,
            &format!("{}\n", url.reveal()),
        )
    }

    /// Makes the keyring if there is none; true if it was made.
    pub(super) fn make_keyring(&self) -> anyhow::Result<bool> {
        if self.keyring.exists() {
            return Ok(false);
        }
        let document = Document::generate(SystemClock.now(), &SystemRandom)?;
        FileSource::new(self.keyring.clone()).create(&document)?;
        give(&self.keyring, self.service)?;
        Ok(true)
    }

    /// The log of a service that systemd does not run.
    pub(super) fn log(&self) -> PathBuf {
        self.data.join("serve.log")
    }

    pub(super) fn open_log(&self) -> anyhow::Result<std::fs::File> {
        let path = self.log();
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(OWNER_ALONE)
            .open(&path)
            .with_context(|| self.advice("write", &path))?;
        give(&path, self.service)?;
        Ok(file)
    }

    /// Writes a file that must not be there.
    fn write(&self, path: &Path, mode: u32, text: &str) -> anyhow::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(path)
            .with_context(|| self.advice("write", path))?;
        // Root keeps the file; its group, which reads it, is the service's.
        if let Some(owner) = self.service {
            std::os::unix::fs::fchown(&file, None, Some(owner.group))?;
        }
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .with_context(|| self.advice("write", path))
    }

    fn advice(&self, doing: &str, path: &Path) -> String {
        let advice = match self.service {
            Some(_) => "",
            None => "; run it as root, or name folders of your own with --folder and --data",
        };
        format!("cannot {doing} {}{advice}", path.display())
    }
}

/// Whether we may give files away.
pub(super) fn is_root() -> anyhow::Result<bool> {
    Ok(std::fs::metadata("/proc/self")?.uid() == 0)
}

/// A user of this machine.
fn user(name: &str) -> anyhow::Result<Owner> {
    let users = files::read_bounded(Path::new("/etc/passwd"), MAX_PASSWD_BYTES)
        .context("cannot read /etc/passwd")?;
    let Some(owner) = find_user(&users, name) else {
        bail!(
            "there is no system user {name:?}; the package creates it, and so does \
             `useradd --system --home-dir /var/lib/trunkline {name}`"
        );
    };
    Ok(owner)
}

fn find_user(users: &str, name: &str) -> Option<Owner> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let found = fields.next()? == name;
        let (user, group) = (fields.nth(1)?, fields.next()?);
        found.then(|| {
            Some(Owner {
                user: user.parse().ok()?,
                group: group.parse().ok()?,
            })
        })?
    })
}

fn give(path: &Path, owner: Option<Owner>) -> anyhow::Result<()> {
    if let Some(owner) = owner {
        chown(path, Some(owner.user), Some(owner.group))
            .with_context(|| format!("cannot give {} to the service's user", path.display()))?;
    }
    Ok(())
}

fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("{} is not a path", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let users =
            "root:x:0:0:root:/root:/bin/sh\ntrunkline2:x:7:8::/:/x\ntrunkline:x:990:991::/:/x\n";
        let owner = Owner {
            user: 990,
            group: 991,
        };
        assert_eq!(find_user(users, "trunkline"), Some(owner));
        assert_eq!(find_user(users, "trunk"), None);
        assert_eq!(find_user("trunkline:x:a:b::/:/x", "trunkline"), None);
    }
}
