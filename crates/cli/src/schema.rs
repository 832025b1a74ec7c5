//! `unbloat schema`: the tables and columns of a run, and the JSON documents, with their meaning.

use crate::exit::Exit;
use crate::print::{self, PrintError};
use clap::ValueEnum;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use unbloat_run::schema_markdown;
use unbloat_summary::{figures_table, summary_table};
use unbloat_trace::all_tables;

/// Print the tables and columns of runs as Markdown, or the JSON Schema of a document.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  unbloat schema > schema.md\n  unbloat schema test > test.schema.json"
)]
pub struct Args {
    /// Document whose JSON Schema to print; without it, the tables
    document: Option<Document>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Document {
    /// unbloat test --json, test.json of a run
    #[cfg(feature = "full")]
    Test,
    /// unbloat locate --json, locate.json of a run
    #[cfg(feature = "full")]
    Locate,
    /// unbloat fix --json
    #[cfg(feature = "full")]
    Fix,
    /// unbloat compare --json, compare.json of a comparison
    Compare,
    /// run.json of a run
    Run,
    /// unbloat watch --json, one line
    #[cfg(feature = "full")]
    Watch,
    /// unbloat lab run --live-output, one line
    #[cfg(feature = "full")]
    LabLive,
    /// unbloat serve --json
    #[cfg(feature = "full")]
    Serve,
    /// unbloat shape --json, one line
    #[cfg(feature = "full")]
    Shape,
    /// unbloat autorate --json, one line
    #[cfg(feature = "full")]
    Autorate,
    /// unbloat sqm plan --json, unbloat sqm search --json, unbloat sqm apply --json
    #[cfg(feature = "full")]
    SqmPlan,
    /// unbloat sqm check --json
    #[cfg(feature = "full")]
    SqmCheck,
    /// unbloat sqm status --json
    #[cfg(feature = "full")]
    SqmStatus,
    /// unbloat sqm remove --json
    #[cfg(feature = "full")]
    SqmRemove,
    /// unbloat drwa --json, one line
    #[cfg(feature = "full")]
    Drwa,
    /// unbloat uplink --json, one line
    #[cfg(feature = "full")]
    Uplink,
    /// unbloat uplink --show-limits --json
    #[cfg(feature = "full")]
    UplinkLimits,
    /// COMMAND --dry-run --json
    #[cfg(feature = "full")]
    DryRun,
}

impl Document {
    fn schema(self) -> Schema {
        match self {
            #[cfg(feature = "full")]
            Document::Test => of::<unbloat_responsiveness::document::Test>(),
            #[cfg(feature = "full")]
            Document::Locate => of::<unbloat_locate_host::Document>(),
            #[cfg(feature = "full")]
            Document::Fix => of::<unbloat_fix::Document>(),
            Document::Compare => of::<crate::compare::Document>(),
            Document::Run => of::<unbloat_run::RunFile>(),
            #[cfg(feature = "full")]
            Document::Watch => of::<unbloat_tui::host::HostLine<'_>>(),
            #[cfg(feature = "full")]
            Document::LabLive => of::<unbloat_tui::Line<'_>>(),
            #[cfg(feature = "full")]
            Document::Serve => of::<unbloat_server::Addresses>(),
            #[cfg(feature = "full")]
            Document::Shape => of::<crate::shape::Line>(),
            #[cfg(feature = "full")]
            Document::Autorate => of::<crate::shape::DecisionLine>(),
            #[cfg(feature = "full")]
            Document::SqmPlan => of::<crate::sqm::Planned<'_>>(),
            #[cfg(feature = "full")]
            Document::SqmCheck => of::<crate::sqm::Checked<'_>>(),
            #[cfg(feature = "full")]
            Document::SqmStatus => of::<crate::sqm::Status<'_>>(),
            #[cfg(feature = "full")]
            Document::SqmRemove => of::<crate::sqm::Removed<'_>>(),
            #[cfg(feature = "full")]
            Document::Drwa => of::<crate::drwa::Line>(),
            #[cfg(feature = "full")]
            Document::Uplink => of::<unbloat_uplink_host::State>(),
            #[cfg(feature = "full")]
            Document::UplinkLimits => of::<unbloat_uplink_host::Layers>(),
            #[cfg(feature = "full")]
            Document::DryRun => of::<crate::dry_run::Document<'_>>(),
        }
    }
}

/// Of what is written: readers accept more.
fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>()
}

pub fn run(args: &Args) -> Result<Exit, PrintError> {
    if let Some(document) = args.document {
        print::text(&print::document(&document.schema())?)?;
        return Ok(Exit::Complete);
    }
    let mut tables = all_tables();
    tables.extend([summary_table(), figures_table()]);
    tables.extend(crate::model::tables());
    tables.extend(unbloat_compare::all_tables());
    #[cfg(feature = "full")]
    {
        tables.extend(crate::experiment::tables());
        tables.extend(crate::lab::tables());
        tables.extend(unbloat_loadtest::tables::tables());
        tables.push(unbloat_campaign::campaign_table());
        tables.push(crate::campaign::readings_table());
        tables.extend(unbloat_locate_host::tables::all_tables());
    }
    print::text(&schema_markdown(&tables))?;
    Ok(Exit::Complete)
}
