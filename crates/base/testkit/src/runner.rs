//! Runs the tests of one file, and tells which of them this machine cannot run.

use crate::needs::Need;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::panic::resume_unwind;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// With this set to 1, a need that is not met fails the test instead of leaving it out.
const RUN_ALL: &str = "UNBLOAT_RUN_ALL";

/// What a test may return: nothing, or a result.
pub trait Outcome {
    /// The error as text, if it is one.
    fn into_result(self) -> Result<(), String>;
}

impl Outcome for () {
    fn into_result(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: Debug> Outcome for Result<(), E> {
    fn into_result(self) -> Result<(), String> {
        self.map_err(|error| format!("{error:?}"))
    }
}

/// A test by its name.
pub struct Test {
    name: &'static str,
    run: Box<dyn FnOnce() -> Result<(), String> + Send>,
}

impl Test {
    /// A test fails if it panics or returns an error.
    pub fn new<O: Outcome>(name: &'static str, run: impl FnOnce() -> O + Send + 'static) -> Test {
        Test {
            name,
            run: Box::new(|| run().into_result()),
        }
    }
}

/// Carries the reason out of a test that cannot go on.
struct Unmet(String);

/// Ends a running test because the machine lacks something that only the test itself could find out. The test counts as ignored,
/// not as failed. Name what a test needs in [`main!`](crate::main) instead wherever that is possible.
///
/// Only for tests that [`main!`](crate::main!) or [`run!`](crate::run!) runs, and on the test's own thread.
pub fn unmet(why: impl Display) -> ! {
    resume_unwind(Box::new(Unmet(why.to_string())))
}

/// How many tests were left out for each reason.
#[derive(Default)]
struct LeftOut(Mutex<BTreeMap<String, usize>>);

impl LeftOut {
    /// What becomes of a test whose need is not met.
    fn add(&self, why: &str) -> Result<Completion, Failed> {
        let why = one_line(why);
        if std::env::var_os(RUN_ALL).is_some_and(|value| value == "1") {
            return Err(format!("{why}, and {RUN_ALL} is set").into());
        }
        let mut reasons = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *reasons.entry(why.clone()).or_default() += 1;
        Ok(Completion::ignored_with(why))
    }

    fn tell(&self) {
        let reasons = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (why, count) in &*reasons {
            eprintln!("ignored {count}: {why}");
        }
    }
}

fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.join(" ")
}

/// Runs the tests as the arguments of the process say, which are those of Rust's own test runner. Use [`main!`](crate::main).
pub fn run(groups: Vec<(Need, Vec<Test>)>) -> ExitCode {
    run_at_once(None, groups)
}

/// As [`run`], so many tests at once if the arguments and the environment do not say; none: one for each CPU. More are for tests that
/// mostly wait.
pub fn run_at_once(threads: Option<usize>, groups: Vec<(Need, Vec<Test>)>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    if arguments.test_threads.is_none() {
        let asked = std::env::var("RUST_TEST_THREADS").ok();
        let asked = asked.and_then(|number| number.parse().ok());
        arguments.test_threads = asked.or(threads);
    }
    let left_out = Arc::new(LeftOut::default());
    let mut trials = Vec::new();
    for (need, tests) in groups {
        let need = Arc::new(need);
        for test in tests {
            trials.push(trial(test, Arc::clone(&need), Arc::clone(&left_out)));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    left_out.tell();
    conclusion.exit_code()
}

fn trial(test: Test, need: Arc<Need>, left_out: Arc<LeftOut>) -> Trial {
    let (name, is_on_request) = (test.name, need.is_on_request());
    let run = move || match need.met() {
        Ok(()) => run_apart(test, &left_out),
        Err(why) => left_out.add(why),
    };
    Trial::ignorable_test(name, run).with_ignored_flag(is_on_request)
}

/// On a thread of its own that has the test's name, as Rust's own test runner does: what a test changes of its thread, such as the
/// network namespace, ends with it.
fn run_apart(test: Test, left_out: &LeftOut) -> Result<Completion, Failed> {
    let thread = thread::Builder::new().name(test.name.to_owned());
    match thread.spawn(test.run).expect("a thread").join() {
        Ok(result) => Ok(result.map(|()| Completion::Completed)?),
        Err(panic) => match panic.downcast::<Unmet>() {
            Ok(unmet) => left_out.add(&unmet.0),
            Err(other) => resume_unwind(other),
        },
    }
}

/// Whether a source has a function marked for Rust's own test runner, which would never run in a file with a runner of its own.
pub const fn has_test_attribute(source: &str) -> bool {
    let (source, mark) = (source.as_bytes(), b"#[test]\n");
    let mut at = 1;
    while at + mark.len() <= source.len() {
        let mut same = 0;
        while same < mark.len() && source[at + same] == mark[same] {
            same += 1;
        }
        if same == mark.len() && matches!(source[at - 1], b'\n' | b' ') {
            return true;
        }
        at += 1;
    }
    false
}

/// The `main` of a test file whose tests need something of the machine. The file is a `[[test]]` with `harness = false`.
///
/// ```no_run
/// # mod file { // A file of its own in `tests/`.
/// fn a_bed_is_made() {}
/// fn a_name_is_short() -> Result<(), std::fmt::Error> {
///     Ok(())
/// }
///
/// # #[cfg(any())]
/// unbloat_testkit::main! {
///     always() => [a_name_is_short],
///     root("a bed") => [a_bed_is_made],
/// }
/// # }
/// # fn main() {}
/// ```
///
/// Tests are plain functions without `#[test]`; each stands in the list. The compiler warns of a function that is in no list
/// (`dead_code`), and refuses `#[test]`, which would mean nothing here. What may stand before the arrow is in [`needs`](crate::needs).
#[macro_export]
macro_rules! main {
    ($($groups:tt)*) => {
        fn main() -> ::std::process::ExitCode {
            $crate::run! { $($groups)* }
        }
    };
}

/// As [`main!`](crate::main), for a file that has something to do before: an expression of type `ExitCode`. The file must be
/// `tests/NAME.rs`, because it is searched for `#[test]`.
#[macro_export]
macro_rules! run {
    ($($need:expr => [$($test:path),+ $(,)?]),+ $(,)?) => {{
        const _: () = assert!(
            !$crate::has_test_attribute(include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/tests/",
                env!("CARGO_CRATE_NAME"),
                ".rs"
            ))),
            "#[test] means nothing in this file: put the function into the list of its main"
        );
        #[allow(unused_imports)]
        use $crate::needs::*;
        $crate::run(vec![$((
            $need,
            vec![$($crate::Test::new(stringify!($test), $test)),+],
        )),+])
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_several_lines_is_one_line() {
        assert_eq!(one_line("no tc\n  here\n"), "no tc here");
    }

    #[test]
    fn attributes_that_would_mean_nothing_are_found() {
        assert!(has_test_attribute("use x;\n\n#[test]\nfn a() {}\n"));
        assert!(has_test_attribute(
            "mod a {\n    #[test]\n    fn b() {}\n}\n"
        ));
        assert!(!has_test_attribute("//! No `#[test]`\nfn a() {}\n"));
    }
}
