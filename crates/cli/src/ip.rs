//! The IP version of a test.

use unbloat_loadtest::IpVersion;

#[derive(clap::Args, Clone, Copy)]
pub struct IpArgs {
    /// Use IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    ipv4: bool,

    /// Use IPv6 only
    #[arg(short = '6', long)]
    ipv6: bool,
}

impl IpArgs {
    /// None: either.
    pub fn version(self) -> Option<IpVersion> {
        match (self.ipv4, self.ipv6) {
            (true, _) => Some(IpVersion::Four),
            (_, true) => Some(IpVersion::Six),
            _ => None,
        }
    }
}
