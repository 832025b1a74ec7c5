//! Captures in object stores, read as files are.

use crate::ClusterError;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, parse_url_opts};
use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Runtime;
use unbloat_capture::{Input, Storage, Stored};
use url::Url;

/// Object stores by scheme and host, each opened once.
pub(crate) struct Stores {
    runtime: Arc<Runtime>,
    opened: Mutex<HashMap<String, Arc<dyn ObjectStore>>>,
}

impl Stores {
    pub(crate) fn new() -> Result<Stores, ClusterError> {
        // Another part of this process may have installed it already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        Ok(Stores {
            runtime: Arc::new(runtime),
            opened: Mutex::default(),
        })
    }

    pub(crate) fn runtime(&self) -> Arc<Runtime> {
        Arc::clone(&self.runtime)
    }

    /// The store of an address, and the path in it.
    pub(crate) fn of(&self, name: &str) -> Result<(Arc<dyn ObjectStore>, Path), ClusterError> {
        let invalid = |reason: String| ClusterError::Place {
            place: name.to_owned(),
            reason,
        };
        let url = if name.contains("://") {
            Url::parse(name).map_err(|error| invalid(error.to_string()))?
        } else {
            let absolute = std::path::absolute(name)?;
            Url::from_file_path(absolute).map_err(|()| invalid("not a path".to_owned()))?
        };
        let options = std::env::vars().map(|(key, value)| (key.to_ascii_lowercase(), value));
        let (store, path) =
            parse_url_opts(&url, options).map_err(|error| invalid(error.to_string()))?;
        let key = format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default());
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let store = opened.entry(key).or_insert_with(|| Arc::from(store));
        Ok((Arc::clone(store), path))
    }

    fn list(&self, pattern: &str) -> Result<Vec<String>, ClusterError> {
        let fixed = pattern.find(['*', '?', '[']).unwrap_or(pattern.len());
        let folder = pattern[..fixed].rfind('/').map_or("", |at| &pattern[..at]);
        let (store, path) = self.of(folder)?;
        let host = pattern
            .match_indices('/')
            .nth(2)
            .map_or(pattern.len(), |(at, _)| at);
        let listing = async {
            let mut names = Vec::new();
            let mut folders = vec![path];
            while let Some(next) = folders.pop() {
                let listed = store.list_with_delimiter(Some(&next)).await?;
                let objects = listed.objects.into_iter();
                names.extend(objects.map(|o| format!("{}/{}", &pattern[..host], o.location)));
                folders.extend(listed.common_prefixes);
            }
            Ok(names)
        };
        let names: Vec<String> =
            self.runtime
                .block_on(listing)
                .map_err(|source| ClusterError::Store {
                    place: folder.to_owned(),
                    source,
                })?;
        let wanted = glob::Pattern::new(pattern).map_err(|error| ClusterError::Place {
            place: pattern.to_owned(),
            reason: error.msg.to_owned(),
        })?;
        let options = glob::MatchOptions {
            require_literal_separator: true,
            ..glob::MatchOptions::default()
        };
        let is_wanted = |name: &String| wanted.matches_with(name, options);
        let mut names: Vec<String> = names.into_iter().filter(is_wanted).collect();
        names.sort();
        Ok(names)
    }
}

impl Storage for Stores {
    fn read(&self, name: &str, from: u64) -> io::Result<(Box<dyn Read + Send>, u64)> {
        let (store, path) = self.of(name).map_err(io::Error::other)?;
        let head = self.runtime.block_on(store.head(&path))?;
        let ranges = Ranges::new((store, path), from, head.size, self.runtime());
        Ok((Box::new(ranges), head.size))
    }
}

/// Bytes of one request.
const STEP: u64 = 8 << 20;

/// An object, read in requests of a few megabytes.
pub(crate) struct Ranges {
    object: (Arc<dyn ObjectStore>, Path),
    at: u64,
    end: u64,
    runtime: Arc<Runtime>,
    read: io::Cursor<Vec<u8>>,
}

impl Ranges {
    pub(crate) fn new(
        object: (Arc<dyn ObjectStore>, Path),
        at: u64,
        end: u64,
        runtime: Arc<Runtime>,
    ) -> Ranges {
        let read = io::Cursor::default();
        Ranges {
            object,
            at,
            end,
            runtime,
            read,
        }
    }
}

impl Read for Ranges {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let is_used_up = self.read.position() >= self.read.get_ref().len() as u64;
        if is_used_up && self.at < self.end {
            let until = self.end.min(self.at + STEP);
            let (store, path) = &self.object;
            let bytes = self
                .runtime
                .block_on(store.get_range(path, self.at..until))?;
            self.at += bytes.len() as u64;
            self.read = io::Cursor::new(bytes.into());
        }
        self.read.read(into)
    }
}

/// The inputs of these names, none of which is a pattern.
pub(crate) fn named(names: &[&str]) -> Result<Vec<Input>, ClusterError> {
    let is_remote = names.iter().any(|name| name.contains("://"));
    let stores = match is_remote {
        true => Some(Arc::new(Stores::new()?) as Arc<dyn Storage>),
        false => None,
    };
    let inputs = names.iter().map(|name| match &stores {
        Some(storage) if name.contains("://") => Input::Stored(Stored {
            name: (*name).to_owned(),
            storage: Arc::clone(storage),
        }),
        _ => Input::File((*name).into()),
    });
    Ok(inputs.collect())
}

/// Makes inputs of names: files, patterns, and addresses in object stores, also with patterns.
pub fn expand<S: AsRef<str>>(words: &[S]) -> Result<Vec<Input>, ClusterError> {
    let mut stores: Option<Arc<Stores>> = None;
    let mut inputs = Vec::new();
    for word in words.iter().map(AsRef::as_ref) {
        if !word.contains("://") {
            inputs.extend(Input::expand([word])?);
            continue;
        }
        let opened = match &stores {
            Some(opened) => Arc::clone(opened),
            None => Arc::clone(stores.insert(Arc::new(Stores::new()?))),
        };
        let names = match word.contains(['*', '?', '[']) {
            true => opened.list(word)?,
            false => vec![word.to_owned()],
        };
        if names.is_empty() {
            return Err(ClusterError::NoMatch {
                pattern: word.to_owned(),
            });
        }
        inputs.extend(names.into_iter().map(|name| {
            Input::Stored(Stored {
                name,
                storage: Arc::clone(&opened) as Arc<dyn Storage>,
            })
        }));
    }
    Ok(inputs)
}
