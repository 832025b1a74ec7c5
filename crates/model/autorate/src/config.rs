//! What cake-autorate's configuration files (`config.primary.sh`) say, as far as it is of use here.
//!
//! They are shell scripts; nothing is executed. Assignments of numbers, of sums and products of numbers, of words and of lists are read. What else a
//! file says is told by name: no key is passed over in silence.

use crate::law::cake_autorate::Params;
use unbloat_units::{Both, Delta, Direction, Rate};

/// Values of a configuration file. Devices and rates that it does not name are none.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub dl_if: Option<String>,
    pub ul_if: Option<String>,
    pub reflectors: Vec<String>,
    /// Whether the rate of a direction may be changed: `adjust_dl_shaper_rate`.
    pub adjusts: Both<bool>,
    /// Keys, and first words of commands, that change nothing here.
    pub unused: Vec<String>,
    /// Assignments of keys that would change something, with values that only a shell could tell or that are out of range.
    pub unreadable: Vec<String>,
    rates_kbps: Both<[Option<u64>; 3]>,
    thresholds_ms: Both<[Option<f64>; 3]>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            dl_if: None,
            ul_if: None,
            reflectors: Vec::new(),
            adjusts: Both::new(true, true),
            unused: Vec::new(),
            unreadable: Vec::new(),
            rates_kbps: Both::default(),
            thresholds_ms: Both::default(),
        }
    }
}

const ADJUSTS: Both<&str> = Both::new("adjust_dl_shaper_rate", "adjust_ul_shaper_rate");
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
/// So many are named, and as much of a value is shown.
const MOST_NAMED: usize = 100;
const SHOWN_CHARS: usize = 60;
/// Beyond these a value is a slip of the pen.
const MOST_KBPS: f64 = 1e9;
const MOST_MS: f64 = 60_000.0;
/// Less is no time for our clocks.
const LEAST_MS: f64 = 0.001;

impl Config {
    pub fn read(text: &str) -> Config {
        let mut config = Config::default();
        for statement in statements(text) {
            config.take(&statement);
        }
        config
    }

    fn take(&mut self, statement: &str) {
        let is_name = |key: &str| {
            key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !key.is_empty()
        };
        let assigned = statement.split_once('=').filter(|(key, _)| is_name(key));
        let read = match assigned {
            Some((key, value)) => self.assign(key, value),
            None => Some(false),
        };
        let (list, name) = match read {
            Some(true) => return,
            Some(false) => (
                &mut self.unused,
                assigned.map_or_else(|| first_word(statement), |(key, _)| key),
            ),
            None => (&mut self.unreadable, statement),
        };
        let name: String = name.chars().take(SHOWN_CHARS).collect();
        if list.len() < MOST_NAMED && !list.contains(&name) {
            list.push(name);
        }
    }

    /// Whether the key is of use; none: its value cannot be read.
    fn assign(&mut self, key: &str, value: &str) -> Option<bool> {
        if let Some((direction, _)) = ADJUSTS.entries().find(|(_, name)| **name == key) {
            self.adjusts[direction] = number(value)? != 0.0;
        } else if let Some((direction, at)) = place(&RATES, key) {
            let kbps = number(value)?;
            let is_rate = (0.0..=MOST_KBPS).contains(&kbps) && kbps.fract() == 0.0;
            self.rates_kbps[direction][at] = Some(is_rate.then_some(kbps as u64)?);
        } else if let Some((direction, at)) = place(&THRESHOLDS, key) {
            let ms = number(value)?;
            self.thresholds_ms[direction][at] =
                Some((LEAST_MS..=MOST_MS).contains(&ms).then_some(ms)?);
        } else {
            match key {
                "dl_if" => self.dl_if = Some(word(value)?),
                "ul_if" => self.ul_if = Some(word(value)?),
                "reflectors" => {
                    let list = value.strip_prefix('(')?.strip_suffix(')')?;
                    let words = list.split_whitespace().take(MOST_REFLECTORS);
                    self.reflectors = words.map(word).collect::<Option<_>>()?;
                }
                _ => return Some(false),
            }
        }
        Some(true)
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

/// Commands, one each, without comments: a line, or what is between semicolons. Quotes and parentheses may go over several lines.
fn statements(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let (mut quote, mut depth, mut is_comment, mut last) = (None, 0_u32, false, '\n');
    for c in text.chars().filter(|c| *c != '\r') {
        let is_start = last.is_whitespace() || matches!(last, ';' | '(');
        last = c;
        match (c, quote) {
            _ if is_comment && c != '\n' => continue,
            ('#', None) if is_start => {
                is_comment = true;
                continue;
            }
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('(', None) => depth += 1,
            (')', None) => depth = depth.saturating_sub(1),
            ('\n' | ';', None) if depth == 0 => {
                all.push(String::new());
                is_comment = false;
                continue;
            }
            _ => {}
        }
        is_comment = false;
        if let Some(statement) = all.last_mut() {
            statement.push(c);
        }
    }
    let trimmed = all.iter().map(|statement| statement.trim().to_owned());
    trimmed.filter(|statement| !statement.is_empty()).collect()
}

fn first_word(statement: &str) -> &str {
    statement.split_whitespace().next().unwrap_or_default()
}

/// A word without its quotes; none if a shell would put something else in its place.
fn word(value: &str) -> Option<String> {
    let plain = value.trim_matches(['"', '\'']);
    let is_plain = |c: char| !c.is_whitespace() && !"$`\\\"'(){}*?<>|&".contains(c);
    plain.chars().all(is_plain).then(|| plain.to_owned())
}

/// A number, or `$((...))` of whole numbers.
fn number(value: &str) -> Option<f64> {
    let plain = value.trim_matches(['"', '\'']);
    let sum = plain
        .strip_prefix("$((")
        .and_then(|rest| rest.strip_suffix("))"));
    match sum {
        Some(sum) => Arithmetic(sum.as_bytes()).value().map(|whole| whole as f64),
        None => word(value)?.parse().ok(),
    }
}

/// What is left of a sum to be read.
struct Arithmetic<'a>(&'a [u8]);

impl Arithmetic<'_> {
    const DEEPEST: u32 = 16;

