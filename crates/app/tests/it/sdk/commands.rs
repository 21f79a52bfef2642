//! Commands that people copy: what `trunkline dev` greets with, and the page about pictures and audio. They
//! are run as they stand, by a shell.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{ChildStdout, Command};
use tokio::time::timeout;

use crate::dev::{Dev, PATIENCE, TRUNKLINE, audit};
use crate::sdk::suites::sdk;

const PAGE: &str = include_str!("../../../../../docs/guide/images-and-audio.md");
/// The last line of the greeting.
const GREETED: &str = "Ctrl-C stops everything.";
/// What a command of the greeting begins with.
const PROGRAMS: [&str; 3] = ["  curl ", "  python ", "  node "];

/// Runs text as a reader would who has the SDKs, in a folder, and tells what it printed.
async fn shell(text: &str, folder: &Path, variables: &[(&str, &str)]) -> String {
    let with_python = format!("PATH=\"$PYTHONS:$PATH\"\n{text}");
    let run = Command::new("sh")
        .args(["-e", "-c", &with_python])
        .current_dir(folder)
        .env("PYTHONS", sdk("venv/bin"))
        .env("NODE_PATH", sdk("node/node_modules"))
        .env("NO_PROXY", "*")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(PATIENCE, run).await.expect("it comes to an end");
    let output = output.unwrap();
    let reply = String::from_utf8(output.stdout).unwrap();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{reply}\n{complained}");
    reply
}

/// The lines of the greeting, but for its last.
async fn greeting(lines: &mut Lines<BufReader<ChildStdout>>) -> Vec<String> {
    let mut greeting = Vec::new();
    loop {
        let line = timeout(PATIENCE, lines.next_line()).await;
        let line = line.expect("it greets").unwrap().expect("a line");
        if line.contains(GREETED) {
            return greeting;
        }
        greeting.push(line);
    }
}

/// The commands among lines. One goes on as long as its lines end with a backslash.
fn commands(lines: &[String]) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in lines {
        let begins = PROGRAMS.iter().any(|program| line.starts_with(program));
        match commands.last_mut().filter(|_| goes_on) {
            Some(command) => *command = format!("{command}\n{line}"),
            None if begins => commands.push(line.clone()),
            None => continue,
        }
        goes_on = line.ends_with('\\');
    }
    commands
}

fn is_png(file: &str) -> bool {
    file.starts_with("89504e47")
}

/// The first bytes behind a link, in hexadecimal digits; no key is needed for it.
async fn linked(url: &str, folder: &Path) -> String {
    let variables = [("LINK", url)];
    let text = "curl -sSf \"$LINK\" -o linked && od -An -tx1 -N4 linked | tr -d ' \\n'";
    shell(text, folder, &variables).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_of_the_greeting_works_and_is_shown_with_its_price() {
    let mut process = Command::new(TRUNKLINE)
        .args(["dev", "--ephemeral", "--simulated", "--exit-on-eof"])
        .args(["--config", "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let commands = commands(&greeting(&mut lines).await);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut reply = Vec::new();
    for command in &commands {
        reply.push(shell(command, folder, &[]).await);
    }
    let [chat, python, node, video, media, social] = &reply[..] else {
        panic!("{commands:?}");
    };
    let chat: Value = serde_json::from_str(chat).unwrap();
    assert_eq!(chat["object"], "chat.completion", "{chat}");
    assert!(!python.trim().is_empty() && !node.trim().is_empty());
    assert_eq!(video.trim(), "completed 0.04 USD");
    let file = std::fs::read(folder.join("cat.mp4")).unwrap();
    assert_eq!(file.get(4..8).unwrap(), b"ftyp");
    let (link, received) = media.trim().split_once('\n').unwrap();
    assert!(is_png(&linked(link, folder).await), "{link}");
    assert_eq!(received.split(' ').count(), 12, "{received}");
    let voice = std::fs::read(folder.join("morning.mp3")).unwrap();
    assert_eq!(voice.first(), Some(&0xFF));
    let social: Value = serde_json::from_str(social).unwrap();
    assert_eq!(social["object"], "social.result", "{social}");
    for (model, price) in [
        ("gpt-image-1.5", "0.009 USD"),
        ("tts-1", "0.000195 USD"),
        ("whisper-1", "0.0001 USD"),
    ] {
        loop {
            let line = timeout(PATIENCE, lines.next_line()).await;
            let line = line.expect("calls are shown").unwrap().expect("a line");
            if line.contains(&format!("  {model} ")) {
                assert!(line.ends_with(price), "{line}");
                break;
            }
        }
    }
    drop(process.stdin.take());
    let status = timeout(PATIENCE, process.wait()).await;
    assert!(status.expect("it ends").unwrap().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_about_images_and_audio_says_what_works() {
    let dev = Dev::start().await;
    let (_, rest) = PAGE.split_once("```sh\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    assert_eq!(text.matches("curl ").count(), 3, "{text}");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let address = dev.text("base_url");
    let text = text.replace("{{base_url}}", address);
    let variables = [("TRUNKLINE_KEY", dev.text("key"))];
    let reply = shell(&text, folder, &variables).await;
    let answers = serde_json::Deserializer::from_str(&reply).into_iter::<Value>();
    let answers: Vec<Value> = answers.map(Result::unwrap).collect();
    let [pictures, transcript] = &answers[..] else {
        panic!("{reply}");
    };
    assert_eq!(pictures["metadata"]["success_count"], "2", "{pictures}");
    for entry in pictures["data"].as_array().unwrap() {
        let link = entry["url"].as_str().unwrap();
        assert!(is_png(&linked(link, folder).await), "{entry}");
    }
    let voice = std::fs::read(folder.join("morning.mp3")).unwrap();
    assert_eq!(voice.first(), Some(&0xFF));
    // Thirteen characters of 60 milliseconds are one second.
    assert_eq!(transcript["usage"]["seconds"], 1, "{transcript}");
    assert!(!transcript["text"].as_str().unwrap().is_empty());
    audit(&dev).await;
    dev.end().await;
}
