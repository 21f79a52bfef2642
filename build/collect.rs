//! What build scripts share: the `.toml` files of a folder as one list of names and texts, so that a new
//! file needs no line of code.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// Where this file is, as the build script of a crate sees it.
const OWN_PATH: &str = "../../build/collect.rs";

/// Writes the files of a crate's folder, sorted by name, as an expression that `include!` takes.
pub(crate) fn toml_files(folder: &str, list_file: &str) -> Result<(), Box<dyn Error>> {
    for path in ["build.rs", OWN_PATH, folder] {
        println!("cargo::rerun-if-changed={path}");
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let name = path.file_stem().and_then(|name| name.to_str());
            let name = name.ok_or_else(|| format!("{} has a strange name", path.display()))?;
            names.push(name.to_owned());
        }
    }
    // The same list on every machine.
    names.sort();
    let mut list = String::from("&[\n");
    for name in names {
        let path = format!("/{folder}/{name}.toml");
        writeln!(
            list,
            "({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))),"
        )?;
    }
    list.push(']');
    #[expect(
        clippy::disallowed_methods,
        reason = "it is how cargo says where to write"
    )]
    let out = env::var_os("OUT_DIR").ok_or("cargo gave no OUT_DIR")?;
    fs::write(Path::new(&out).join(list_file), list)?;
    Ok(())
}
