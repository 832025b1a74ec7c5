//! User-defined commands before and after a run.

use crate::exit::Failure;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::{Command, Stdio};
use unbloat_campaign::{Campaign, Cell};

/// Refuses a campaign with commands unless the user allows them: the file may come from somebody else.
pub fn consent(campaign: &Campaign, is_given: bool) -> Result<(), Failure> {
    let cells = campaign.cells();
    let hooks = cells.iter().flat_map(|cell| &cell.hooks);
    let commands = hooks
        .flat_map(|hooks| [&hooks.before, &hooks.after])
        .flatten();
    let commands: BTreeSet<&String> = commands.collect();
    if is_given || commands.is_empty() {
        return Ok(());
    }
    let mut list = String::new();
    for command in commands {
        // Writing to a String cannot fail.
        let _ = writeln!(list, "  {command}");
    }
    Err(format!(
        "this campaign runs commands on this machine:\n{list}pass --run-commands to allow them"
    )
    .into())
}

/// Runs all `before` commands of a cell, in order. If one fails, runs the `after` commands of the preceding ones.
pub fn before(cell: &Cell) -> Result<(), Failure> {
    for (number, hooks) in cell.hooks.iter().enumerate() {
        if let Some(command) = &hooks.before
            && let Err(why) = shell(cell, command)
        {
            let undone = undo(cell, number);
            let command = command.clone();
            return undone.and(Err(format!(
                "the command {command:?} {why}; fix it, then run the campaign again"
            )
            .into()));
        }
    }
    Ok(())
}

/// Runs all `after` commands of a cell in reverse order, even if one fails.
pub fn after(cell: &Cell) -> Result<(), Failure> {
    undo(cell, cell.hooks.len())
}

fn undo(cell: &Cell, first: usize) -> Result<(), Failure> {
    let mut result = Ok(());
    for hooks in cell.hooks[..first].iter().rev() {
        if let Some(command) = &hooks.after
            && let Err(why) = shell(cell, command)
        {
            let command = command.clone();
            result = result.and(Err(format!(
                "the command {command:?} {why}; fix it, then run the campaign again"
            )
            .into()));
        }
    }
    result
}

/// Runs a command; its output goes to standard error, because standard output is data. The error is the reason as text.
fn shell(cell: &Cell, command: &str) -> Result<(), String> {
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(std::io::stderr());
    shell.env("UNBLOAT_CELL", cell.title());
    match shell.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("failed with {status}")),
        Err(error) => Err(format!("cannot be started: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn campaign(file: &str) -> Campaign {
        let value = |name, before| {
            format!(
                "{{ name = \"{name}\", before = \"{before}\", after = \"echo after-{name} >> {file}\" }}"
            )
        };
        let (a, b) = (
            value("a", format!("echo $UNBLOAT_CELL >> {file}")),
            value("b", "exit 3".to_owned()),
        );
        Campaign::parse(&format!(
            "server = \"box\"\n[labels]\nfirst = [{a}]\nsecond = [{b}, \"none\"]"
        ))
        .unwrap()
    }

    #[test]
    fn commands_run_in_order_and_backwards_and_a_failure_undoes_what_was_done() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().display().to_string();
        let cells = campaign(&path).cells();
        let error = before(&cells[0]).unwrap_err().to_string();
        assert!(error.contains("exit 3"), "{error}");
        before(&cells[1]).unwrap();
        after(&cells[1]).unwrap();
        let lines = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            lines,
            "first=a second=b\nafter-a\nfirst=a second=none\nafter-a\n"
        );
    }

    #[test]
    fn nothing_is_run_that_nobody_allowed() {
        let with = campaign("/dev/null");
        let error = consent(&with, false).unwrap_err().to_string();
        assert!(
            error.contains("  exit 3\n") && error.contains("--run-commands"),
            "{error}"
        );
        assert!(consent(&with, true).is_ok());
        assert!(consent(&Campaign::parse("server = \"box\"").unwrap(), false).is_ok());
    }
}
