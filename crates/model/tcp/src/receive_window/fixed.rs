//! A window of fixed size, as a phone's `tcp_rmem_max` made it (Jiang et al., IMC 2012, section 3).

use super::Rule;
use super::WINDOW;
use unbloat_params::params;
use unbloat_units::Bytes;

params! {
    /// What Linux 6.12 offers at most: half of 6 MiB.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Params: Settings {
        /// The window itself: what `tcp_rmem_max` leaves after the kernel's share for bookkeeping
        /// (a quarter with `tcp_adv_win_scale` 2, as it was then).
        pub window: Bytes = Bytes::mib(3) => within(WINDOW);
    }
}

#[derive(Clone, Debug)]
pub struct Static {
    window: u32,
}

impl Static {
    pub fn new(params: Params) -> Static {
        let window = params.window.as_u64().min(1 << 30) as u32;
        Static { window }
    }
}

impl Rule for Static {
    fn window(&self) -> u32 {
        self.window
    }
}
