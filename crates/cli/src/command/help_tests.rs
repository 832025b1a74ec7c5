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
