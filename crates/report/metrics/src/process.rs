//! What Prometheus' client libraries tell of their process, under the same names.

use crate::{Page, Unit};
use std::fs;

/// This process and program: `process_*`, and `unbloat_build_info`.
pub fn process_page(version: &str, command: &str) -> Page {
    let mut page = Page::default();
    page.info("unbloat_build", "The program and its command.")
        .sample(&[("version", version), ("command", command)], 1.0);
    let Some(seen) = fs::read_to_string("/proc/self/stat")
        .ok()
        .and_then(|stat| read(&stat))
    else {
        return page;
    };
    let tick = rustix::param::clock_ticks_per_second() as f64;
    page.counter(
        "process_cpu",
        Unit::Seconds,
        "CPU time of this process, user and system.",
    )
    .value(seen.cpu_ticks / tick);
    let memory = seen.pages * rustix::param::page_size() as f64;
    page.gauge(
        "process_resident_memory",
        Unit::Bytes,
        "Resident memory of this process.",
    )
    .value(memory);
    let booted = fs::read_to_string("/proc/stat")
        .ok()
        .and_then(|text| boot_time(&text));
    page.gauge(
        "process_start_time",
        Unit::Seconds,
        "Start of this process, since 1970.",
    )
    .value(booted.map(|booted| booted + seen.start_ticks / tick));
    page
}

struct Seen {
    cpu_ticks: f64,
    start_ticks: f64,
    pages: f64,
}

/// proc(5). The name of the program, in parentheses, may hold anything.
fn read(stat: &str) -> Option<Seen> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    // The first of these is number 3.
    let number = |at: usize| fields.get(at - 3)?.parse::<f64>().ok();
    Some(Seen {
        cpu_ticks: number(14)? + number(15)?,
        start_ticks: number(22)?,
        pages: number(24)?,
    })
}

fn boot_time(stat: &str) -> Option<f64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_all_of_them() {
        let text = process_page("1", "test").render();
        for name in [
            "unbloat_build_info{version=\"1\",command=\"test\"} 1",
            "process_cpu_seconds_total ",
            "process_resident_memory_bytes ",
            "process_start_time_seconds ",
        ] {
            assert!(text.contains(&format!("\n{name}")), "{name} in {text}");
        }
    }
}
