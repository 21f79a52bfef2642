//! `trunkline init`: from an installed package to a first call. Each step looks whether its result is
//! there, says so and leaves it alone, or does what is missing and says that; so a run that was stopped
//! goes on where it was, and one more run changes nothing.

mod ask;
mod config_file;
mod first_rows;
mod links;
mod local_postgres;
mod offers;
mod paths;
mod progress;
mod start;

use anyhow::Context as _;
use trunkline_types::Secret;
use trunkline_upstream::Providers;

use self::ask::Questions;
use self::config_file::ConfigAnswers;
use self::first_rows::First;
use self::paths::Paths;
use self::progress::{Progress, Summary};
use self::start::Runner;
use super::{channel, database};
use crate::cli::{DatabaseChoice, InitArguments};
use crate::config::Config;
use crate::output::Output;

/// Sets an installation up. The order of the steps is that of their needs: nothing is written before all
/// questions of a new installation have answers.
pub(super) async fn run(options: InitArguments, output: &Output) -> anyhow::Result<()> {
    let paths = Paths::of(&options)?;
    let questions = Questions::new(&options, output);
    let mut progress = Progress::new(output);
    let found = paths.read_config()?;
    if found.is_none() {
        questions.must_be_answered()?;
    }
    let config = match found {
        Some(config) => {
            folders(&paths, &mut progress)?;
            let text = format!(
                "{} is unchanged; the address is {}",
                paths.config.display(),
                config.edge.public_url
            );
            progress.there("configuration", &text);
            config
        }
        None => configuration(&paths, &options, &questions, &mut progress).await?,
    };
    keyring(&paths, &config, &mut progress)?;
    schema(&config, &mut progress).await?;
    first_rows::roles(&config, &mut progress).await?;
    let first = first_rows::rows(&config, &options, &questions, &mut progress).await?;
    let service = service(
        &paths,
        &config,
        &options,
        first.key.is_some(),
        &mut progress,
    )
    .await?;
    let summary = summary(&paths, &config, first, service).await?;
    progress.end(&summary);
    Ok(())
}

fn folders(paths: &Paths, progress: &mut Progress<'_>) -> anyhow::Result<()> {
    let made = paths.make_folders()?;
    let names: Vec<String> = made.iter().map(|path| path.display().to_string()).collect();
    if !names.is_empty() {
        progress.done("folders", &format!("created {}", names.join(", ")));
    }
    Ok(())
}

/// Decides on a database and writes the file. The database's address is kept before its login is made:
/// a lost password would lock all users out.
async fn configuration(
    paths: &Paths,
    options: &InitArguments,
    questions: &Questions<'_>,
    progress: &mut Progress<'_>,
) -> anyhow::Result<Config> {
    let database = questions.database()?;
    let public_url = questions.public_url()?;
    questions.operator()?;
    let builtin = Providers::builtin()?;
    let provider = questions.provider(&builtin)?;
    let offer = offers::offer(
        channel::known_provider(&builtin, &provider)?,
        &options.models,
    )?;
    questions.key(&provider)?;
    let decided = ConfigAnswers {
        public_url: &public_url,
        listen: config_file::listen(options.listen, &public_url),
        admin_listen: options.admin_listen,
        docs_model: offer.first.as_deref(),
    };
    folders(paths, progress)?;
    // Answers that cannot be used are refused before a database is touched.
    paths.try_config(&config_file::without_database(&decided, paths))?;
    match &database {
        DatabaseChoice::Here => local_database(paths, progress).await?,
        DatabaseChoice::Url(url) => keep(paths, url, progress)?,
    }
    let config = paths.write_config(&config_file::text(&decided, paths))?;
    let text = format!("wrote {}", paths.config.display());
    progress.done("configuration", &text);
    Ok(config)
}

