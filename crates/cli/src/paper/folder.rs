//! The papers: those built in, or those of a folder.

use include_dir::{Dir, include_dir};
use std::io;
use std::path::{Path, PathBuf};
use unbloat_os::files;
use unbloat_paper::{Figure, Paper, PaperError, read_paper};

/// Of a recipe or a scenario.
const LONGEST: u64 = 16 << 20;

static BUILT_IN: Dir = include_dir!("$CARGO_MANIFEST_DIR/included/papers");

#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error(transparent)]
    Paper(#[from] PaperError),
    #[error("cannot read {path}: {source}", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{path}: no paper here; a paper is a folder with paper.toml", path = .0.display())]
    Empty(PathBuf),
    #[error("no paper {name:?}; use one of {known}, or `unbloat paper list`")]
    NoPaper { name: String, known: String },
    #[error("{paper} has no {name:?}; it has {known}")]
    NoFigure {
        paper: String,
        name: String,
        known: String,
    },
    #[error("no scenario {0}; a recipe names a file of its own folder, or PAPER/FILE")]
    NoScenario(String),
    #[error("`all` takes no figures; name a paper")]
    FiguresOfAll,
}

/// In the order of their names.
pub fn papers(folder: Option<&Path>) -> Result<Vec<Paper>, FolderError> {
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

fn of_disk(path: &Path) -> Result<Vec<Texts>, FolderError> {
    let mut papers = Vec::new();
    for entry in path.read_dir().map_err(failed(path))? {
        let dir = entry.map_err(failed(path))?.path();
        if !dir.join("paper.toml").is_file() {
            continue;
        }
        let id = dir.file_name().unwrap_or_default();
        papers.push((id.to_string_lossy().into_owned(), texts(&dir)?));
    }
    match papers.is_empty() {
        true => Err(FolderError::Empty(path.to_owned())),
        false => Ok(papers),
    }
}

/// The TOML files of a folder.
fn texts(dir: &Path) -> Result<Vec<(String, String)>, FolderError> {
    let mut files = Vec::new();
    for entry in dir.read_dir().map_err(failed(dir))? {
        let file = entry.map_err(failed(dir))?.path();
        if file
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let text = files::open(&file)
                .and_then(|opened| files::text(opened, LONGEST))
                .map_err(failed(&file))?;
            let name = file.file_name().unwrap_or_default();
            files.push((name.to_string_lossy().into_owned(), text));
        }
    }
    Ok(files)
}

fn failed(path: &Path) -> impl Fn(io::Error) -> FolderError {
    let path = path.to_owned();
    move |source| FolderError::Read {
        path: path.clone(),
        source,
    }
}

/// The figures that the words of the command mean, in the order of the papers.
pub fn choose<'a>(
    papers: &'a [Paper],
    asked: &str,
    figures: &[String],
) -> Result<Vec<(&'a Paper, &'a Figure)>, FolderError> {
    let of = |paper: &'a Paper| paper.figures.iter().map(move |figure| (paper, figure));
    if asked == "all" {
        return match figures.is_empty() {
            true => Ok(papers.iter().flat_map(of).collect()),
            false => Err(FolderError::FiguresOfAll),
        };
    }
    let names = |ids: Vec<&str>| ids.join(", ");
    let found = papers.iter().find(|one| one.id == asked);
    let found = found.ok_or_else(|| FolderError::NoPaper {
        name: asked.to_owned(),
        known: names(papers.iter().map(|paper| paper.id.as_str()).collect()),
    })?;
    let figure = |name: &String| {
        let figure = found.figures.iter().find(|figure| figure.id == *name);
        figure
            .map(|figure| (found, figure))
            .ok_or_else(|| FolderError::NoFigure {
                paper: found.id.clone(),
                name: name.clone(),
                known: names(found.figures.iter().map(|one| one.id.as_str()).collect()),
            })
    };
    match figures {
        [] => Ok(of(found).collect()),
        some => some.iter().map(figure).collect(),
    }
}
