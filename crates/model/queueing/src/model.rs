//! What every model answers.

/// A bottleneck in equilibrium. Times are in mean transmission times (1/mu).
pub trait Model {
    /// Share of packets that find the buffer full.
    fn loss(&self) -> f64;

    /// Share of time in which the link sends: carried rate over the link's.
    fn utilisation(&self) -> f64;

    /// Packets at the bottleneck, averaged over time, the one being sent included (`E[Q]`, Eq. 3).
    fn mean_number(&self) -> f64;

    /// Share of the accepted packets that wait for longer than `time` before they are sent.
    fn wait_above(&self, time: f64) -> f64;

    /// Share of the accepted packets that are gone only after more than `time`.
    fn delay_above(&self, time: f64) -> f64;

    /// Wait and transmission of an accepted packet (`E[D]`): Little's law with the *accepted* rate,
    /// which in units of mu is the utilisation. Eq. 2 takes the offered rate.
    fn mean_delay(&self) -> f64 {
        self.mean_number() / self.utilisation()
    }

    fn mean_wait(&self) -> f64 {
        (self.mean_delay() - 1.0).max(0.0)
    }

    /// The delay that the share `q` of accepted packets does not exceed.
    fn delay_quantile(&self, q: f64) -> f64 {
        crossing(q, self.mean_delay(), |time| self.delay_above(time))
    }

    /// The wait that the share `q` of accepted packets does not exceed; 0 if so many do not wait.
    fn wait_quantile(&self, q: f64) -> f64 {
        crossing(q, self.mean_delay(), |time| self.wait_above(time))
    }
}

/// Relative width of what holds the answer.
const WIDTH: f64 = 1e-12;

/// The smallest time above which only the share 1 - q lies; `above` falls, from at most 1 to 0.
///
/// Searched on the logarithm of the share, which for these queues is close to a straight line:
/// false position finds it in a few steps, and each step that does not halve the bracket is
/// followed by one that does.
fn crossing(q: f64, guess: f64, above: impl Fn(f64) -> f64) -> f64 {
    let rest = 1.0 - q;
    if rest <= 0.0 {
        return f64::INFINITY;
    }
    let excess = |time: f64| (above(time) / rest).ln();
    let (mut low, mut f_low) = (0.0, excess(0.0));
    if f_low <= 0.0 {
        return 0.0;
    }
    let (mut high, mut f_high) = (guess, excess(guess));
    while f_high > 0.0 {
        (low, f_low) = (high, f_high);
        high *= 2.0;
        f_high = excess(high);
    }
    let mut halve = false;
    while high - low > WIDTH * high {
        let straight = low + (high - low) * f_low / (f_low - f_high);
        let time = if halve || !(straight > low && straight < high) {
            0.5 * (low + high)
        } else {
            straight
        };
        if time <= low || time >= high {
            break;
        }
        let before = high - low;
        let f = excess(time);
        if f > 0.0 {
            (low, f_low) = (time, f);
        } else {
            (high, f_high) = (time, f);
        }
        halve = high - low > 0.5 * before;
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crossing_is_found_on_curves_with_jumps_bends_and_ends() {
        let exponential = crossing(0.99, 1.0, |t| (-t).exp());
        assert!((exponential - 100f64.ln()).abs() < 1e-11, "{exponential}");
        let uniform = crossing(0.75, 0.1, |t| (1.0 - t).max(0.0));
        assert!((uniform - 0.75).abs() < 1e-11, "{uniform}");
        let fixed = crossing(0.5, 1.0, |t| if t < 3.0 { 1.0 } else { 0.0 });
        assert!((fixed - 3.0).abs() < 1e-11, "{fixed}");
        assert_eq!(crossing(0.1, 1.0, |t| 0.5 * (-t).exp()), 0.0);
    }
}
