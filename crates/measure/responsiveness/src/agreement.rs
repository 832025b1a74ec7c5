//! What stands for datagrams where the server echoes none: answers of its kernel, as far as independent probes agree.
//!
//! While one direction is loaded alone, ICMP echo requests, TCP handshakes and small requests on connections of their own wait in the same queue.
//! Each may be late for a reason of its own, so the delay is what two of them say:
//!
//! | late under load | what it is | delay is that of |
//! |---|---|---|
//! | all three | a queue | ICMP, which is sent most often |
//! | requests more than the others | a slow server | ICMP |
//! | ICMP more or less than the others | a hop or a host that treats ICMP otherwise | handshakes |
//! | handshakes more or less than the others | something nearer than the server answers them | ICMP |
//! | each something else | cannot be told | nobody |

use std::fmt;
use unbloat_units::{Delta, Direction};

/// Medians that differ by less, or by less than this part of the larger, agree: few probes meet a queue that rises and falls.
const NEAR: Delta = Delta::ms(10);
const NEAR_PART: i64 = 4;

/// An independent probe of the way to the server and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Witness {
    Icmp,
    Handshake,
    Request,
}

/// Median added delay of each, while this direction was loaded alone. None: too few came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    pub direction: Direction,
    pub icmp: Option<Delta>,
    pub handshake: Option<Delta>,
    pub request: Option<Delta>,
}

/// The kind of probe whose delay is reported, and the kind that confirms it in every direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    pub by: Witness,
    /// None: no other was heard.
    pub with: Option<Witness>,
}

/// One that says something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Odd {
    pub direction: Direction,
    pub who: Witness,
    pub said: Delta,
    pub by: Witness,
    pub agreed: Delta,
}

impl Witness {
    const fn name(self) -> &'static str {
        match self {
            Witness::Icmp => "ICMP echo requests",
            Witness::Handshake => "TCP handshakes",
            Witness::Request => "requests",
        }
    }
}

impl Heard {
    fn of(&self, who: Witness) -> Option<Delta> {
        match who {
            Witness::Icmp => self.icmp,
            Witness::Handshake => self.handshake,
            Witness::Request => self.request,
        }
    }
}

impl Agreement {
    /// None: nobody was heard. An error: they were, and what they say in this direction does not agree.
    pub fn of(heard: &[Heard]) -> Option<Result<Agreement, Heard>> {
        use Witness::{Handshake, Icmp, Request};
        let is_heard = |who: Witness| heard.iter().all(|one| one.of(who).is_some());
        let agree = |one: Witness, other: Witness| {
            let mut both = heard.iter().map(|of| of.of(one).zip(of.of(other)));
            both.all(|pair| pair.is_some_and(|said| is_near(said.0, said.1)))
        };
        let all = [Icmp, Handshake, Request].into_iter();
        let known: Vec<Witness> = all.filter(|who| is_heard(*who)).collect();
        if heard.is_empty() || known.is_empty() || known == [Request] {
            return None;
        }
        if let [by] = known[..] {
            return Some(Ok(Agreement { by, with: None }));
        }
        let mut pairs = [(Icmp, Handshake), (Handshake, Request), (Icmp, Request)].into_iter();
        let pair = pairs.find(|(one, other)| agree(*one, *other));
        let odd = || {
            let is_odd = |of: &&Heard| {
                let said = || known.iter().filter_map(|who| of.of(*who));
                let ends = said().min().zip(said().max());
                ends.is_some_and(|(least, most)| !is_near(least, most))
            };
            *heard.iter().find(is_odd).unwrap_or(&heard[0])
        };
        let agreement = pair.map(|(by, with)| Agreement {
            by,
            with: Some(with),
        });
        Some(agreement.ok_or_else(odd))
    }

    /// Those that say something else.
    pub fn odd(self, heard: &[Heard]) -> impl Iterator<Item = Odd> {
        let all = [Witness::Icmp, Witness::Handshake, Witness::Request];
        heard.iter().flat_map(move |of| {
            all.into_iter().filter_map(move |who| {
                let (said, agreed) = of.of(who).zip(of.of(self.by))?;
                (!is_near(said, agreed)).then_some(Odd {
                    direction: of.direction,
                    who,
                    said,
                    by: self.by,
                    agreed,
                })
            })
        })
    }
}

