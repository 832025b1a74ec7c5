//! Queues of a host's devices.

use crate::error::BedError;
use crate::host::Host;
use crate::netlink::Mode;
use crate::queue::{self, CLASS, LEAF, Place, QueueCounters, ROOT};
use crate::tc::{self, Discipline, Framing, KINDS};
use rustix::io::Errno;
use unbloat_units::Rate;

impl Host {
    /// Gives a device a queue, in the words of `tc`: `fq_codel limit 1000 ecn`, `netem delay 20ms`,
    /// `noqueue`. It takes the place of the one that is there.
    ///
    /// A TUN device drops what its reader has not taken in time, below this queue: a queue that is to
    /// fill needs a rate of its own.
    pub fn queue(&self, device: &str, words: &str) -> Result<(), BedError> {
        let unlimited = 0;
        let discipline = Discipline::parse(words, unlimited, Framing::default())?;
        self.clear(device)?;
        self.stand(device, ROOT, &discipline, None)
    }

    /// Makes an Ethernet device a link of that rate with that queue in front. `cake` (which is told the
    /// rate), `tbf` and `netem` (which have their own) stand by themselves, all others in an HTB of the rate,
    /// which lets a packet go when the one before would have been sent.
    pub fn bottleneck(
        &self,
        device: &str,
        words: &str,
        rate: Rate,
        framing: Framing,
    ) -> Result<(), BedError> {
        let inner = Discipline::parse(words, rate.as_bps(), framing)?;
        let table = tc::size_table(framing).to_bytes();
        self.clear(device)?;
        if inner.shapes {
            // Cake reads lengths by itself.
            let table = (inner.kind != "cake").then_some(&table[..]);
            return self.stand(device, ROOT, &inner, table);
        }
        let htb = Discipline {
            kind: "htb",
            options: tc::htb(),
            shapes: true,
        };
        self.stand(device, ROOT, &htb, Some(&table))?;
        let class = tc::htb_class(rate.as_bps());
        let message = queue::class(self.index(device)?, CLASS, "htb", &class);
        self.tell(message, Mode::Create, || format!("shape {device}"))?;
        self.stand(device, LEAF, &inner, None)
    }

    /// What a device's queue has counted: the one that was named in [`Host::queue`] or
    /// [`Host::bottleneck`].
    pub fn queue_counters(&self, device: &str) -> Result<QueueCounters, BedError> {
        let index = self.index(device)?;
        let answers = self.netlink.list(queue::all());
        let answers = answers.map_err(|refusal| {
            let doing = format!("read the queue of {device}");
            self.refused(doing, refusal)
        })?;
        Ok(queue::innermost(&answers, index).unwrap_or_default())
    }

    /// Takes the queue that was set away; the kernel's own ones cannot be.
    pub(crate) fn clear(&self, device: &str) -> Result<(), BedError> {
        let message = queue::remove(self.index(device)?);
        match self.netlink.tell(message, Mode::Change) {
            Err(refusal) if Errno::from_io_error(&refusal.source) != Some(Errno::NOENT) => {
                Err(self.refused(format!("remove the queue of {device}"), refusal))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn stand(
        &self,
        device: &str,
        place: Place,
        discipline: &Discipline,
        table: Option<&[u8]>,
    ) -> Result<(), BedError> {
        let Discipline { kind, options, .. } = discipline;
        let index = self.index(device)?;
        let message = queue::discipline(index, place, kind, options, table);
        let told = self.netlink.tell(message, Mode::Create);
        told.map_err(|refusal| match Errno::from_io_error(&refusal.source) {
            Some(Errno::NOENT) => BedError::NoQueue {
                kind: (*kind).to_owned(),
                known: self.known_queues(),
            },
            _ => self.refused(format!("give {device} the queue {kind}"), refusal),
        })
    }

    /// Which disciplines this kernel has, found by trying: one that it lacks is refused as not there, one
    /// that only misses its options as invalid.
    fn known_queues(&self) -> Vec<&'static str> {
        let Ok(index) = self.index("lo") else {
            return Vec::new();
        };
        let mut known = KINDS.to_vec();
        known.retain(|kind| {
            let message = queue::discipline(index, ROOT, kind, &[], None);
            let told = self.netlink.tell(message, Mode::Create);
            // What could be set is taken away again.
            let _ = self.netlink.tell(queue::remove(index), Mode::Change);
            let refused = told
                .err()
                .and_then(|refusal| Errno::from_io_error(&refusal.source));
            refused != Some(Errno::NOENT)
        });
        known
    }
}
