//! `trunkline workflow validate | import | list`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::{Value, json};
use trunkline_catalog::workflow::{Finding, MAX_WORKFLOW_BYTES, Transition, Workflow, may_run};
use trunkline_db::{Database, Role};
use trunkline_store::workflows::{self, Version};

use super::{action, database};
use crate::config::Config;
use crate::output::Output;
use crate::{files, table};

/// Tells everything that is wrong with a file. The exit code says whether anything is.
pub(super) fn validate(file: &Path, output: &Output) -> anyhow::Result<ExitCode> {
    let text = read(file)?;
    let workflow = match Workflow::read(&text) {
        Ok(workflow) => workflow,
        Err(findings) => return Ok(found(file, &findings, output)),
    };
    let findings = workflow.contradictions();
    if !findings.is_empty() {
        return Ok(found(file, &findings, output));
    }
    let (record, digest) = (workflow.record(), workflow.digest());
    let text = format!(
        "{} is a valid workflow record: {:?}, contract {}, binding {}.\nSemantic digest: {digest}",
        file.display(),
        record.title,
        record.contract_status.as_str(),
        record.runtime_binding.status.as_str()
    );
    let object = json!({
        "ok": true,
        "findings": [],
        "slug": record.slug,
        "semantic_digest_sha256": digest,
        "runnable": may_run(&workflow).is_ok(),
    });
    output.success(&text, &object);
    Ok(ExitCode::SUCCESS)
}

/// Keeps a file's record as the next version.
pub(super) async fn import(
    config: &Config,
    file: &Path,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let workflow = match Workflow::read(&read(file)?) {
        Ok(workflow) => workflow,
        Err(findings) => return Ok(found(file, &findings, output)),
    };
    let database = database::open(config, Role::Console).await?;
    let done = imported(&database, workflow, output).await;
    database::close(&database).await;
    done.map(|()| ExitCode::SUCCESS)
}

async fn imported(database: &Database, came: Workflow, output: &Output) -> anyhow::Result<()> {
    let mut tx = database.begin().await?;
    let done = async {
        let imported = workflows::import(&mut tx, came).await?;
        let record = imported.version.workflow.record();
        let subject = format!("workflow {}", record.slug);
        let after = json!({ "revision": imported.version.revision });
        action::log(&mut tx, &action::action("import_workflow", &subject, after)).await?;
        anyhow::Ok(imported)
    };
    let done = done.await.context("the record was not stored");
    let advice = "repeat the command: the same record twice is one version";
    let imported = database::finish(tx, done, advice).await?;
    let (version, how) = (&imported.version, imported.how);
    let record = version.workflow.record();
    let standing = format!(
        "contract {}, binding {}",
        record.contract_status.as_str(),
        record.runtime_binding.status.as_str()
    );
    let outcome = match how {
        Transition::First | Transition::Kept => format!("is kept: {standing}"),
        Transition::Same => format!("is already the newest version: {standing}"),
        Transition::FellBack => {
            format!("is stored; its meaning changed, so its status was reset: {standing}")
        }
    };
    let text = format!(
        "Workflow {} (version {}) {outcome}.",
        record.slug, version.revision
    );
    let object = json!({ "ok": true, "how": word(how), "workflow": version_json(version) });
    output.success(&text, &object);
    Ok(())
}

/// Lists the newest versions.
pub(super) async fn list(
    config: &Config,
    after: &str,
    limit: u32,
    output: &Output,
) -> anyhow::Result<()> {
    let database = database::open(config, Role::Console).await?;
    let versions = async {
        let mut session = database.session().await?;
        workflows::page(&mut session, after, limit).await
    };
    let versions = versions.await;
    database::close(&database).await;
    let versions = versions?;
    let rows: Vec<Vec<String>> = versions.iter().map(cells).collect();
    let heads = ["slug", "title", "contract", "binding", "runs", "version"];
    let text = if rows.is_empty() {
        "There are no workflows here; `trunkline workflow import FILE` imports one.".to_owned()
    } else {
        table::aligned(&heads, &[5], &rows)
    };
    let workflows: Vec<Value> = versions.iter().map(version_json).collect();
    output.success(&text, &json!({ "ok": true, "workflows": workflows }));
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<String> {
    // One byte more, so that the reader of records says in its own words what is too long.
    let most = u64::try_from(MAX_WORKFLOW_BYTES).unwrap_or(u64::MAX);
    let text = files::read_bounded(file, most.saturating_add(1));
    text.with_context(|| format!("cannot read {}", file.display()))
}

fn found(file: &Path, findings: &[Finding], output: &Output) -> ExitCode {
    let mut lines = vec![format!(
        "{} is not a valid workflow record; findings: {}",
        file.display(),
        findings.len()
    )];
    lines.extend(findings.iter().map(|finding| format!("  {finding}")));
    output.finding(
        &lines.join("\n"),
        &json!({ "ok": false, "findings": findings }),
    );
    ExitCode::FAILURE
}

fn cells(version: &Version) -> Vec<String> {
    let record = version.workflow.record();
    let runs = may_run(&version.workflow).map_or("no", |()| "yes");
    vec![
        record.slug.clone(),
        record.title.clone(),
        record.contract_status.as_str().to_owned(),
        record.runtime_binding.status.as_str().to_owned(),
        runs.to_owned(),
        version.revision.to_string(),
    ]
}

fn version_json(version: &Version) -> Value {
    let record = version.workflow.record();
    let standing = may_run(&version.workflow);
    json!({
        "slug": record.slug,
        "workflow_id": record.workflow_id,
        "title": record.title,
        "contract_status": record.contract_status,
        "binding_status": record.runtime_binding.status,
        "semantic_digest_sha256": version.workflow.digest(),
        "runnable": standing.is_ok(),
        "not_runnable_because": standing.err().map(|reason| reason.to_string()),
        "revision": version.revision,
    })
}

const fn word(how: Transition) -> &'static str {
    match how {
        Transition::First => "first",
        Transition::Same => "same",
        Transition::Kept => "kept",
        Transition::FellBack => "fell_back",
    }
}
