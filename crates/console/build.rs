//! The pages are built by Vite into `web/dist`; when they change, they are built in anew.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../web/dist");
}
