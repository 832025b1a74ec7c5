//! What `--help` prints for every command. To accept changes: `INSTA_UPDATE=always cargo test -p unbloat-cli`.

use super::tree;

/// Columns; help does not depend on the terminal of the tests.
const WIDTH: usize = 100;

#[test]
fn help_of_every_command() {
    let mut root = tree().term_width(WIDTH);
    root.build();
    check(&mut root, "unbloat");
}

#[test]
fn the_first_help_fits_a_terminal_of_80_columns() {
    let mut root = tree().term_width(80);
    root.build();
    let help = root.render_help().to_string();
    let wide: Vec<&str> = help
        .lines()
        .filter(|line| line.chars().count() > 80)
        .collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

fn check(command: &mut clap::Command, path: &str) {
    let (short, long) = (command.render_help(), command.render_long_help());
    let (short, long) = (short.to_string(), long.to_string());
    let text = if short == long {
        format!("$ {path} --help\n{long}")
    } else {
        format!("$ {path} -h\n{short}\n$ {path} --help\n{long}")
    };
    insta::assert_snapshot!(path.replace(' ', "_"), text);
    for sub in command.get_subcommands_mut() {
        if sub.get_name() != "help" && !sub.is_hide_set() {
            let path = format!("{path} {}", sub.get_name());
            check(sub, &path);
        }
    }
}
