//! Collects the files of `providers/` into one list, so that a new provider needs no line of code.

#[path = "../../build/collect.rs"]
mod collect;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    collect::toml_files("providers", "builtin.rs")
}
