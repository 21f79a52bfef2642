//! The first rows: the catalog, a channel, and an account with a key and credit. Each is written only
//! where nothing of its kind is there.

use anyhow::Context as _;
use trunkline_db::{Database, Role, Tx};
use trunkline_gateway::{CatalogSnapshot, Change};
use trunkline_ledger::accounts::{
    self as ledger_accounts, AccountKind, TopUp, TopUpAnswer, Wallet,
};
use trunkline_ledger::partitions;
use trunkline_store::accounts::{self, DEFAULT_GROUP, NewAccount};
use trunkline_store::keys::{self, NewKey, SECRET_BYTES};
use trunkline_store::people::{self, NewPerson, Role as MemberRole};
use trunkline_store::{Policy, PolicyFields, channels, logins};
use trunkline_types::{AccountId, Money, Secret};

use super::ask::{KeyPlace, Questions};
use super::offers::{self, Offer};
use super::progress::Progress;
use crate::cli::{AddChannel, InitArguments, KeySources, Labelled, Pair};
use crate::commands::{catalog, channel, database};
use crate::config::Config;
use crate::random;

const KEY_NAME: &str = "first";
const CREDENTIAL_LABEL: &str = "main";
/// The payment's name, so that a first credit is booked once.
const EVENT: &str = "init";
const PROVIDER: &str = "manual";

/// What the first call needs.
pub(super) struct First {
    pub(super) model: Option<String>,
    pub(super) key: Option<Secret>,
    pub(super) operator: Option<String>,
}

/// Lets the database's login work under the roles that commands and the service need.
pub(super) async fn roles(config: &Config, progress: &mut Progress<'_>) -> anyhow::Result<()> {
    let needed = [Role::Data, Role::Console, Role::Audit];
    let names = needed.map(Role::name).join(", ");
    if may_all(config, &needed).await {
        progress.there("roles", &format!("the database login works as {names}"));
        return Ok(());
    }
    let owner = database::open(config, Role::Owner).await?;
    let mut tx = owner.begin().await?;
    let done = logins::take_roles(&mut tx).await;
    let done = tx.finish(done).await;
    database::close(&owner).await;
    done.with_context(|| {
        format!(
            "the database login may not work as {names}; let the database's administrator run \
             `GRANT {names} TO` that login, then run this again"
        )
    })?;
    progress.done("roles", &format!("the database login now works as {names}"));
    Ok(())
}

async fn may_all(config: &Config, roles: &[Role]) -> bool {
    for role in roles {
        match database::open(config, *role).await {
            Ok(database) => database::close(&database).await,
            Err(_) => return false,
        }
    }
    true
}

pub(super) async fn rows(
    config: &Config,
    options: &InitArguments,
    questions: &Questions<'_>,
    progress: &mut Progress<'_>,
) -> anyhow::Result<First> {
    let console = database::open(config, Role::Console).await?;
    let done = rows_in(config, options, &console, questions, progress).await;
    database::close(&console).await;
    done
}

async fn rows_in(
    config: &Config,
    options: &InitArguments,
    console: &Database,
    questions: &Questions<'_>,
    progress: &mut Progress<'_>,
) -> anyhow::Result<First> {
    let mut session = console.session().await?;
    let channels = channels::list(&mut session).await?;
    let snapshot = CatalogSnapshot::load(&mut session).await?;
    let accounts = accounts::checksum(&mut session).await?.count;
    drop(session);
    let mut model = None;
    if channels.is_empty() {
        let providers = channel::providers(config)?;
        let name = questions.provider(&providers)?;
        let offer = offers::offer(channel::known_provider(&providers, &name)?, &options.models)?;
        model = offer.first.clone();
        sell(console, &offer, snapshot.book.count(), progress).await?;
        connect(config, options, console, &name, &offer, questions, progress).await?;
    } else {
        let text = format!("models on sale: {}", snapshot.book.count());
        progress.there("catalog", &text);
        let names: Vec<&str> = channels.iter().map(|one| one.name.as_str()).collect();
        let text = format!("there are channels: {}", names.join(", "));
        progress.there("channel", &text);
    }
    if accounts > 0 {
        let text = format!(
            "accounts: {accounts}; their keys cannot be shown again, `trunkline key create` makes another"
        );
        progress.there("account", &text);
        return Ok(First {
            model,
            key: None,
            operator: None,
        });
    }
    let email = questions.operator()?;
    let (account, key) = account(console, &email, options.credit).await?;
    let text = format!(
        "created account {account} of {email} with {} USD of credit and the key \"{KEY_NAME}\"",
        options.credit
    );
    progress.done("account", &text);
    Ok(First {
        model,
        key: Some(key),
        operator: Some(email),
    })
}

