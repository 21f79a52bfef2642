//! The operator's set-up link. A service that starts while there is no operator writes one of its own and
//! voids those before it, shortly after it takes calls; so ours is written after that.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use trunkline_db::{Database, Role};
use trunkline_store::people::{self, Purpose};

use crate::commands::{database, serve};
use crate::config::Config;
use crate::setup_link::first_link;

/// How long a service may take to write its own; one without a console writes none.
const WAIT: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Voids the links that are good, before a start, so that the service's own can be told from them.
pub(super) async fn void(config: &Config) -> anyhow::Result<()> {
    let console = database::open(config, Role::Console).await?;
    let mut tx = console.begin().await?;
    let done = people::void_tokens(&mut tx, Purpose::Setup, None).await;
    let done = tx.finish(done).await;
    database::close(&console).await;
    done?;
    Ok(())
}

/// A new link, after that of a service that was just started; none if there is an operator.
pub(super) async fn fresh(config: &Config, was_started: bool) -> anyhow::Result<Option<String>> {
    let console = database::open(config, Role::Console).await?;
    let done = fresh_in(&console, config, was_started).await;
    database::close(&console).await;
    done
}

async fn fresh_in(
    console: &Database,
    config: &Config,
    was_started: bool,
) -> anyhow::Result<Option<String>> {
    let ends = Instant::now().checked_add(WAIT);
    while was_started && ends.is_some_and(|ends| Instant::now() < ends) {
        let mut session = console.session().await?;
        if people::has_any_token(&mut session, Purpose::Setup).await? {
            break;
        }
        drop(session);
        sleep(LOOK_EVERY).await;
    }
    first_link(console, &serve::console(config)).await
}
