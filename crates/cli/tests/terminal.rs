//! Results in terminals of several widths, without colours, and in pipes.

mod pty;

use pty::Pty;
use std::path::PathBuf;
use std::process::{Command, Output};
use unbloat_text::{plain, width};

const UNBLOAT: &str = env!("CARGO_BIN_EXE_unbloat");

const SCENARIO: &str = "
[scenario]
name = \"narrow\"
about = \"A download through a buffer that is much too large, to be printed in a terminal of any width\"
duration = \"3 s\"
[link.down]
rate = \"10 Mbit/s\"
delay = \"20 ms\"
queue = { kind = \"droptail\", limit = \"200 kB\" }
[link.up]
rate = \"2 Mbit/s\"
delay = \"20 ms\"
[[flow]]
name = \"download\"
app = \"bulk\"
";

struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("narrow.toml"), SCENARIO).unwrap();
        World { folder }
    }

    fn scenario(&self) -> PathBuf {
        self.folder.path().join("narrow.toml")
    }

    fn unbloat(&self, words: &[&str]) -> Command {
        let mut command = Command::new(UNBLOAT);
        command.args(words).current_dir(self.folder.path());
        command.env("UNBLOAT_RUNS", self.folder.path().join("runs"));
        command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
        command
    }

    /// What a terminal of so many columns shows.
    fn shown(&self, command: &mut Command, columns: u16) -> String {
        let mut pty = Pty::run(command, columns);
        let shown = pty.shown();
        assert!(pty.end().code().is_some());
        // The last of it is still on its way.
        let mut before = String::new();
        loop {
            std::thread::sleep(std::time::Duration::from_millis(200));
            let text = shown.text();
            if text == before && !text.is_empty() {
                return text.replace('\r', "");
            }
            before = text;
        }
    }
}

/// Two runs to compare.
fn record(world: &World) {
    let scenario = world.scenario();
    for (name, delay) in [("a", "20 ms"), ("b", "40 ms")] {
        let mut run = world.unbloat(&["sim", "--quiet", "--out", name]);
        run.arg(&scenario);
        run.args(["--set", &format!("link.down.delay={delay}")]);
        let output = run.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

fn is_too_wide(line: &str, columns: u16) -> bool {
    // A path is a word that is not cut.
    let has_long_word = line
        .split_whitespace()
        .any(|word| word.contains('/') && word.len() > 20);
    width(line) > usize::from(columns) && !has_long_word
}

#[test]
fn results_are_as_wide_as_the_terminal() {
    let world = World::new();
    record(&world);
    let scenario = world.scenario();
    let scenario = scenario.to_str().unwrap();
    let sweep = r#"link.down.queue.limit=["50 kB", "200 kB"]"#;
    let commands: [&[&str]; 8] = [
        &["sim", scenario, "--no-run", "--quiet"],
        &["sim", scenario, "--no-run", "--quiet", "--set", sweep],
        &["model", "--rate", "10mbit", "--no-run"],
        &["compare", "a", "b"],
        &["doctor"],
        &["runs", "list"],
        &["runs", "show", "a"],
        &["watch", "--once", "--no-bpf", "--interval", "100 ms"],
    ];
    for words in commands {
        for columns in [60, 80, 200] {
            let text = world.shown(&mut world.unbloat(words), columns);
            assert!(!text.contains("error"), "{words:?}: {text}");
            let wide = text.lines().find(|line| is_too_wide(line, columns));
            assert_eq!(wide, None, "{words:?} at {columns}:\n{text}");
        }
    }
}

/// Words, however they are laid out.
fn words(text: &str) -> Vec<String> {
    let text = plain(text);
    text.split_whitespace().map(str::to_owned).collect()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn colours_are_for_terminals_that_want_them_and_words_are_the_same() {
    let world = World::new();
    let scenario = world.scenario();
    let sim: &[&str] = &["sim", scenario.to_str().unwrap(), "--no-run", "--quiet"];
    let watch: &[&str] = &["watch", "--once", "--no-bpf", "--interval", "100 ms"];
    for words_of in [watch, sim] {
        let coloured = world.shown(&mut world.unbloat(words_of), 200);
        assert_eq!(
            coloured.contains("\u{1b}["),
            words_of == watch,
            "{coloured}"
        );
        for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let text = world.shown(world.unbloat(words_of).env(name, value), 200);
            assert!(!text.contains('\u{1b}'), "{name}: {text}");
        }
        let piped = world.unbloat(words_of).output().unwrap();
        assert!(!stdout(&piped).contains('\u{1b}'));
        if words_of == sim {
            assert_eq!(words(&stdout(&piped)), words(&coloured));
        }
    }
}

#[test]
fn a_pipe_gets_lines_as_they_are() {
    let world = World::new();
    let scenario = world.scenario();
    let mut sim = world.unbloat(&["sim", "--no-run", "--quiet"]);
    let output = sim.arg(&scenario).env("COLUMNS", "20").output().unwrap();
    let text = stdout(&output);
    let about = SCENARIO
        .lines()
        .find_map(|line| line.strip_prefix("about = "));
    assert!(text.contains(about.unwrap().trim_matches('"')), "{text}");
}
