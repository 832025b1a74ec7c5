//! Quality of speech by the E-model (ITU-T G.107), reduced to what a network decides: delay and loss.
//!
//! All other parameters stand at the defaults of G.107, with which R is 93.2 without any impairment.
//! Delay: `Id` as G.107 gives it for talker echo cancelled (`Idd`, section 7.4). Loss: `Ie,eff` of section 7.5 with the
//! values of G.113 for G.711 with packet loss concealment (`Ie` 0, `Bpl` 25.1), random loss (`BurstR` 1).
//!
//! Where this differs: burst loss is not told apart from random loss, and late packets are counted as lost by the caller
//! with a playout buffer of its choice.

use unbloat_units::Delta;

/// What the network does to a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impairments {
    /// From mouth to ear, in one direction.
    pub delay: Delta,
    /// Share of packets lost or late, 0 to 1.
    pub loss: f64,
}

/// R without impairments at the defaults of G.107.
const R0: f64 = 93.2;
/// Robustness of G.711 with concealment against loss (G.113 Appendix I).
const BPL: f64 = 25.1;

/// Transmission rating R, 0 to 93.2.
pub fn r_factor(impairments: Impairments) -> f64 {
    let r = R0 - delay_impairment(impairments.delay) - loss_impairment(impairments.loss);
    r.clamp(0.0, 100.0)
}

/// Mean opinion score for R (G.107 Annex B), 1 to 4.5.
pub fn mos(r: f64) -> f64 {
    match r {
        ..=0.0 => 1.0,
        100.0.. => 4.5,
        _ => (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0),
    }
}

/// `Idd` of G.107 (7-27): nothing up to 100 ms.
fn delay_impairment(delay: Delta) -> f64 {
    let ms = delay.as_ms();
    if ms <= 100.0 {
        return 0.0;
    }
    let x = (ms / 100.0).log2();
    25.0 * ((1.0 + x.powi(6)).powf(1.0 / 6.0) - 3.0 * (1.0 + (x / 3.0).powi(6)).powf(1.0 / 6.0)
        + 2.0)
}

/// `Ie,eff` of G.107 (7-29) with `Ie` 0 and random loss.
fn loss_impairment(loss: f64) -> f64 {
    let percent = 100.0 * loss.clamp(0.0, 1.0);
    95.0 * percent / (percent + BPL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rated(delay_ms: i64, loss: f64) -> f64 {
        r_factor(Impairments {
            delay: Delta::ms(delay_ms),
            loss,
        })
    }

    /// MOS 4.41 at R 93.2 and the table of G.107 Annex B (R 90, 80, 70, 60, 50 are MOS 4.34, 4.03, 3.60, 3.10, 2.58).
    #[test]
    fn mos_follows_the_table_of_the_recommendation() {
        for (r, expected) in [
            (93.2, 4.41),
            (90.0, 4.34),
            (80.0, 4.03),
            (70.0, 3.60),
            (60.0, 3.10),
            (50.0, 2.58),
        ] {
            assert!((mos(r) - expected).abs() < 0.01, "R {r} gives {}", mos(r));
        }
    }

    #[test]
    fn a_call_suffers_little_up_to_150_ms_and_much_beyond_400() {
        assert_eq!(rated(100, 0.0), 93.2);
        assert!(rated(150, 0.0) > 90.0);
        // G.114: at 400 ms users are dissatisfied (R about 70 at most).
        assert!(
            (60.0..72.0).contains(&rated(400, 0.0)),
            "{}",
            rated(400, 0.0)
        );
        // 1 % of loss costs 95 * 1 / 26.1 of the rating.
        assert!((93.2 - rated(0, 0.01) - 95.0 / 26.1).abs() < 1e-9);
    }

    #[test]
    fn worse_networks_never_rate_better() {
        let delays = [0, 50, 100, 101, 200, 400, 1_000, 10_000];
        assert!(
            delays
                .windows(2)
                .all(|w| rated(w[0], 0.0) >= rated(w[1], 0.0))
        );
        assert!(
            (0..100)
                .all(|p| rated(50, f64::from(p) / 100.0) >= rated(50, f64::from(p + 1) / 100.0))
        );
        assert_eq!(mos(rated(10_000, 1.0)), 1.0);
    }
}
