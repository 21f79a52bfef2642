//! A database that one test of a run prepares and many begin with.

use std::fs::File;
use std::path::Path;

use trunkline_db::SystemClock;
use trunkline_types::Clock as _;

use crate::Db;
use crate::server::{self, SUPERUSER};
use crate::test_run::{self, Run};

/// For so many seconds, and until the day ends, copies are made of it; what is in it has times, which a test takes for
/// those of a moment ago.
const COPIED_FOR: i64 = 60;
const DAY: i64 = 86_400;

/// The name of the prepared database of this kind. A test that finds none, or an old one, prepares it while the others wait.
pub(crate) async fn source(kind: &str, prepare: impl AsyncFnOnce() -> Db) -> String {
    let directory = Run::current()
        .await
        .new_or_existing_folder(&format!("prepared-{kind}"));
    let lock = File::create(directory.join("lock")).expect("the lock can be written");
    test_run::wait_for(&lock, &directory).await;
    let ready = directory.join("ready");
    let began = SystemClock.now().seconds();
    if let Some(name) = recent(&ready, began) {
        return name;
    }
    let name = shut(prepare().await).await;
    std::fs::write(&ready, format!("{began} {name}")).expect("the run's directory can be written");
    name
}

/// What the file names, unless it is old.
fn recent(ready: &Path, now: i64) -> Option<String> {
    let bytes = std::fs::read(ready).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let (began, name) = text.split_once(' ').expect("two words");
    let began: i64 = began.parse().expect("a number of ours");
    let is_recent = now - began < COPIED_FOR && now / DAY == began / DAY;
    is_recent.then(|| name.to_owned())
}

/// Refuses every further session, so that copying it never has to wait. It stays until the run ends.
async fn shut(db: Db) -> String {
    let name = db.name().to_owned();
    let server = server::url(SUPERUSER, db.port(), "postgres");
    let closed = format!("ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false");
    let ended = format!(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{name}'"
    );
    test_run::execute(&server, &[&closed, &ended]).await;
    #[expect(
        clippy::mem_forget,
        reason = "the database belongs to the run, not to this process"
    )]
    std::mem::forget(db);
    name
}
