//! The papers: those built in, or those of a folder.

use crate::exit::{Failure, cannot};
use include_dir::{Dir, include_dir};
use std::path::Path;
use unbloat_os::files;
use unbloat_paper::{Figure, Paper, read_paper};

/// Of a recipe or a scenario.
const LONGEST: u64 = 16 << 20;

static BUILT_IN: Dir = include_dir!("$CARGO_MANIFEST_DIR/included/papers");

/// In the order of their names.
pub fn papers(folder: Option<&Path>) -> Result<Vec<Paper>, Failure> {
    let mut folders = match folder {
        Some(path) => of_disk(path)?,
        None => built_in(),
    };
    folders.sort();
    let papers = folders.iter().map(|(id, files)| Ok(read_paper(id, files)?));
    papers.collect()
}

/// The name of a paper, and its files with their texts.
type Texts = (String, Vec<(String, String)>);

fn built_in() -> Vec<Texts> {
    let papers = BUILT_IN.dirs().map(|dir| {
        let files = dir.files().filter_map(|file| {
            let name = file.path().file_name()?.to_str()?;
            let text = file.contents_utf8()?;
            name.ends_with(".toml")
                .then(|| (name.to_owned(), text.to_owned()))
        });
        (dir.path().display().to_string(), files.collect())
    });
    papers.collect()
}

fn of_disk(path: &Path) -> Result<Vec<Texts>, Failure> {
    let mut papers = Vec::new();
    for entry in path.read_dir().map_err(cannot("read", path))? {
        let dir = entry.map_err(cannot("read", path))?.path();
        if !dir.join("paper.toml").is_file() {
            continue;
        }
        let id = dir.file_name().unwrap_or_default();
        papers.push((id.to_string_lossy().into_owned(), texts(&dir)?));
    }
    match papers.is_empty() {
        true => Err(format!(
            "{path}: no paper here; a paper is a folder with paper.toml",
            path = path.display()
        )
        .into()),
        false => Ok(papers),
    }
}

/// The TOML files of a folder.
fn texts(dir: &Path) -> Result<Vec<(String, String)>, Failure> {
    let mut files = Vec::new();
    for entry in dir.read_dir().map_err(cannot("read", dir))? {
        let file = entry.map_err(cannot("read", dir))?.path();
        if file
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let text = files::open(&file)
                .and_then(|opened| files::text(opened, LONGEST))
                .map_err(cannot("read", &file))?;
            let name = file.file_name().unwrap_or_default();
            files.push((name.to_string_lossy().into_owned(), text));
        }
    }
    Ok(files)
}

/// The figures that the words of the command mean, in the order of the papers.
pub fn choose<'a>(
    papers: &'a [Paper],
    asked: &str,
    figures: &[String],
) -> Result<Vec<(&'a Paper, &'a Figure)>, Failure> {
    let of = |paper: &'a Paper| paper.figures.iter().map(move |figure| (paper, figure));
    if asked == "all" {
        return match figures.is_empty() {
            true => Ok(papers.iter().flat_map(of).collect()),
            false => Err("`all` takes no figures; name a paper".into()),
        };
    }
    let names = |ids: Vec<&str>| ids.join(", ");
    let found = papers.iter().find(|one| one.id == asked);
    let found = found.ok_or_else(|| {
        format!(
            "no paper {asked:?}; use one of {known}, or `unbloat paper list`",
            known = names(papers.iter().map(|paper| paper.id.as_str()).collect())
        )
    })?;
    let figure = |name: &String| {
        let figure = found.figures.iter().find(|figure| figure.id == *name);
        figure.map(|figure| (found, figure)).ok_or_else(|| {
            let known = names(found.figures.iter().map(|one| one.id.as_str()).collect());
            Failure::from(format!("{} has no {name:?}; it has {known}", found.id))
        })
    };
    match figures {
        [] => Ok(of(found).collect()),
        some => some.iter().map(figure).collect(),
    }
}
