//! `unbloat schema`: the tables and columns of a run, and the JSON documents, with their meaning.

use crate::exit::{Exit, Failure};
use crate::print::{self};
use clap::ValueEnum;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use unbloat_run::schema_markdown;
use unbloat_table::Table;

/// Print the columns of tables, or the JSON Schema of a document.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  unbloat schema > schema.md\n  unbloat schema test > test.schema.json"
)]
pub struct Args {
    /// Document whose JSON Schema to print. Without it, the tables are printed
    document: Option<Document>,
}

macro_rules! documents {
    ($(#[doc = $printed_by:literal] $(#[cfg($gate:meta)])? $name:ident => $type:ty,)*) => {
        #[derive(Clone, Copy, Debug, ValueEnum)]
        enum Document {
            $(#[doc = $printed_by] $(#[cfg($gate)])? $name,)*
        }

        impl Document {
            fn schema(self) -> Schema {
                match self { $($(#[cfg($gate)])? Document::$name => of::<$type>(),)* }
            }
        }
    };
}

documents! {
    /// unbloat test --json, test.json of a run
    #[cfg(feature = "full")]
    Test => unbloat_responsiveness::document::Test,
    /// unbloat locate --json, locate.json of a run
    #[cfg(feature = "full")]
    Locate => unbloat_locate_host::Document,
    /// unbloat fix --json
    #[cfg(feature = "full")]
    Fix => unbloat_fix::Document,
    /// unbloat compare --json, compare.json of a comparison
    Compare => unbloat_api::compare::Document<'_>,
    /// unbloat paper --json, paper.json of its run
    #[cfg(feature = "full")]
    Paper => crate::paper::Document,
    /// unbloat cluster plan --json
    #[cfg(feature = "full")]
    ClusterPlan => crate::cluster::PlanDocument,
    /// unbloat runs list --json
    Runs => crate::runs::RunsDocument,
    /// unbloat doctor --json
    #[cfg(feature = "full")]
    Doctor => crate::doctor::Diagnosis,
    /// run.json of a run
    Run => unbloat_run::RunFile,
    /// unbloat watch --json, one line
    #[cfg(feature = "full")]
    Watch => unbloat_tui::host::HostLine<'_>,
    /// unbloat monitor --json, one line
    #[cfg(feature = "full")]
    Monitor => unbloat_monitor::Record,
    /// unbloat lab run --live-output, one line
    #[cfg(feature = "full")]
    LabLive => unbloat_tui::Line<'_>,
    /// unbloat serve --json
    #[cfg(feature = "full")]
    Serve => unbloat_server::Addresses,
    /// unbloat shape --json, one line
    #[cfg(feature = "full")]
    Shape => crate::shape::Line,
    /// unbloat autorate --json, one line
    #[cfg(feature = "full")]
    Autorate => crate::shape::DecisionLine,
    /// unbloat sqm plan --json, unbloat sqm search --json, unbloat sqm apply --json
    #[cfg(feature = "full")]
    SqmPlan => crate::sqm::Planned<'_>,
    /// unbloat sqm check --json
    #[cfg(feature = "full")]
    SqmCheck => crate::sqm::Checked<'_>,
    /// unbloat sqm status --json
    #[cfg(feature = "full")]
    SqmStatus => crate::sqm::Status<'_>,
    /// unbloat sqm remove --json
    #[cfg(feature = "full")]
    SqmRemove => crate::sqm::Removed<'_>,
    /// unbloat drwa --json, one line
    #[cfg(feature = "full")]
    Drwa => crate::drwa::Line,
    /// unbloat uplink --json, one line
    #[cfg(feature = "full")]
    Uplink => unbloat_uplink_host::State,
    /// COMMAND --dry-run --json, but for sqm apply and fix
    #[cfg(feature = "full")]
    DryRun => crate::dry_run::Document<'_>,
}

/// Of what is written: readers accept more.
fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>()
}

pub fn run(args: &Args) -> Result<Exit, Failure> {
    if let Some(document) = args.document {
        print::raw(&print::document(&document.schema())?)?;
        return Ok(Exit::Complete);
    }
    print::raw(&schema_markdown(&tables()))?;
    Ok(Exit::Complete)
}

/// The tables of all commands.
pub fn tables() -> Vec<Table> {
    let mut tables = unbloat_api::analyze::tables();
    tables.extend(crate::model::tables());
    tables.extend(unbloat_compare::all_tables());
    #[cfg(feature = "full")]
    {
        use unbloat_table::Row;
        tables.extend(unbloat_history::tables());
        tables.extend(unbloat_api::experiment::tables());
        tables.extend(crate::lab::tables());
        tables.extend(crate::paper::tables());
        tables.extend(unbloat_loadtest::tables::tables());
        tables.push(unbloat_campaign::CampaignRow::table());
        tables.push(crate::campaign::ReadingRow::table());
        tables.extend(unbloat_locate_host::tables::all_tables());
        tables.extend(crate::watch::tables());
    }
    tables
}
