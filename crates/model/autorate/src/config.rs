//! What cake-autorate's configuration files (`config.primary.sh`) say, as far as it is of use here.
//!
//! They are shell scripts; nothing is executed. Lines of the form `key=value` are read, all others left alone.

use crate::law::cake_autorate::Params;
use unbloat_units::{Both, Delta, Direction, Rate};

/// Values of a configuration file. Devices and rates that it does not name are none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    pub dl_if: Option<String>,
    pub ul_if: Option<String>,
    pub reflectors: Vec<String>,
    rates_kbps: Both<[Option<u64>; 3]>,
    thresholds_ms: Both<[Option<f64>; 3]>,
}

const RATES: Both<[&str; 3]> = Both::new(
    [
        "min_dl_shaper_rate_kbps",
        "base_dl_shaper_rate_kbps",
        "max_dl_shaper_rate_kbps",
    ],
    [
        "min_ul_shaper_rate_kbps",
        "base_ul_shaper_rate_kbps",
        "max_ul_shaper_rate_kbps",
    ],
);
const THRESHOLDS: Both<[&str; 3]> = Both::new(
    [
        "dl_avg_owd_delta_max_adjust_up_thr_ms",
        "dl_owd_delta_delay_thr_ms",
        "dl_avg_owd_delta_max_adjust_down_thr_ms",
    ],
    [
        "ul_avg_owd_delta_max_adjust_up_thr_ms",
        "ul_owd_delta_delay_thr_ms",
        "ul_avg_owd_delta_max_adjust_down_thr_ms",
    ],
);
const MOST_REFLECTORS: usize = 256;
/// Beyond these a value is a slip of the pen.
const MOST_KBPS: u64 = 1_000_000_000;
const MOST_MS: f64 = 60_000.0;
/// Less is no time for our clocks.
const LEAST_MS: f64 = 0.001;

impl Config {
    pub fn read(text: &str) -> Config {
        let mut config = Config::default();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if let Some((key, value)) = line.split_once('=') {
                config.take(key.trim(), value.trim());
            }
        }
        config
    }

    fn take(&mut self, key: &str, value: &str) {
        let plain = value.trim_matches(['"', '\'']);
        match key {
            "dl_if" => self.dl_if = Some(plain.to_owned()),
            "ul_if" => self.ul_if = Some(plain.to_owned()),
            "reflectors" => {
                let words = value.trim_matches(['(', ')']).split_whitespace();
                let words = words.map(|word| word.trim_matches(['"', '\'']).to_owned());
                self.reflectors = words.take(MOST_REFLECTORS).collect();
            }
            _ => {
                if let Some(place) = place(&RATES, key) {
                    self.rates_kbps[place.0][place.1] =
                        plain.parse().ok().filter(|kbps| *kbps <= MOST_KBPS);
                }
                if let Some(place) = place(&THRESHOLDS, key) {
                    self.thresholds_ms[place.0][place.1] = plain
                        .parse()
                        .ok()
                        .filter(|ms: &f64| (LEAST_MS..=MOST_MS).contains(ms));
                }
            }
        }
    }

    /// Parameters; what is not said is as shipped.
    pub fn sides(&self) -> Both<Params> {
        let mut sides = Both::new(Params::default(), Params::shipped(Rate::mbps(35)));
        for direction in Direction::BOTH {
            let params = &mut sides[direction];
            let rates = self.rates_kbps[direction];
            let rate = |at: usize, or: Rate| rates[at].map_or(or, Rate::kbps);
            params.min_shaper_rate = rate(0, params.min_shaper_rate);
            params.base_shaper_rate = rate(1, params.base_shaper_rate).max(params.min_shaper_rate);
            params.max_shaper_rate = rate(2, params.max_shaper_rate).max(params.base_shaper_rate);
            let spans = self.thresholds_ms[direction];
            let span =
                |at: usize, or: Delta| spans[at].map_or(or, |ms| Delta::from_secs_f64(ms / 1e3));
            params.avg_owd_delta_max_adjust_up_thr =
                span(0, params.avg_owd_delta_max_adjust_up_thr);
            params.owd_delta_delay_thr = span(1, params.owd_delta_delay_thr);
            params.avg_owd_delta_max_adjust_down_thr =
                span(2, params.avg_owd_delta_max_adjust_down_thr);
        }
        sides
    }
}

fn place(keys: &Both<[&str; 3]>, key: &str) -> Option<(Direction, usize)> {
    keys.entries().find_map(|(direction, names)| {
        let at = names.iter().position(|name| *name == key)?;
        Some((direction, at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_and_nothing_is_run() {
        let text = r#"
            #!/usr/bin/env bash
            dl_if=ifb-wan # download interface
            ul_if="wan"
            min_dl_shaper_rate_kbps=10000  # (Kbit/s)
            base_dl_shaper_rate_kbps=30000
            max_ul_shaper_rate_kbps=$(reboot)
            ul_owd_delta_delay_thr_ms=12.5
            reflectors=("1.1.1.1" 9.9.9.9)
            unknown=1
        "#;
        let config = Config::read(text);
        assert_eq!(
            (config.dl_if.as_deref(), config.ul_if.as_deref()),
            (Some("ifb-wan"), Some("wan"))
        );
        assert_eq!(config.reflectors, ["1.1.1.1", "9.9.9.9"]);
        let Both { down, up } = config.sides();
        assert_eq!(
            (
                down.min_shaper_rate,
                down.base_shaper_rate,
                down.max_shaper_rate
            ),
            (Rate::mbps(10), Rate::mbps(30), Rate::mbps(80))
        );
        assert_eq!(up.max_shaper_rate, Rate::mbps(35));
        assert_eq!(up.owd_delta_delay_thr, Delta::us(12_500));
    }

    #[test]
    fn rates_that_contradict_each_other_are_put_in_order() {
        let down = Config::read("min_dl_shaper_rate_kbps=90000").sides().down;
        let rates = [
            down.min_shaper_rate,
            down.base_shaper_rate,
            down.max_shaper_rate,
        ];
        assert_eq!(rates, [Rate::mbps(90); 3]);
    }
}