fn is_near(one: Delta, other: Delta) -> bool {
    let apart = Delta::ns((one - other).as_ns().abs());
    apart <= NEAR.max(one.max(other) / NEAR_PART)
}

fn ms(span: Delta) -> String {
    format!("{:.0} ms", span.as_ms().max(0.0))
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the server echoes no datagrams: added delay is that of {} there and back, ",
            self.by.name()
        )?;
        match self.with {
            Some(with) => write!(f, "with which {} agree", with.name()),
            None => f.write_str("which no other probe confirms"),
        }
    }
}

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.who {
            Witness::Request => "the server is slow, not the network",
            Witness::Icmp => {
                "a hop or the server treats ICMP differently from other traffic; left out"
            }
            Witness::Handshake => {
                "something nearer than the server answers them, or it delays new connections; left out"
            }
        };
        write!(
            f,
            "the {} delayed {} by {}, but {} by {}: {why}",
            self.direction.load(),
            self.who.name(),
            ms(self.said),
            self.by.name(),
            ms(self.agreed)
        )
    }
}

/// Of those that do not agree.
impl fmt::Display for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [Witness::Icmp, Witness::Handshake, Witness::Request].into_iter();
        let said: Vec<String> = all
            .filter_map(|who| Some(format!("{} by {}", who.name(), ms(self.of(who)?))))
            .collect();
        write!(
            f,
            "the {} delayed {}: they do not agree, so a queue cannot be told from a slow server; test against another server",
            self.direction.load(),
            said.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Witness::{Handshake, Icmp, Request};

    fn heard(icmp: i64, handshake: i64, request: i64) -> Heard {
        let said = |ms: i64| (ms >= 0).then_some(Delta::ms(ms));
        Heard {
            direction: Direction::Down,
            icmp: said(icmp),
            handshake: said(handshake),
            request: said(request),
        }
    }

    /// The kind whose delay is reported, and the kinds that are left out.
    fn told(all: &[Heard]) -> Option<(Witness, Vec<Witness>)> {
        let agreement = Agreement::of(all)?.ok()?;
        let odd = agreement.odd(all).map(|odd| odd.who).collect();
        Some((agreement.by, odd))
    }

    #[test]
    fn two_of_three_tell_a_queue_from_what_only_one_of_them_waits_for() {
        for (said, by, odd) in [
            (heard(180, 190, 200), Icmp, vec![]),
            (heard(1, 2, 400), Icmp, vec![Request]),
            (heard(180, 2, 3), Handshake, vec![Icmp]),
            (heard(0, 180, 190), Handshake, vec![Icmp]),
            (heard(180, 0, 190), Icmp, vec![Handshake]),
            // ICMP is not answered.
            (heard(-1, 180, 190), Handshake, vec![]),
        ] {
            assert_eq!(told(&[said]), Some((by, odd)), "{said:?}");
        }
    }

    #[test]
    fn who_is_odd_in_one_direction_is_believed_in_none() {
        let both = [heard(10, 12, 11), heard(200, 15, 18)];
        assert_eq!(told(&both), Some((Handshake, vec![Icmp])));
    }

    #[test]
    fn what_nobody_confirms_is_no_delay_of_the_path() {
        for said in [heard(90, 5, 300), heard(-1, 5, 300)] {
            let refused = Agreement::of(&[heard(1, 1, 1), said]).unwrap().unwrap_err();
            assert_eq!(refused, said);
            assert!(refused.to_string().contains("do not agree"), "{refused}");
        }
        let alone = Agreement::of(&[heard(50, -1, -1)]).unwrap().unwrap();
        assert_eq!((alone.by, alone.with), (Icmp, None));
        for nobody in [&[heard(-1, -1, 30)][..], &[heard(-1, -1, -1)], &[]] {
            assert_eq!(Agreement::of(nobody), None);
        }
    }
}
