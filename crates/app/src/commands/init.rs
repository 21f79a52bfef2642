//! `trunkline init`: from an installed package to a first call. Each step looks whether its result is
//! there, says so and leaves it alone, or does what is missing and says that; so a run that was stopped
//! goes on where it was, and one more run changes nothing.

mod ask;
mod first;
mod here;
mod links;
mod places;
mod sales;
mod start;
mod told;
mod written;

use anyhow::Context as _;
use trunkline_types::Secret;
use trunkline_upstream::Providers;

use self::ask::Questions;
use self::first::First;
use self::places::Places;
use self::start::Runner;
use self::told::{Summary, Told};
use self::written::Decided;
use super::{channel, database};
use crate::cli::{DatabaseWish, InitArguments};
use crate::config::Config;
use crate::output::Output;

/// Sets an installation up. The order of the steps is that of their needs: nothing is written before all
/// questions of a new installation have answers.
pub(super) async fn run(wish: InitArguments, output: &Output) -> anyhow::Result<()> {
    let places = Places::of(&wish)?;
    let questions = Questions::new(&wish, output);
    let mut told = Told::new(output);
    let found = places.read_config()?;
    if found.is_none() {
        questions.must_be_answered()?;
    }
    let config = match found {
        Some(config) => {
            folders(&places, &mut told)?;
            let text = format!(
                "{} stays as it is; the address is {}",
                places.config.display(),
                config.edge.public_url
            );
            told.there("configuration", &text);
            config
        }
        None => configuration(&places, (&wish, &questions), &mut told).await?,
    };
    keyring(&places, &config, &mut told)?;
    schema(&config, &mut told).await?;
    first::roles(&config, &mut told).await?;
    let first = first::rows((&config, &wish), &questions, &mut told).await?;
    let service = service(&places, (&config, &wish), first.key.is_some(), &mut told).await?;
    let summary = summary((&places, &config), first, service).await?;
    told.end(&summary);
    Ok(())
}

fn folders(places: &Places, told: &mut Told<'_>) -> anyhow::Result<()> {
    let made = places.make_folders()?;
    let names: Vec<String> = made.iter().map(|path| path.display().to_string()).collect();
    if !names.is_empty() {
        told.done("folders", &format!("created {}", names.join(", ")));
    }
    Ok(())
}

/// Decides on a database and writes the file. The database's address is kept before its login is made:
/// a password that nobody has kept would lock everybody out.
async fn configuration(
    places: &Places,
    (wish, questions): (&InitArguments, &Questions<'_>),
    told: &mut Told<'_>,
) -> anyhow::Result<Config> {
    let database = questions.database()?;
    let public_url = questions.public_url()?;
    questions.operator()?;
    let builtin = Providers::builtin()?;
    let provider = questions.provider(&builtin)?;
    let offer = sales::offer(channel::known_provider(&builtin, &provider)?, &wish.models)?;
    questions.key(&provider)?;
    let decided = Decided {
        public_url: &public_url,
        listen: written::listen(wish.listen, &public_url),
        admin_listen: wish.admin_listen,
        docs_model: offer.first.as_deref(),
    };
    folders(places, told)?;
    // Answers that cannot be used are refused before a database is touched.
    places.try_config(&written::without_database(&decided, places))?;
    match &database {
        DatabaseWish::Here => local_database(places, told).await?,
        DatabaseWish::Url(url) => keep(places, url, told)?,
    }
    let config = places.write_config(&written::text(&decided, places))?;
    let text = format!("wrote {}", places.config.display());
    told.done("configuration", &text);
    Ok(config)
}

async fn local_database(places: &Places, told: &mut Told<'_>) -> anyhow::Result<()> {
    let (port, was_started) = here::server().await?;
    if was_started {
        told.done("postgresql", "started the PostgreSQL of this machine");
    }
    let url = match places.kept_url()? {
        Some(kept) => kept,
        None => {
            here::must_be_free().await?;
            let url = here::address(port)?;
            places.keep_url(&url)?;
            url
        }
    };
    let created = here::create(&url).await?;
    if created.is_empty() {
        told.there("database", "the PostgreSQL of this machine has it");
    } else {
        let text = format!(
            "created {} in the PostgreSQL of this machine; the password is in {}",
            created.join(" and "),
            places.database_url.display()
        );
        told.done("database", &text);
    }
    Ok(())
}

/// Keeps the address of a database that is there.
fn keep(places: &Places, url: &Secret, told: &mut Told<'_>) -> anyhow::Result<()> {
    let file = places.database_url.display().to_string();
    match places.kept_url()? {
        Some(kept) if kept.reveal() == url.reveal() => {
            told.there("database", &format!("its address is in {file}"));
        }
        Some(_) => anyhow::bail!(
            "{file} holds another database address than --database, and is left as it is; \
             delete it if it is not needed, then run this again"
        ),
        None => {
            places.keep_url(url)?;
            told.done("database", &format!("kept its address in {file}"));
        }
    }
    Ok(())
}

fn keyring(places: &Places, config: &Config, told: &mut Told<'_>) -> anyhow::Result<()> {
    let file = places.keyring.display();
    // A configuration that somebody has written may name another file.
    let is_ours = matches!(&config.keyring, crate::config::KeyringPlace::File(path) if *path == places.keyring);
    if is_ours && places.make_keyring()? {
        let text = format!(
            "wrote {file} with new root keys. Keep a copy elsewhere than the database's backups:\n\
             without it, vendors' keys in the database cannot be opened"
        );
        told.done("keyring", &text);
    } else {
        super::keyring::open(config)?;
        told.there("keyring", "it is there and can be read");
    }
    Ok(())
}

async fn schema(config: &Config, told: &mut Told<'_>) -> anyhow::Result<()> {
    let report = trunkline_db::migrate(database::url(config)?)
        .await
        .context("cannot create the schema")?;
    match report.applied.len() {
        0 => told.there("schema", "the database is up to date"),
        count => told.done("schema", &format!("applied {count} migrations")),
    }
    Ok(())
}

/// What became of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Service {
    /// It took calls before.
    Running,
    /// It takes calls now.
    Started,
    /// Somebody else is to start it.
    Stopped,
}

