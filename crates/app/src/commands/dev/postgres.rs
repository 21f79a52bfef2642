//! A PostgreSQL of our own, from the system's packages, that dies with us: a small shell stands over
//! it and ends it when our end of a pipe closes, however we end.

use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::process::{Child, Command};
use trunkline_db::{PoolSettings, Role, connect};
use trunkline_types::Secret;

use crate::files;

/// Where Debian and its kin put the programs.
const PROGRAMS: &str = "/usr/lib/postgresql";
const SYSTEM_USER: &str = "postgres";
const MAX_PASSWD_BYTES: u64 = 1_000_000;
const READY_WAIT: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// `$1` is the directory to clear at the end, or empty; the rest is the server. The server's own
/// output goes to a file, so nothing of ours is kept open.
const STAND_OVER: &str = r#"
clear="$1"; shift
"$@" >>server.log 2>&1 </dev/null &
server=$!
read _ || true
kill -INT "$server" 2>/dev/null
wait "$server"
[ -z "$clear" ] || { cd /; rm -rf "$clear"; }
"#;

/// A server of our own.
pub(super) struct OwnPostgres {
    keeper: Child,
    port: u16,
}

impl OwnPostgres {
    /// Makes a cluster in the folder if there is none, and starts it.
    pub(super) async fn start(folder: &Path, ephemeral: bool) -> anyhow::Result<Self> {
        let programs = programs()?;
        let owner = owner_if_root()?;
        let home = folder.join("postgres");
        std::fs::create_dir_all(&home)?;
        if let Some((user, group)) = owner {
            chown(&home, Some(user), Some(group))?;
        }
        if !home.join("data/PG_VERSION").exists() {
            initialise(&programs, &home, owner.is_some()).await?;
        }
        let port = free_port()?;
        let data = home.join("data");
        let mut command = Command::new("sh");
        command.arg("-c").arg(STAND_OVER).arg("trunkline-dev");
        command.arg(if ephemeral {
            folder.as_os_str()
        } else {
            "".as_ref()
        });
        as_owner(&mut command, owner.is_some());
        command
            .arg(programs.join("postgres"))
            .arg("-D")
            .arg(&data)
            .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1"])
            .args([
                "-c",
                "unix_socket_directories=",
                "-c",
                "max_connections=100",
            ]);
        let keeper = command
            .current_dir(&home)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C goes to the whole foreground group; the server ends after us, not with us.
            .process_group(0)
            .spawn()
            .context("cannot start PostgreSQL")?;
        let own = Self { keeper, port };
        own.wait_ready(&home).await?;
        Ok(own)
    }

    /// The address, as the one who may do everything.
    pub(super) fn url(&self) -> Secret {
        let port = self.port;
        Secret::new(format!(
            "postgres://trunkline@127.0.0.1:{port}/postgres?sslmode=disable"
        ))
    }

    async fn wait_ready(&self, home: &Path) -> anyhow::Result<()> {
        let ends = tokio::time::Instant::now().checked_add(READY_WAIT);
        loop {
            let mut settings = PoolSettings::named("trunkline-dev");
            settings.acquire_timeout = Duration::from_secs(1);
            match connect(&self.url(), Role::Owner, settings).await {
                Ok(database) => {
                    drop(database.close().await);
                    return Ok(());
                }
                // The role comes with the migrations; a server that says so is there.
                Err(error) if !matches!(error, trunkline_db::DbError::Unavailable(_)) => {
                    return Ok(());
                }
                Err(_) => {}
            }
            if ends.is_none_or(|ends| tokio::time::Instant::now() > ends) {
                bail!(
                    "PostgreSQL did not start; see {}",
                    home.join("server.log").display()
                );
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Ends it, and waits until it is gone.
    pub(super) async fn stop(mut self) {
        drop(self.keeper.stdin.take());
        drop(self.keeper.wait().await);
    }
}

async fn initialise(programs: &Path, home: &Path, as_other: bool) -> anyhow::Result<()> {
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$@\"", "trunkline-dev"]);
    as_owner(&mut command, as_other);
    let made = command
        .arg(programs.join("initdb"))
        .arg("--pgdata=data")
        .args([
            "--username=trunkline",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
        ])
        .arg("--no-instructions")
        .current_dir(home)
        .stdin(Stdio::null())
        .output()
        .await
        .context("cannot run initdb")?;
    if !made.status.success() {
        let words = String::from_utf8_lossy(&made.stderr);
        bail!("initdb failed: {}", words.trim());
    }
    Ok(())
}

/// PostgreSQL refuses to run as root; the system has a user for it.
fn as_owner(command: &mut Command, as_other: bool) {
    if as_other {
        command.args([
            "setpriv",
            "--reuid=postgres",
            "--regid=postgres",
            "--init-groups",
        ]);
    }
}

/// The newest version that is installed.
fn programs() -> anyhow::Result<PathBuf> {
    let versions = std::fs::read_dir(PROGRAMS).into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| {
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            let programs = entry.path().join("bin");
            programs
                .join("initdb")
                .exists()
                .then_some((version, programs))
        })
        .max();
    let (_, programs) = newest.context(
        "PostgreSQL is not installed: `apt-get install postgresql`, or set database.url to one",
    )?;
    Ok(programs)
}

/// The user and group of the system's PostgreSQL, if we are root.
fn owner_if_root() -> anyhow::Result<Option<(u32, u32)>> {
    use std::os::unix::fs::MetadataExt as _;
    if std::fs::metadata("/proc/self")?.uid() != 0 {
        return Ok(None);
    }
    let users = files::read_bounded(Path::new("/etc/passwd"), MAX_PASSWD_BYTES)?;
    let found = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let (user, group) = (fields.nth(1)?, fields.next()?);
        (name == SYSTEM_USER).then(|| Some((user.parse().ok()?, group.parse().ok()?)))?
    });
    let found = found.context("there is no system user postgres to run PostgreSQL as")?;
    Ok(Some(found))
}

fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    Ok(listener.local_addr()?.port())
}
