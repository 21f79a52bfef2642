//! Links with which an operator sets up the console. A node's first start prints one, and so do
//! `trunkline init` and `trunkline operator link`.

use anyhow::Context as _;
use trunkline_console::{ConsoleSettings, Token};
use trunkline_db::Database;
use trunkline_keyring::SystemRandom;
use trunkline_store::people::{self, Purpose};

/// How long a set-up link is good: a day.
const SETUP_SECONDS: i64 = 86_400;

/// The link that makes the first operator; none if there is one. Links that were printed before are void.
pub(crate) async fn first_link(
    people: &Database,
    settings: &ConsoleSettings,
) -> anyhow::Result<Option<String>> {
    let mut session = people.session().await?;
    let is_run = people::has_operator(&mut session).await?;
    drop(session);
    if is_run {
        return Ok(None);
    }
    setup_link(people, settings).await.map(Some)
}

/// A link that creates an operator or resets an operator's password.
pub(crate) async fn setup_link(
    people: &Database,
    settings: &ConsoleSettings,
) -> anyhow::Result<String> {
    let token = Token::fresh(&SystemRandom)?;
    let mut tx = people.begin().await?;
    let done = async {
        people::void_tokens(&mut tx, Purpose::Setup, None).await?;
        people::issue_token(&mut tx, Purpose::Setup, None, &token.hash, SETUP_SECONDS).await
    };
    let done = done.await;
    tx.finish(done)
        .await
        .context("cannot create a setup link")?;
    Ok(settings.link("setup", token.text.reveal()))
}
