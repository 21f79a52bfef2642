//! A certificate authority of a test's own, and a server's certificate for `localhost` that it has signed. Engines can
//! read the files.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::binaries;
use crate::test_run::Run;

const EXTENSIONS: &str = "subjectAltName=DNS:localhost\nbasicConstraints=critical,CA:FALSE\n";

/// The authority's certificate, and a server's with its key; gone when dropped.
pub struct Certificates {
    folder: PathBuf,
}

// === impl Certificates ===

impl Certificates {
    pub async fn new() -> Self {
        let made = Self {
            folder: Run::current().await.new_folder("tls"),
        };
        make(&made.folder);
        made
    }

    /// What clients are to trust.
    #[must_use]
    pub fn roots(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.folder.join("server.pem")
    }

    #[must_use]
    pub fn key(&self) -> PathBuf {
        self.folder.join("server.key")
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

fn make(folder: &Path) {
    std::fs::write(folder.join("extensions"), EXTENSIONS).expect("the folder can be written");
    let curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
    let authority = [
        "req",
        "-x509",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=test CA",
    ];
    openssl(
        folder,
        &[
            &authority[..],
            &curve,
            &["-keyout", "ca.key", "-out", "ca.pem"],
        ]
        .concat(),
    );
    let request = ["req", "-nodes", "-subj", "/CN=localhost"];
    openssl(
        folder,
        &[
            &request[..],
            &curve,
            &["-keyout", "server.key", "-out", "server.csr"],
        ]
        .concat(),
    );
    let signing = [
        "x509",
        "-req",
        "-in",
        "server.csr",
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
    ];
    let signed = [
        "-CAcreateserial",
        "-days",
        "2",
        "-extfile",
        "extensions",
        "-out",
        "server.pem",
    ];
    openssl(folder, &[&signing[..], &signed].concat());
    // PostgreSQL wants a key that no other user can read.
    binaries::must(
        Command::new("chmod")
            .arg("600")
            .arg(folder.join("server.key")),
    );
    for file in ["server.key", "server.pem", "ca.pem", "."] {
        binaries::give_to_postgres(&folder.join(file));
    }
}

fn openssl(folder: &Path, words: &[&str]) {
    binaries::must(Command::new("openssl").args(words).current_dir(folder));
}
