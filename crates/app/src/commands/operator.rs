//! `trunkline operator list | add | set-role | remove | reset-second-factor`.

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use trunkline_db::{Database, Tx};
use trunkline_store::action_log::NewAction;
use trunkline_store::people::{self, Changed, Operator, OperatorRole, Person};

use super::{action, database};
use crate::output::Output;
use crate::{table, times};

const ADVICE: &str = "`trunkline operator list` shows who they are; it is safe to repeat this";

pub(super) async fn list(database: &Database, output: &Output) -> anyhow::Result<()> {
    let mut session = database.session().await?;
    let found = people::operators(&mut session).await?;
    drop(session);
    let cells: Vec<Vec<String>> = found
        .iter()
        .map(|one| {
            vec![
                one.email.clone(),
                one.role.as_str().to_owned(),
                if one.has_second_factor { "yes" } else { "no" }.to_owned(),
                times::short(one.added_at),
                one.added_by.clone().unwrap_or_default(),
            ]
        })
        .collect();
    let text = if cells.is_empty() {
        "There are no operators; `trunkline operator link` creates the first one.".to_owned()
    } else {
        let heads = ["email", "role", "second factor", "since", "by"];
        table::aligned(&heads, &[], &cells)
    };
    let rows: Vec<Value> = found.iter().map(row).collect();
    output.success(&text, &json!({ "ok": true, "operators": rows }));
    Ok(())
}

/// Makes a console user an operator, or gives one another role.
pub(super) async fn put(
    database: &Database,
    email: &str,
    role: OperatorRole,
    is_new: bool,
    output: &Output,
) -> anyhow::Result<()> {
    let mut tx = database.begin().await?;
    let done = put_in(&mut tx, email, role, is_new).await;
    let operator = database::finish(tx, done, ADVICE).await?;
    let next = if operator.has_second_factor {
        ""
    } else {
        " The console asks for a second factor at the next sign-in."
    };
    let text = format!(
        "{} is an operator: {}.{next}",
        operator.email,
        role.as_str()
    );
    output.success(&text, &json!({ "ok": true, "operator": row(&operator) }));
    Ok(())
}

async fn put_in(
    tx: &mut Tx,
    email: &str,
    role: OperatorRole,
    is_new: bool,
) -> anyhow::Result<Operator> {
    let person = person(tx, email).await?;
    let before = people::operator(tx, person.id).await?;
    match (&before, is_new) {
        (Some(_), true) => {
            bail!("{email} is an operator already; see `trunkline operator set-role`")
        }
        (None, false) => bail!("{email} is no operator; see `trunkline operator add`"),
        (Some(_), false) | (None, true) => {}
    }
    of_change(
        people::put_operator(tx, person.id, role, &action::login()).await?,
        email,
    )?;
    let name = if is_new {
        "add_operator"
    } else {
        "change_operator"
    };
    let subject = format!("operator {}", person.email);
    let new = NewAction {
        before: before.map(|one| json!({ "role": one.role.as_str() })),
        ..action::action(name, &subject, json!({ "role": role.as_str() }))
    };
    action::log(tx, &new).await?;
    let after = people::operator(tx, person.id).await?;
    after.context("the operator was not written")
}

pub(super) async fn remove(
    database: &Database,
    email: &str,
    output: &Output,
) -> anyhow::Result<()> {
    let mut tx = database.begin().await?;
    let done = async {
        let person = person(&mut tx, email).await?;
        of_change(people::remove_operator(&mut tx, person.id).await?, email)?;
        let subject = format!("operator {}", person.email);
        let new = action::action("remove_operator", &subject, Value::Null);
        action::log(&mut tx, &new).await?;
        anyhow::Ok(())
    };
    let done = done.await;
    database::finish(tx, done, ADVICE).await?;
    let text = format!("{email} is no operator any more.");
    output.success(&text, &json!({ "ok": true }));
    Ok(())
}

/// Removes the second factor of a person who lost it, and signs out their devices.
pub(super) async fn reset_second_factor(
    database: &Database,
    email: &str,
    output: &Output,
) -> anyhow::Result<()> {
    let mut tx = database.begin().await?;
    let done = async {
        let person = person(&mut tx, email).await?;
        if !people::remove_second_factor(&mut tx, person.id).await? {
            bail!("{email} has no second factor; nothing was changed");
        }
        people::end_all_but(&mut tx, person.id, None).await?;
        let subject = format!("person {}", person.email);
        let new = action::action(
            "reset_second_factor",
            &subject,
            json!({ "second_factor": false }),
        );
        action::log(&mut tx, &new).await?;
        Ok(())
    };
    let done = done.await;
    database::finish(tx, done, ADVICE).await?;
    let text = format!(
        "The second factor of {email} is removed and their devices are signed out. An operator sets up another \
         one after the next sign-in."
    );
    output.success(&text, &json!({ "ok": true }));
    Ok(())
}

async fn person(tx: &mut Tx, email: &str) -> anyhow::Result<Person> {
    let email = people::check_email("EMAIL", email)?;
    let person = people::by_email(tx, &email).await?;
    let person = person.filter(|person| person.disabled_at.is_none());
    person.with_context(|| {
        format!("there is no console user {email}; `trunkline operator link` makes one who is an operator")
    })
}

fn of_change(changed: Changed, email: &str) -> anyhow::Result<()> {
    match changed {
        Changed::Done => Ok(()),
        Changed::Unknown => bail!("{email} is no operator; see `trunkline operator list`"),
        Changed::LastOwner => {
            bail!("{email} is the last owner; make another operator an owner first")
        }
    }
}

fn row(operator: &Operator) -> Value {
    json!({
        "person": operator.person.number(),
        "email": operator.email,
        "name": operator.name,
        "role": operator.role.as_str(),
        "has_second_factor": operator.has_second_factor,
        "added_at": times::rfc3339(operator.added_at),
        "added_by": operator.added_by,
        "last_seen_at": operator.last_seen_at.map(times::rfc3339),
    })
}