    fn value(mut self) -> Option<i64> {
        let value = self.sum(Self::DEEPEST)?;
        self.next().is_none().then_some(value)
    }

    fn next(&mut self) -> Option<u8> {
        self.0 = self.0.trim_ascii_start();
        self.0.first().copied()
    }

    fn sum(&mut self, depth: u32) -> Option<i64> {
        let mut value = self.product(depth)?;
        while let Some(sign @ (b'+' | b'-')) = self.next() {
            self.0 = &self.0[1..];
            let more = self.product(depth)?;
            value = match sign {
                b'+' => value.checked_add(more)?,
                _ => value.checked_sub(more)?,
            };
        }
        Some(value)
    }

    fn product(&mut self, depth: u32) -> Option<i64> {
        let mut value = self.one(depth)?;
        while let Some(sign @ (b'*' | b'/')) = self.next() {
            self.0 = &self.0[1..];
            let by = self.one(depth)?;
            value = match sign {
                b'*' => value.checked_mul(by)?,
                _ => value.checked_div(by)?,
            };
        }
        Some(value)
    }

    fn one(&mut self, depth: u32) -> Option<i64> {
        if self.next()? == b'(' {
            self.0 = &self.0[1..];
            let value = self.sum(depth.checked_sub(1)?)?;
            (self.next()? == b')').then(|| self.0 = &self.0[1..])?;
            return Some(value);
        }
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit());
        let (number, rest) = self.0.split_at(digits.count());
        self.0 = rest;
        // A shell reads a leading zero as octal.
        let is_octal = number.len() > 1 && number[0] == b'0';
        (!is_octal).then_some(())?;
        std::str::from_utf8(number).ok()?.parse().ok()
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
        assert_eq!(config.unreadable, ["max_ul_shaper_rate_kbps=$(reboot)"]);
        assert_eq!(config.unused, ["unknown"]);
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
    fn directions_that_are_not_to_be_adjusted_are_known() {
        let config = Config::read("adjust_dl_shaper_rate=0\nadjust_ul_shaper_rate=1 # yes\n");
        assert_eq!(config.adjusts, Both::new(false, true));
        assert_eq!(Config::read("").adjusts, Both::new(true, true));
    }

    #[test]
    fn lists_go_over_lines_and_commands_share_them() {
        let text = "reflectors=( # ours\n\"1.1.1.1\" \"1.0.0.1\"  # Cloudflare\n\t9.9.9.9\n)\r\ndl_if=a;ul_if='b'; min_dl_shaper_rate_kbps=2000";
        let config = Config::read(text);
        assert_eq!(config.reflectors, ["1.1.1.1", "1.0.0.1", "9.9.9.9"]);
        assert_eq!(
            (config.dl_if, config.ul_if),
            (Some("a".to_owned()), Some("b".to_owned()))
        );
        assert_eq!(config.rates_kbps.down[0], Some(2_000));
        assert_eq!(config.unused, Vec::<String>::new());
    }

    #[test]
    fn sums_of_numbers_are_computed_and_all_else_is_named() {
        let rate = |value: &str| {
            let config = Config::read(&format!("min_dl_shaper_rate_kbps={value}"));
            (config.rates_kbps.down[0], config.unreadable.len())
        };
        assert_eq!(rate("$((2*1500))"), (Some(3_000), 0));
        assert_eq!(rate("\"$(( (20 + 4) * 1000 / 3 - 1 ))\""), (Some(7_999), 0));
        for value in [
            "$((1/0))",
            "$((09))",
            "$((x+1))",
            "$((1+))",
            "$((9223372036854775807*2))",
            "-1",
            "1.5",
            "$x",
            "`id`",
            "",
            "99999999999",
            "(1)",
        ] {
            assert_eq!(rate(value), (None, 1), "{value}");
        }
        let deep = format!("$(({}1{}))", "(".repeat(99), ")".repeat(99));
        assert_eq!(rate(&deep), (None, 1));
        let config =
            Config::read("dl_if=$(uci get x)\nif true; then\nreflectors=(1.1.1.1\nul_if=b\n");
        assert_eq!(
            config.unreadable,
            ["dl_if=$(uci get x)", "reflectors=(1.1.1.1\nul_if=b"]
        );
        assert_eq!(config.unused, ["if", "then"]);
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
