//! `trunkline operator link` and `trunkline account invite`.

use anyhow::bail;
use serde_json::json;
use trunkline_console::{INVITATION_SECONDS, Token};
use trunkline_db::{Database, Tx};
use trunkline_keyring::SystemRandom;
use trunkline_store::accounts;
use trunkline_store::people::{self, NewInvitation};
use trunkline_types::AccountId;

use super::{action, database, serve};
use crate::cli::Invite;
use crate::config::Config;
use crate::output::Output;
use crate::setup_link::setup_link;

/// `trunkline operator link`.
pub(super) async fn operator_link(
    people: &Database,
    config: &Config,
    output: &Output,
) -> anyhow::Result<()> {
    let link = setup_link(people, &serve::console(config)).await?;
    let mut tx = people.begin().await?;
    let new = action::action("create_operator_link", "setup link", json!({}));
    let logged = action::log(&mut tx, &new).await;
    tx.finish(logged).await?;
    let text = format!(
        "Open this within a day; it is good once and voids the ones before it:\n\n  {link}\n\n\
         It makes an operator. With the address of an existing operator, it sets a new password."
    );
    output.success(&text, &json!({ "ok": true, "operator_link": link }));
    Ok(())
}

/// `trunkline account invite`.
pub(super) async fn invite(
    people: &Database,
    config: &Config,
    options: &Invite,
    output: &Output,
) -> anyhow::Result<()> {
    let settings = serve::console(config);
    let email = people::check_email("EMAIL", &options.email)?;
    let token = Token::fresh(&SystemRandom)?;
    let account = AccountId::new(options.id);
    let new = NewInvitation {
        account,
        email: &email,
        role: options.role.into(),
        token: &token.hash,
        // It is printed here and goes whatever way the operator chooses.
        is_mailed: false,
        invited_by: None,
        life_seconds: INVITATION_SECONDS,
    };
    let mut tx = people.begin().await?;
    let done = invite_in(&mut tx, &new).await;
    let advice = "the command can be repeated safely";
    let name = database::finish(tx, done, advice).await?;
    let link = settings.link("invitation", token.text.reveal());
    let text = format!(
        "Invitation for {email} as {} of account {account} ({name}). Share this link; it works once, for a week:\n\n  {link}",
        new.role.as_str()
    );
    let object = json!({
        "ok": true, "account": account.number(), "email": email, "role": new.role.as_str(), "link": link,
    });
    output.success(&text, &object);
    Ok(())
}

async fn invite_in(tx: &mut Tx, new: &NewInvitation<'_>) -> anyhow::Result<String> {
    let account = accounts::find(tx, new.account).await?;
    let Some(account) = account.filter(|account| account.closed_at.is_none()) else {
        bail!("there is no open account {}", new.account);
    };
    let person = people::by_email(tx, new.email).await?;
    if let Some(person) = person
        && people::member(tx, new.account, person.id).await?.is_some()
    {
        bail!(
            "{} is already a member of account {}",
            new.email,
            new.account
        );
    }
    people::invite(tx, new).await?;
    let subject = format!("customer {} {}", account.id, account.name);
    let after = json!({ "email": new.email, "role": new.role.as_str() });
    let logged = action::of_account("invite_to_customer", account.id, &subject, after);
    action::log(tx, &logged).await?;
    Ok(account.name)
}
