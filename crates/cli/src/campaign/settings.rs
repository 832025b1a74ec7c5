//! Converts a cell's settings to the options of a test.

use crate::exit::Failure;
use crate::trust::authorities;
use std::fmt::Display;
use std::path::Path;
use unbloat_campaign::{Flows, Http, Load, PlanName, Settings, Stack};
use unbloat_loadtest::apps::App;
use unbloat_loadtest::{Options, Plan, Target, Trust};

pub fn options(settings: &Settings, token: Option<String>) -> Result<Options, Failure> {
    let server = settings.server.as_deref().unwrap_or_default();
    let mut options = Options::of(server.parse::<Target>().map_err(of("server"))?);
    let apps = settings.workloads.iter().flatten();
    let apps = apps.map(|(name, config)| App::new(name.clone(), config.clone()));
    options.apps = apps.collect::<Result<_, _>>().map_err(of("workloads"))?;
    options.plan = plan(settings, !options.apps.is_empty());
    options.echo = settings.echo.as_deref().map(echo).transpose()?;
    options.trust = Trust {
        ca: settings
            .ca
            .as_ref()
            .map(|ca| authorities(Path::new(ca)).map_err(of("ca")))
            .transpose()?,
        pin: settings.pin.as_deref().map(pin).transpose()?,
        is_blind: settings.insecure.unwrap_or(false),
    };
    options.token = token;
    options
        .congestion_control
        .clone_from(&settings.congestion_control);
    options.receive_window = settings.receive_window;
    if let Some(http) = settings.http {
        options.http = match http {
            Http::One => unbloat_loadtest::Http::One,
            Http::Two => unbloat_loadtest::Http::Two,
            Http::Three => unbloat_loadtest::Http::Three,
        };
    }
    if let Some(Flows::Fixed(flows)) = settings.flows {
        options.flows = unbloat_loadtest::Flows::Fixed(flows);
    }
    Ok(options)
}

/// The requested stages, after an idle one. Applications do not run in the first idle stage, so a second one measures them without load
/// for comparison.
fn plan(settings: &Settings, has_apps: bool) -> Plan {
    let stack = match settings.stack {
        Some(Stack::AsIs) => unbloat_loadtest::Stack::AsIs,
        Some(Stack::NetworkOnly) | None => unbloat_loadtest::Stack::NetworkOnly,
    };
    let mut plan = match settings.plan {
        Some(PlanName::Glance) => Plan::glance(&[stack]),
        Some(PlanName::Draft) => Plan::draft(&[stack]),
        Some(PlanName::Usual) | None => Plan::usual(&[stack]),
    };
    let wants = |load| {
        settings
            .loads
            .as_ref()
            .is_none_or(|loads| loads.contains(&load))
    };
    if has_apps && wants(Load::Idle) {
        plan = plan.with_idle_for_apps();
    }
    plan.stages.retain(|stage| match stage.load {
        unbloat_loadtest::Load::Idle => true,
        unbloat_loadtest::Load::Down => wants(Load::Down),
        unbloat_loadtest::Load::Up => wants(Load::Up),
        unbloat_loadtest::Load::Both => wants(Load::Both),
    });
    plan
}

/// Names the setting that is wrong.
fn of<E: Display>(setting: &str) -> impl Fn(E) -> Failure {
    move |error| format!("{setting}: {error}").into()
}

fn echo(text: &str) -> Result<(String, u16), Failure> {
    let (host, port) = text.rsplit_once(':').ok_or("echo: expected HOST:PORT")?;
    let port = port.parse().map_err(|_| "echo: expected HOST:PORT")?;
    Ok((host.trim_matches(['[', ']']).to_owned(), port))
}

fn pin(text: &str) -> Result<[u8; 32], Failure> {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b':').collect();
    let wrong = "pin: expected 64 hexadecimal digits, as `unbloat serve` prints them";
    let nibble = |digit: u8| char::from(digit).to_digit(16).ok_or(wrong);
    if digits.len() != 64 {
        return Err(wrong.into());
    }
    let mut pin = [0; 32];
    for (byte, pair) in pin.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = (nibble(pair[0])? * 16 + nibble(pair[1])?) as u8;
    }
    Ok(pin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_campaign::Campaign;

    fn read(text: &str) -> Result<Options, Failure> {
        let campaign = Campaign::parse(&format!("server = \"box\"\n{text}")).unwrap();
        options(&campaign.cells()[0].settings, None)
    }

    fn loads(text: &str) -> Vec<&'static str> {
        let options = read(text).unwrap();
        options
            .plan
            .stages
            .iter()
            .map(|stage| stage.load.name())
            .collect()
    }

    #[test]
    fn an_idle_stage_comes_first_and_applications_have_one_of_their_own() {
        assert_eq!(loads(""), ["idle", "down", "up", "both"]);
        assert_eq!(loads("loads = \"up\""), ["idle", "up"]);
        assert_eq!(
            loads("loads = [\"up\", \"idle\"]\nworkloads = \"voice\""),
            ["idle", "idle", "up"]
        );
        assert_eq!(
            loads("loads = \"up\"\nworkloads = \"voice\""),
            ["idle", "up"]
        );
    }

    #[test]
    fn every_setting_reaches_the_test() {
        let text = format!(
            "http = \"1.1\"\nflows = 3\nreceive_window = \"64 KiB\"\ncongestion_control = \"reno\"\nplan = \"glance\"\nstack = \"as_is\"\necho = \"other:2112\"\npin = \"{}\"",
            "ab".repeat(32)
        );
        let options = read(&text).unwrap();
        assert_eq!(options.flows, unbloat_loadtest::Flows::Fixed(3));
        assert_eq!(options.http, unbloat_loadtest::Http::One);
        assert_eq!(options.echo, Some(("other".to_owned(), 2112)));
        assert_eq!(options.trust.pin, Some([0xab; 32]));
        assert_eq!(options.plan.name, "glance");
        assert_eq!(options.plan.stages[0].stack, unbloat_loadtest::Stack::AsIs);
        for (setting, why) in [("pin = \"12\"", "pin: "), ("echo = \"x\"", "echo: ")] {
            let refused = read(setting).unwrap_err().to_string();
            assert!(refused.starts_with(why), "{refused}");
        }
    }
}
