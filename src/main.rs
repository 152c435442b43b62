//! The `bayplan` command.

fn main() {}
