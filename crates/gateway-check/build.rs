//! Collects the files of `checks/` into one list, so that new checks need no line of code.

#[path = "../../build/collect.rs"]
mod collect;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    collect::toml_files("checks", "checks.rs")
}
