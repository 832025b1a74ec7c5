//! Errors, with the texts of the command.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::fmt::Display;
use unbloat_untrusted::harmless;

create_exception!(
    unbloat,
    UnbloatError,
    PyException,
    "A function of this package failed; the text is that of the command."
);
create_exception!(
    unbloat,
    CaptureError,
    UnbloatError,
    "A capture is missing or cannot be read."
);
create_exception!(
    unbloat,
    RunError,
    UnbloatError,
    "A run folder cannot be read or written."
);
create_exception!(
    unbloat,
    ClusterError,
    UnbloatError,
    "A step of a distributed analysis failed."
);
create_exception!(
    unbloat,
    ScenarioError,
    UnbloatError,
    "A scenario cannot be read or run; the text names the file and the line."
);
create_exception!(
    unbloat,
    OptionError,
    UnbloatError,
    "The value of an option is not valid."
);

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("UnbloatError", py.get_type::<UnbloatError>())?;
    module.add("CaptureError", py.get_type::<CaptureError>())?;
    module.add("ClusterError", py.get_type::<ClusterError>())?;
    module.add("RunError", py.get_type::<RunError>())?;
    module.add("ScenarioError", py.get_type::<ScenarioError>())?;
    module.add("OptionError", py.get_type::<OptionError>())
}

/// The text of an error as the command prints it: text that comes from files and packets has no control characters.
pub(crate) fn text(error: &impl Display) -> String {
    harmless(&error.to_string())
}

/// A value that an option does not take.
pub(crate) fn invalid(option: &str, value: &str, why: &impl Display) -> PyErr {
    OptionError::new_err(format!("invalid value '{value}' for {option}: {why}"))
}

pub(crate) fn of_run(error: &impl Display) -> PyErr {
    RunError::new_err(text(error))
}
