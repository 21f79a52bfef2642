//! Collects the files of `cells/` into one list, so that a new platform needs no line of code.

#[path = "../../build/collect.rs"]
mod collect;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    collect::toml_files("cells", "cells.rs")
}
