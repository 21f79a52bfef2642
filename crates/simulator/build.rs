//! Collects the files of `social/` into one list, so that an endpoint more needs no line of code.

#[path = "../../build/collect.rs"]
mod collect;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    collect::toml_files("social", "social.rs")
}