/// Starts it if that is wanted or systemd can.
async fn service(
    places: &Places,
    (config, wish): (&Config, &InitArguments),
    is_new: bool,
    told: &mut Told<'_>,
) -> anyhow::Result<Service> {
    let listen = config.edge.listen;
    if start::is_ready(listen).await {
        told.there("service", &format!("it takes calls on {listen}"));
        return Ok(Service::Running);
    }
    let runner = start::runner(places);
    if runner == Runner::Background && !wish.start {
        let text = format!(
            "it does not run; start it with\n{}",
            start::command(places, &wish.user)
        );
        told.there("service", &text);
        return Ok(Service::Stopped);
    }
    if is_new {
        links::void(config).await?;
    }
    let said = start::start(places, runner, listen).await?;
    told.done("service", &said);
    Ok(Service::Started)
}

async fn summary(
    (places, config): (&Places, &Config),
    first: First,
    service: Service,
) -> anyhow::Result<Summary> {
    let is_new = first.key.is_some();
    let mut next = Vec::new();
    let operator_link = match (is_new, service) {
        (true, Service::Running | Service::Started) => {
            links::fresh(config, service == Service::Started).await?
        }
        (true, Service::Stopped) => {
            next.push(
                "the service prints the link that makes you its operator when it starts".to_owned(),
            );
            None
        }
        (false, _) => {
            next.push("`trunkline operator link` prints a link that makes an operator".to_owned());
            None
        }
    };
    if let (Some(_), Some(email)) = (&operator_link, &first.operator) {
        next.push(format!(
            "open the set-up link and choose a password for {email}"
        ));
    }
    let listen = config.edge.listen;
    if written::needs_proxy(&config.edge.public_url, listen) && config.edge.tls.is_none() {
        next.push(format!(
            "let a proxy speak TLS for {} in front of {listen}: {}/docs/operating#tls",
            config.edge.public_url, config.console.dash_url
        ));
    }
    if is_new {
        next.push(format!(
            "keep a copy of {} elsewhere than the database's backups",
            places.keyring.display()
        ));
    }
    let curl = first.key.as_ref().zip(first.model.as_ref());
    let curl = curl.map(|(key, model)| first_call(listen, key, model));
    Ok(Summary {
        base_url: config.edge.public_url.clone(),
        dash_url: config.console.dash_url.clone(),
        key: first.key.map(|key| key.reveal().to_owned()),
        curl,
        operator_link,
        next,
    })
}

/// On this machine, where it works before a proxy does.
fn first_call(listen: std::net::SocketAddr, key: &Secret, model: &str) -> String {
    format!(
        "  curl http://{listen}/v1/chat/completions \\\n    -H 'Authorization: Bearer {}' \\\n    \
         -H 'Content-Type: application/json' \\\n    \
         -d '{{\"model\": \"{model}\", \"messages\": [{{\"role\": \"user\", \"content\": \"Say hello.\"}}]}}'",
        key.reveal()
    )
}
