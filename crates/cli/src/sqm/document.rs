//! What `unbloat sqm` prints with `--json`.

use crate::keep::{Keep, Kept};
use schemars::JsonSchema;
use serde::Serialize;
use unbloat_sqm::networkd::File;
use unbloat_sqm::{Device, Finding, Plan, Tried};
use unbloat_sqm_host::{Look, Offered, QueueStatus, Shaped};
use unbloat_units::Both;

/// A plan in all formats.
#[derive(Serialize, JsonSchema)]
pub struct Planned<'a> {
    /// Null: a search that found no rate.
    pub plan: Option<&'a Plan>,
    #[serde(flatten)]
    pub formats: Option<Formats>,
    #[serde(flatten)]
    pub search: Option<Searched<'a>>,
    /// With `--keep`: what applies the shaper after a reboot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<&'a Keep>,
}

#[derive(Serialize, JsonSchema)]
pub struct Formats {
    /// The `tc` and `ip` commands that set the shaper up, word by word.
    pub commands: Vec<Vec<String>>,
    /// The commands that remove it.
    pub removal: Vec<Vec<String>>,
    /// `/etc/config/sqm`; null: UCI cannot express the plan.
    pub uci: Option<String>,
    /// Files of systemd-networkd; null: networkd cannot express the plan.
    pub networkd: Option<Vec<File>>,
}

/// What `unbloat sqm search` adds.
#[derive(Serialize, JsonSchema)]
pub struct Searched<'a> {
    /// Capacity of the line.
    pub measured_bps: Both<Option<u64>>,
    pub trials: &'a [Tried],
    /// With `--apply`: how the shaper is kept, and how to remove it.
    pub state: Option<String>,
}

/// `unbloat sqm check`.
#[derive(Serialize, JsonSchema)]
pub struct Checked<'a> {
    pub findings: &'a [Finding],
}

/// `unbloat sqm status`: of this host or of a router.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Status<'a> {
    Here {
        /// What the kernel offers; null: only root can try it.
        offered: Option<Offered>,
        devices: &'a [Shaped],
        /// What is applied after each reboot.
        kept: &'a [Kept],
    },
    Router {
        router: &'a Look,
        device: &'a Device,
        /// Whether unbloat set the shaper up.
        ours: bool,
        queues: &'a [QueueStatus],
    },
}

/// `unbloat sqm remove`.
#[derive(Serialize, JsonSchema)]
pub struct Removed<'a> {
    pub device: &'a Device,
    /// False: unbloat did not shape it.
    pub removed: bool,
    /// Whether files were removed that applied the shaper after each reboot.
    pub was_kept: bool,
}