async fn sell(
    console: &Database,
    offer: &Offer,
    on_sale: usize,
    progress: &mut Progress<'_>,
) -> anyhow::Result<()> {
    if on_sale > 0 {
        progress.there("catalog", &format!("models on sale: {on_sale}"));
        return Ok(());
    }
    let document = offer.catalog.clone();
    let done = catalog::write(console, "trunkline init", |before| {
        Change::adding(document, before)
    })
    .await?;
    let text = format!(
        "models now on sale at the vendor's list prices: {}; `trunkline catalog` changes them",
        done.after.book.count()
    );
    progress.done("catalog", &text);
    Ok(())
}

async fn connect(
    config: &Config,
    options: &InitArguments,
    console: &Database,
    name: &str,
    offer: &Offer,
    questions: &Questions<'_>,
    progress: &mut Progress<'_>,
) -> anyhow::Result<()> {
    let place = questions.key(name)?;
    let labelled = |place: &String| Labelled {
        label: CREDENTIAL_LABEL.to_owned(),
        place: place.clone(),
    };
    let mut add = AddChannel {
        name: name.to_owned(),
        provider: name.to_owned(),
        base_url: options.base_url.clone(),
        keys: KeySources {
            key_files: Vec::new(),
            key_variables: Vec::new(),
            key_stdin: None,
        },
        models: offer
            .models
            .iter()
            .map(|(ours, theirs)| Pair(ours.clone(), theirs.clone()))
            .collect(),
        groups: Vec::new(),
        region: None,
        residency: None,
        zero_retention: false,
        priority: 0,
        weight: 1,
        headers: Vec::new(),
        proxy_file: None,
        cost_file: None,
        rpm: None,
        concurrent: None,
    };
    let mut typed = None;
    match &place {
        KeyPlace::Variable(variable) => add.keys.key_variables.push(labelled(variable)),
        KeyPlace::File(file) => add.keys.key_files.push(labelled(file)),
        KeyPlace::Stdin => add.keys.key_stdin = Some(CREDENTIAL_LABEL.to_owned()),
        KeyPlace::Typed(key) => typed = Some((CREDENTIAL_LABEL, key)),
    }
    let made = channel::create(config, console, &add, typed).await?;
    let hints: Vec<&str> = made
        .credentials
        .iter()
        .map(|one| one.hint.as_str())
        .collect();
    let text = format!(
        "added channel {} with the key that ends in {}, sealed by the keyring; `trunkline channel test {}` tests it",
        made.name,
        hints.join(", "),
        made.name
    );
    progress.done("channel", &text);
    Ok(())
}

/// The operator's account. The person is known by the address and has no password yet: the set-up link
/// gives one and makes them the operator, and they find this account.
async fn account(
    console: &Database,
    email: &str,
    credit: Money,
) -> anyhow::Result<(AccountId, Secret)> {
    // Money moves into the partition of its day; the job that makes them is not running yet.
    partitions::ensure(console)
        .await
        .context("cannot create the ledger's partitions")?;
    let mut tx = console.begin().await?;
    let done = account_in(&mut tx, email, credit).await;
    let advice = "run this again: it finds what was written";
    database::finish(tx, done, advice).await
}

async fn account_in(
    tx: &mut Tx,
    email: &str,
    credit: Money,
) -> anyhow::Result<(AccountId, Secret)> {
    let account = ledger_accounts::create_account(tx, AccountKind::Live).await?;
    let name = email.split('@').next().unwrap_or(email);
    let new = NewAccount {
        id: account,
        name,
        group: DEFAULT_GROUP,
        allowed_groups: &[],
        shard: random::shard()?,
    };
    accounts::create(tx, &new).await?;
    let top_up = TopUp {
        request: random::request(database::now_in(tx).await?)?,
        account,
        wallet: Wallet::Paid,
        amount: credit,
        provider: PROVIDER.to_owned(),
        event: EVENT.to_owned(),
    };
    match ledger_accounts::top_up(tx, &top_up).await? {
        TopUpAnswer::Done => {}
        TopUpAnswer::Before | TopUpAnswer::Different | TopUpAnswer::Refused => {
            anyhow::bail!(
                "the credit of the first account was not booked: event {EVENT:?} is taken"
            )
        }
    }
    let new = NewKey {
        account,
        parent: None,
        name: KEY_NAME,
        policy: Policy::new(PolicyFields::default())?,
    };
    let made = keys::create(tx, &new, &random::bytes::<SECRET_BYTES>()?).await?;
    ledger_accounts::register_key(tx, account, made.key.id, None).await?;
    let person = NewPerson {
        email,
        name,
        password: None,
        is_verified: false,
        is_operator: false,
    };
    if let Some(person) = people::create_person(tx, &person).await? {
        people::add_member(tx, account, person, MemberRole::Owner).await?;
    }
    Ok((account, Secret::new(made.plain.reveal().to_owned())))
}
