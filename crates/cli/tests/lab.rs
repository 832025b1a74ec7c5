//! `unbloat lab run` as its user sees it. Needs root; without it, it says so and passes.

use std::path::Path;
use std::process::{Command, Output};

const SCENARIO: &str = r#"
[scenario]
name = "short"
duration = "2 s"
warmup = "500 ms"

[link.down]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", limit = "100 packets" }

[link.up]
rate = "10 Mbit/s"
delay = "10 ms"

[[flow]]
name = "download"
app = "bulk"

[score]
goodput = "> 1 Gbit/s"
"lab.lateness_p99_us" = "< 1000000"
"#;

fn lab(folder: &Path, arguments: &[&str]) -> Output {
    let scenario = folder.join("short.toml");
    std::fs::write(&scenario, SCENARIO).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_unbloat"));
    command.args(["lab", "run"]).arg(&scenario).args(arguments);
    command.current_dir(folder).output().unwrap()
}

fn a_run_has_series_captures_analyses_and_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let beside = "client: echo beside the flows";
    let done = lab(
        folder.path(),
        &["--analyze", "--out", "run", "--exec", beside],
    );
    let text = String::from_utf8_lossy(&done.stdout);
    let told = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(4), "{text}{told}");
    assert!(
        text.contains("BROKEN  goodput > 1 Gbit/s: download goodput_bps is 9."),
        "{text}"
    );
    assert!(
        text.contains("kept    lab.lateness_p99_us < 1000000"),
        "{text}"
    );
    assert!(told.contains("beside the flows"), "{told}");
    let run = folder.path().join("run");
    for name in [
        "results",
        "queue_series",
        "window_series",
        "tcp_info_series",
        "lateness",
    ] {
        assert!(run.join(format!("{name}.parquet")).exists(), "{name}");
    }
    for name in ["client", "server", "path-client-side", "path-server-side"] {
        assert!(run.join(format!("{name}.pcap")).exists(), "{name}");
        assert!(
            run.join("analyze")
                .join(name)
                .join("flows.parquet")
                .exists(),
            "{name}"
        );
    }
    let info: serde_json::Value =
        serde_json::from_slice(&std::fs::read(run.join("run.json")).unwrap()).unwrap();
    assert_eq!(info["clock"], "real");
    assert!(info["kernel"].as_str().unwrap().starts_with("Linux "));
    let controls = &info["options"]["lab.congestion_controls"];
    assert_eq!(controls[0]["server"], "cubic");
    let settings = &info["options"]["lab.settings.server"];
    assert_eq!(settings["net/ipv4/tcp_sack"], "1");
}

fn captures_of_a_sweep_and_commands_on_unknown_hosts_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, told) in [
        (
            ["--capture", "full", "--repeats", "2"],
            "captures need a single run",
        ),
        (
            ["--no-run", "--quiet", "--exec", "phone: true"],
            "the hosts are server, client",
        ),
    ] {
        let done = lab(folder.path(), &arguments);
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(
            done.status.code() == Some(1) && error.contains(told),
            "{error}"
        );
    }
}

unbloat_testkit::main! {
    root("an emulated path") => [
        a_run_has_series_captures_analyses_and_bounds,
        captures_of_a_sweep_and_commands_on_unknown_hosts_are_refused,
    ],
}
