//! The runner with needs that are met, are not met, and are found out by the test. Each case runs as a process of this program.

use std::process::Command;

/// Takes this machine's luck away.
const UNLUCKY: &str = "UNBLOAT_TESTKIT_UNLUCKY";

fn has_luck() -> Result<(), String> {
    match std::env::var_os(UNLUCKY) {
        Some(_) => Err("no luck\n here".to_owned()),
        None => Ok(()),
    }
}

fn needs_luck() {}

fn finds_out_about_luck() {
    if let Err(why) = has_luck() {
        unbloat_testkit::unmet(why);
    }
}

fn may_be_an_error() -> Result<(), String> {
    has_luck()
}

fn may_panic() {
    has_luck().unwrap();
}

fn is_on_a_thread_that_has_its_name() {
    let thread = std::thread::current();
    assert_eq!(thread.name(), Some("is_on_a_thread_that_has_its_name"));
}

fn runs_when_it_is_asked_for() {
    println!("\nit was asked for");
}

/// Exit code, standard output and standard error of this program.
fn run(arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments).env_remove("UNBLOAT_RUN_ALL");
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    let [said, told] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code(), said, told)
}

fn what_lacks_its_need_is_ignored_with_the_reason() {
    for test in ["needs_luck", "finds_out_about_luck"] {
        let (code, said, told) = run(&["--exact", test], &[(UNLUCKY, "")]);
        assert_eq!(code, Some(0), "{said} {told}");
        assert!(said.contains("0 passed; 0 failed; 1 ignored"), "{said}");
        assert_eq!(told, "ignored 1: no luck here\n");
    }
    let (_, said, told) = run(&["luck"], &[(UNLUCKY, "")]);
    assert!(said.contains("0 passed; 0 failed; 2 ignored"), "{said}");
    assert_eq!(told, "ignored 2: no luck here\n");
}

fn where_all_must_run_it_fails() {
    for test in ["needs_luck", "finds_out_about_luck"] {
        let variables = [(UNLUCKY, ""), ("UNBLOAT_RUN_ALL", "1")];
        let (code, said, _) = run(&["--exact", test], &variables);
        assert_eq!(code, Some(101), "{said}");
        assert!(said.contains("no luck here"), "{said}");
    }
}

fn where_all_must_run_and_can_it_passes() {
    for test in ["needs_luck", "finds_out_about_luck"] {
        let (code, said, told) = run(&["--exact", test], &[("UNBLOAT_RUN_ALL", "1")]);
        assert_eq!((code, &told[..]), (Some(0), ""), "{said}");
        assert!(said.contains("1 passed; 0 failed; 0 ignored"), "{said}");
    }
}

fn errors_and_panics_fail() {
    for test in ["may_be_an_error", "may_panic"] {
        let (code, said, _) = run(&["--exact", test], &[(UNLUCKY, "")]);
        assert_eq!(code, Some(101), "{said}");
        assert!(said.contains("0 passed; 1 failed; 0 ignored"), "{said}");
        assert!(said.contains("no luck"), "{said}");
    }
}

fn what_runs_on_request_runs_on_request_alone() {
    let name = "runs_when_it_is_asked_for";
    let (_, said, _) = run(&["--exact", name], &[]);
    assert!(said.contains("0 passed; 0 failed; 1 ignored"), "{said}");
    let (_, asked, _) = run(&["--exact", name, "--ignored"], &[]);
    assert!(asked.contains("\nit was asked for\n"), "{asked}");
    assert!(asked.contains("1 passed; 0 failed; 0 ignored"), "{asked}");
}

fn nothing_is_looked_at_for_a_list() {
    let (code, said, told) = run(&["--list"], &[(UNLUCKY, ""), ("UNBLOAT_RUN_ALL", "1")]);
    assert_eq!((code, &told[..]), (Some(0), ""));
    assert!(said.contains("needs_luck: test\n"), "{said}");
}

unbloat_testkit::main! {
    always() => [
        finds_out_about_luck,
        may_be_an_error,
        may_panic,
        is_on_a_thread_that_has_its_name,
        what_lacks_its_need_is_ignored_with_the_reason,
        where_all_must_run_it_fails,
        where_all_must_run_and_can_it_passes,
        errors_and_panics_fail,
        what_runs_on_request_runs_on_request_alone,
        nothing_is_looked_at_for_a_list,
    ],
    always().and(check(has_luck)) => [needs_luck],
    on_request() => [runs_when_it_is_asked_for],
}
