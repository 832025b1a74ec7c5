//! Congestion controls for the length of a run.

use crate::error::LabError;
use crate::mapping::{ControlName, Mapping};
use std::collections::BTreeMap;
use tracing::debug;
use unbloat_tcp_bpf::{Provided, provide};

/// What sockets can choose while this lives: the kernel's own, or programs that stand in for those that it lacks.
pub(crate) struct Controls {
    provided: BTreeMap<ControlName, Provided>,
}

impl Controls {
    /// Provides what a mapping asks for, and has its sockets choose that.
    pub(crate) fn provide(mapping: &mut Mapping) -> Result<Controls, LabError> {
        let mut provided = BTreeMap::new();
        for name in &mapping.controls {
            let control = provide(name.kernel).map_err(|source| LabError::NoControl {
                scenario: name.scenario,
                source,
            })?;
            debug!(
                wanted = name.scenario,
                by = control.name(),
                is_loaded = matches!(control, Provided::Loaded(_)),
                "congestion control"
            );
            provided.insert(*name, control);
        }
        for tcp in mapping.tcp.iter_mut().flatten() {
            let mut wanted = provided.iter();
            let found =
                wanted.find(|(name, _)| tcp.congestion_control.as_deref() == Some(name.kernel));
            tcp.congestion_control = found.map(|(_, control)| control.name().to_owned());
        }
        Ok(Controls { provided })
    }

    /// A sentence for each that is not the kernel's own.
    pub(crate) fn stand_ins(&self) -> impl Iterator<Item = String> {
        let loaded = self
            .provided
            .iter()
            .filter(|(_, control)| matches!(control, Provided::Loaded(_)));
        loaded.map(|(name, control)| {
            format!(
                "cc {:?} is a BPF program ({}), because this kernel was built without {}",
                name.scenario,
                control.name(),
                name.kernel
            )
        })
    }
}
