//! `trunkline emails`: links that no mail server has taken, for the operator to pass on.

use anyhow::Context as _;
use serde_json::{Value, json};
use trunkline_db::Role;
use trunkline_mail::open_sealed;
use trunkline_store::emails::{self, LIST_MAX};

use super::{database, keyring};
use crate::config::Config;
use crate::output::Output;
use crate::{table, times};

/// Prints them, newest first.
pub(super) async fn run(config: &Config, output: &Output) -> anyhow::Result<()> {
    let keyring = keyring::open(config)?;
    let database = database::open(config, Role::Console).await?;
    let mut session = database.session().await?;
    let unsent = emails::unsent(&mut session, LIST_MAX).await;
    drop(session);
    database::close(&database).await;
    let unsent = unsent.context("cannot read emails")?;
    let mut cells = Vec::new();
    let mut rows: Vec<Value> = Vec::new();
    for email in &unsent {
        let link = open_sealed(&keyring, email.id, &email.sealed).map(|content| content.link);
        cells.push(vec![
            email.kind.as_str().to_owned(),
            email.to.clone(),
            email.state.as_str().to_owned(),
            times::short(email.expires_at),
            link.clone()
                .unwrap_or_else(|| "(sealed by another keyring)".to_owned()),
        ]);
        rows.push(json!({
            "id": email.id,
            "kind": email.kind.as_str(),
            "to": email.to,
            "state": email.state.as_str(),
            "created_at": times::rfc3339(email.created_at),
            "expires_at": times::rfc3339(email.expires_at),
            "last_error": email.last_error,
            "link": link,
        }));
    }
    let text = if cells.is_empty() {
        "No unsent emails.".to_owned()
    } else {
        let heads = ["kind", "to", "state", "until", "link"];
        let listing = table::aligned(&heads, &[], &cells);
        format!("{listing}\n\nA link is as good as a password: share it only with its recipient.")
    };
    output.success(&text, &json!({ "ok": true, "emails": rows }));
    Ok(())
}