async fn local_database(paths: &Paths, progress: &mut Progress<'_>) -> anyhow::Result<()> {
    let (port, was_started) = local_postgres::server().await?;
    if was_started {
        progress.done("postgresql", "started the PostgreSQL of this machine");
    }
    let url = match paths.kept_url()? {
        Some(kept) => kept,
        None => {
            local_postgres::must_be_free().await?;
            let url = local_postgres::address(port)?;
            paths.keep_url(&url)?;
            url
        }
    };
    let created = local_postgres::create(&url).await?;
    if created.is_empty() {
        progress.there("database", "the PostgreSQL of this machine has it");
    } else {
        let text = format!(
            "created {} in the PostgreSQL of this machine; the password is in {}",
            created.join(" and "),
            paths.database_url.display()
        );
        progress.done("database", &text);
    }
    Ok(())
}

/// Keeps the address of a database that is there.
fn keep(paths: &Paths, url: &Secret, progress: &mut Progress<'_>) -> anyhow::Result<()> {
    let file = paths.database_url.display().to_string();
    match paths.kept_url()? {
        Some(kept) if kept.reveal() == url.reveal() => {
            progress.there("database", &format!("its address is in {file}"));
        }
        Some(_) => anyhow::bail!(
            "{file} holds another database address than --database, and is left as it is; \
             delete it if it is not needed, then run this again"
        ),
        None => {
            paths.keep_url(url)?;
            progress.done("database", &format!("kept its address in {file}"));
        }
    }
    Ok(())
}

fn keyring(paths: &Paths, config: &Config, progress: &mut Progress<'_>) -> anyhow::Result<()> {
    let file = paths.keyring.display();
    // An existing configuration may name another file.
    let is_ours = matches!(&config.keyring, crate::config::KeyringPlace::File(path) if *path == paths.keyring);
    if is_ours && paths.make_keyring()? {
        let text = format!(
            "wrote {file} with new root keys. Keep a copy elsewhere than the database's backups:\n\
             without it, vendors' keys in the database cannot be opened"
        );
        progress.done("keyring", &text);
    } else {
        super::keyring::open(config)?;
        progress.there("keyring", "it is there and can be read");
    }
    Ok(())
}

async fn schema(config: &Config, progress: &mut Progress<'_>) -> anyhow::Result<()> {
    let report = trunkline_db::migrate(database::url(config)?)
        .await
        .context("cannot create the schema")?;
    match report.applied.len() {
        0 => progress.there("schema", "the database is up to date"),
        count => progress.done("schema", &format!("applied {count} migrations")),
    }
    Ok(())
}

/// What became of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Service {
    /// It took calls before.
    Running,
    Started,
    Stopped,
}

/// Starts it if that is wanted or systemd can.
async fn service(
    paths: &Paths,
    config: &Config,
    options: &InitArguments,
    is_new: bool,
    progress: &mut Progress<'_>,
) -> anyhow::Result<Service> {
    let listen = config.edge.listen;
    if start::is_ready(listen).await {
        progress.there("service", &format!("it takes calls on {listen}"));
        return Ok(Service::Running);
    }
    let runner = start::runner(paths);
    if runner == Runner::Background && !options.start {
        let text = format!(
            "not running; start it with\n{}",
            start::command(paths, &options.user)
        );
        progress.there("service", &text);
        return Ok(Service::Stopped);
    }
    if is_new {
        links::void(config).await?;
    }
    let started = start::start(paths, runner, listen).await?;
    progress.done("service", &started);
    Ok(Service::Started)
}

async fn summary(
    paths: &Paths,
    config: &Config,
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
                "on start the service prints a link that creates the operator account".to_owned(),
            );
            None
        }
        (false, _) => {
            next.push(
                "`trunkline operator link` prints a link that creates an operator account"
                    .to_owned(),
            );
            None
        }
    };
    if let (Some(_), Some(email)) = (&operator_link, &first.operator) {
        next.push(format!(
            "open the setup link and choose a password for {email}"
        ));
    }
    let listen = config.edge.listen;
    if config_file::needs_proxy(&config.edge.public_url, listen) && config.edge.tls.is_none() {
        next.push(format!(
            "let a proxy speak TLS for {} in front of {listen}: {}/docs/single-server#tls, once you are signed in",
            config.edge.public_url, config.console.dash_url
        ));
    }
    if is_new {
        next.push(format!(
            "keep a copy of {} elsewhere than the database's backups",
            paths.keyring.display()
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
