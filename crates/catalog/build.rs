//! Collects the files of `starter/` into one list, so that a new vendor needs no line of code.

#[path = "../../build/collect.rs"]
mod collect;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    collect::toml_files("starter", "starter.rs")
}
