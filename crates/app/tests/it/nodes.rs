//! Processes of one database: each has a name of its own, and all use NATS or none does.

use tokio::process::Command;

use crate::admin_cli::AdminCli;
use crate::dev::Dev;
use crate::keyrings::{FILE, serve};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_of_one_host_have_their_own_names_and_one_with_nats_does_not_join_those_without()
{
    let cli = AdminCli::new().await;
    cli.json(&["keyring", "generate"]);
    let first = Dev::started(Command::from(serve(&cli, FILE))).await;
    let second = Dev::started(Command::from(serve(&cli, FILE))).await;
    let mut third = serve(&cli, FILE);
    third.env("TRUNKLINE__NATS__URL", "nats://127.0.0.1:9");
    let ended = third.output().unwrap();
    let output = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
    assert!(!ended.status.success(), "{output}");
    assert!(
        output.contains("set nats on every node or on none"),
        "{output}"
    );
    for other in [first, second] {
        let name = format!("-p{}", other.process.id().unwrap());
        assert!(output.contains(&name), "{name}: {output}");
    }
}
