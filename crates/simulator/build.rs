//! Collects the files of `social/` into one list, so that an endpoint more needs no line of code.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=social");
    let mut names = Vec::new();
    for entry in fs::read_dir("social")? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let name = path.file_stem().and_then(|name| name.to_str());
            names.push(
                name.ok_or("a platform's file has a strange name")?
                    .to_owned(),
            );
        }
    }
    // The same list on every machine.
    names.sort();
    let mut list = String::from("&[\n");
    for name in names {
        let path = format!("/social/{name}.toml");
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
    let folder = env::var_os("OUT_DIR").ok_or("cargo gave no OUT_DIR")?;
    fs::write(Path::new(&folder).join("social.rs"), list)?;
    Ok(())
}
