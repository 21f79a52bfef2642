//! The four questions: answered by options, else asked at a terminal, else named all at once as missing.

use std::cell::OnceCell;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::process::Command;

use anyhow::{Context as _, bail};
use trunkline_store::people;
use trunkline_types::Secret;
use trunkline_upstream::Providers;

use crate::cli::{DatabaseChoice, InitArguments, read_database};
use crate::output::Output;

/// Attempts to answer a question.
const TRIES: usize = 5;
/// The address of an installation that is reached from this machine alone.
const LOCAL_URL: &str = "http://127.0.0.1:8080";

/// Where the vendor's key is.
#[derive(Debug, Clone)]
pub(super) enum KeyPlace {
    Variable(String),
    File(String),
    Stdin,
    Typed(Secret),
}

/// Who is asked, and what the options have answered. An answer is asked for once.
pub(super) struct Questions<'a> {
    arguments: &'a InitArguments,
    is_asked: bool,
    operator: OnceCell<String>,
    provider: OnceCell<String>,
    key: OnceCell<KeyPlace>,
}

// === impl Questions ===

impl<'a> Questions<'a> {
    /// No questions are asked without a terminal, nor where a program reads the output.
    pub(super) fn new(arguments: &'a InitArguments, output: &Output) -> Self {
        let is_asked =
            io::stdin().is_terminal() && !arguments.key_stdin && !output.is_for_programs();
        Self {
            arguments,
            is_asked,
            operator: OnceCell::new(),
            provider: OnceCell::new(),
            key: OnceCell::new(),
        }
    }

    /// Refuses before anything is written when a new installation cannot get all four answers.
    pub(super) fn must_be_answered(&self) -> anyhow::Result<()> {
        let arguments = self.arguments;
        let has_key =
            arguments.key_env.is_some() || arguments.key_file.is_some() || arguments.key_stdin;
        let options = [
            ("--database", arguments.database.is_some()),
            ("--public-url", arguments.public_url.is_some()),
            ("--operator", arguments.operator.is_some()),
            ("--provider", arguments.provider.is_some()),
            ("--key-env, --key-file or --key-stdin", has_key),
        ];
        let missing: Vec<&str> = options
            .into_iter()
            .filter_map(|(name, is_there)| (!is_there).then_some(name))
            .collect();
        if !self.is_asked && !missing.is_empty() {
            bail!(
                "not a terminal, so no questions can be asked; add {}",
                missing.join("; ")
            );
        }
        Ok(())
    }

    pub(super) fn database(&self) -> anyhow::Result<DatabaseChoice> {
        if let Some(known) = &self.arguments.database {
            return Ok(known.clone());
        }
        self.ask(
            "Which PostgreSQL database? An address such as postgres://trunkline@db.example.com/trunkline,\n\
             or \"here\" to create one in the PostgreSQL of this machine.",
            "--database",
            Some("here"),
            read_database,
        )
    }

    pub(super) fn public_url(&self) -> anyhow::Result<String> {
        if let Some(known) = &self.arguments.public_url {
            return Ok(known.trim_end_matches('/').to_owned());
        }
        self.ask(
            "At which address do callers and users of the console reach it, such as https://api.example.com?",
            "--public-url",
            Some(LOCAL_URL),
            |text| Ok(text.trim_end_matches('/').to_owned()),
        )
    }

    pub(super) fn operator(&self) -> anyhow::Result<String> {
        once(&self.operator, || {
            let read = |text: &str| people::check_email("email", text);
            match &self.arguments.operator {
                Some(known) => read(known).context("--operator"),
                None => self.ask(
                    "What is the operator's email address?",
                    "--operator",
                    None,
                    |text| read(text).map_err(|error| error.to_string()),
                ),
            }
        })
    }

    pub(super) fn provider(&self, providers: &Providers) -> anyhow::Result<String> {
        if let Some(known) = &self.arguments.provider {
            return Ok(known.clone());
        }
        once(&self.provider, || {
            // Those of tests stay unnamed.
            let names = providers
                .names()
                .filter(|name| !name.starts_with("simulator"));
            let names: Vec<&str> = names.collect();
            let question = format!("Which vendor is first? One of {}.", names.join(", "));
            self.ask(&question, "--provider", Some("openai"), |text| {
                let known = providers.get(text).map(|provider| provider.name.clone());
                known.ok_or_else(|| format!("there is no provider {text:?}"))
            })
        })
    }

    pub(super) fn key(&self, provider: &str) -> anyhow::Result<KeyPlace> {
        if let Some(variable) = &self.arguments.key_env {
            return Ok(KeyPlace::Variable(variable.clone()));
        }
        if let Some(file) = &self.arguments.key_file {
            return Ok(KeyPlace::File(file.clone()));
        }
        if self.arguments.key_stdin {
            return Ok(KeyPlace::Stdin);
        }
        once(&self.key, || self.typed_key(provider))
    }

    fn typed_key(&self, provider: &str) -> anyhow::Result<KeyPlace> {
        let question =
            format!("What is your API key at {provider}? It is not shown while you type.");
        let hidden = self.is_asked && echo(false);
        let typed = self.ask(
            &question,
            "--key-env, --key-file or --key-stdin",
            None,
            |text| Ok(Secret::new(text.to_owned())),
        );
        if hidden {
            echo(true);
            say("\n");
        }
        typed.map(KeyPlace::Typed)
    }

    fn ask<T>(
        &self,
        question: &str,
        option: &str,
        usual: Option<&str>,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> anyhow::Result<T> {
        if !self.is_asked {
            bail!("this is no terminal where questions could be asked; add {option}");
        }
        say(&format!("{question}\n"));
        for _ in 0..TRIES {
            let prompt = usual.map_or_else(|| "> ".to_owned(), |usual| format!("[{usual}] > "));
            say(&prompt);
            let mut line = String::new();
            if io::stdin().lock().read_line(&mut line)? == 0 {
                break;
            }
            let answer = match (line.trim(), usual) {
                ("", Some(usual)) => usual,
                ("", None) => continue,
                (answer, _) => answer,
            };
            match read(answer) {
                Ok(value) => return Ok(value),
                Err(problem) => say(&format!("{problem}\n")),
            }
        }
        bail!("no usable answer; use {option}");
    }
}

/// The answer that was given before, else the one that is given now.
fn once<T: Clone>(
    kept: &OnceCell<T>,
    ask: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    if let Some(known) = kept.get() {
        return Ok(known.clone());
    }
    let answer = ask()?;
    Ok(kept.get_or_init(|| answer).clone())
}

/// To the terminal, beside what the command prints.
fn say(text: &str) {
    let mut terminal = io::stderr().lock();
    drop(terminal.write_all(text.as_bytes()));
    drop(terminal.flush());
}

/// Whether the terminal shows what is typed. False if it could not be progress.
fn echo(is_on: bool) -> bool {
    let word = if is_on { "echo" } else { "-echo" };
    Command::new("stty")
        .arg(word)
        .status()
        .is_ok_and(|status| status.success())
}
