//! Where the steps meet: a folder, or a prefix of an object store.

use crate::ClusterError;
use crate::error::Repair;
use crate::remote::Stores;
use object_store::buffered::BufWriter;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::runtime::Runtime;

/// A folder of a file system that all machines share, or a prefix of an object store.
pub struct Place {
    name: String,
    store: Arc<dyn ObjectStore>,
    root: Path,
    runtime: Arc<Runtime>,
}

/// Of a document: that of a slice has a line for each bucket.
const LONGEST: u64 = 256 << 20;

/// Bytes written to an object store at once.
const WRITE: usize = 8 << 20;

impl Place {
    /// Opens a folder, which is created, or an address such as `s3://bucket/prefix`. Credentials and options of stores
    /// come from the environment, by the names that the stores' own tools use (`AWS_ENDPOINT_URL` and so on).
    pub fn open(name: &str) -> Result<Place, ClusterError> {
        let stores = Stores::new()?;
        if !name.contains("://") {
            std::fs::create_dir_all(name).map_err(|error| ClusterError::Place {
                place: name.to_owned(),
                reason: error.to_string(),
            })?;
        }
        let (store, root) = stores.of(name)?;
        Ok(Place {
            name: name.trim_end_matches('/').to_owned(),
            store,
            root,
            runtime: stores.runtime(),
        })
    }

    /// As it was named.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of a file here, for messages.
    pub(crate) fn file(&self, path: &str) -> String {
        format!("{}/{path}", self.name)
    }

    fn at(&self, path: &str) -> Path {
        path.split('/')
            .fold(self.root.clone(), |at, part| at.join(part))
    }

    fn refused(&self, path: &str, reason: &str) -> ClusterError {
        ClusterError::Place {
            place: self.file(path),
            reason: reason.to_owned(),
        }
    }

    /// What is no plain file keeps who opens it waiting, perhaps without end.
    fn look(&self, path: &str) -> Result<(), ClusterError> {
        let is_folder = !self.name.contains("://");
        let found = is_folder.then(|| std::fs::symlink_metadata(self.file(path)));
        match found {
            Some(Ok(found)) if !found.is_file() => Err(self.refused(path, "not a plain file")),
            _ => Ok(()),
        }
    }

    fn failed(&self, path: &str) -> impl Fn(object_store::Error) -> ClusterError {
        let place = self.file(path);
        move |source| ClusterError::Store {
            place: place.clone(),
            source,
        }
    }

    /// Writes a file that must not exist. False: it exists, and stays as it is.
    pub(crate) fn create(&self, path: &str, bytes: Vec<u8>) -> Result<bool, ClusterError> {
        let options = PutOptions::from(PutMode::Create);
        let payload = PutPayload::from(bytes);
        let at = self.at(path);
        let put = self.store.put_opts(&at, payload, options);
        match self.runtime.block_on(put) {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(self.failed(path)(error)),
        }
    }

    pub(crate) fn put(&self, path: &str, bytes: Vec<u8>) -> Result<(), ClusterError> {
        let at = self.at(path);
        let put = self.store.put(&at, PutPayload::from(bytes));
        self.runtime.block_on(put).map_err(self.failed(path))?;
        Ok(())
    }

    /// `None` if there is no such file.
    pub(crate) fn get(&self, path: &str) -> Result<Option<Vec<u8>>, ClusterError> {
        self.look(path)?;
        let at = self.at(path);
        let read = async {
            let found = self.store.get(&at).await?;
            match found.meta.size > LONGEST {
                true => Ok(None),
                false => found.bytes().await.map(Some),
            }
        };
        match self.runtime.block_on(read) {
            Ok(Some(bytes)) => Ok(Some(bytes.into())),
            Ok(None) => Err(self.refused(path, "longer than 256 MiB")),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(path)(error)),
        }
    }

    /// A part of a file; `None` if the file does not exist or ends before.
    pub(crate) fn get_range(
        &self,
        path: &str,
        offset: u64,
        len: u64,
    ) -> Result<Option<Vec<u8>>, ClusterError> {
        if len == 0 {
            return Ok(Some(Vec::new()));
        }
        self.look(path)?;
        let at = self.at(path);
        let read = async {
            let size = self.store.head(&at).await?.size;
            let end = offset.saturating_add(len);
            match end <= size {
                true => self.store.get_range(&at, offset..end).await.map(Some),
                false => Ok(None),
            }
        };
        match self.runtime.block_on(read) {
            Ok(bytes) => Ok(bytes.map(Into::into)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(path)(error)),
        }
    }

    /// Names of the files in a folder here.
    pub(crate) fn list(&self, folder: &str) -> Result<Vec<String>, ClusterError> {
        let at = self.at(folder);
        let listed = self.store.list_with_delimiter(Some(&at));
        let listed = self.runtime.block_on(listed).map_err(self.failed(folder))?;
        let names = listed.objects.iter().filter_map(|o| o.location.filename());
        Ok(names.map(str::to_owned).collect())
    }

    /// Copies the files of a folder here, `run.json` last: what has it is complete.
    pub fn upload(&self, folder: &std::path::Path) -> Result<(), ClusterError> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                files.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        files.sort_by_key(|name| (name == "run.json", name.clone()));
        for name in files {
            let mut from = std::fs::File::open(folder.join(&name))?;
            let mut to = self.writer(&name);
            io::copy(&mut from, &mut to)?;
            to.finish()?;
        }
        Ok(())
    }

    /// A new file, to be written in pieces and then [finished](Writer::finish).
    pub(crate) fn writer(&self, path: &str) -> Writer {
        let writer = BufWriter::with_capacity(Arc::clone(&self.store), self.at(path), WRITE);
        Writer {
            writer,
            runtime: Arc::clone(&self.runtime),
        }
    }

    /// The bytes of a file, in steps.
    pub(crate) fn reader(
        &self,
        path: &str,
        len: u64,
    ) -> Result<Box<dyn Read + Send>, ClusterError> {
        self.look(path)?;
        let reader = crate::remote::Ranges::new(
            (Arc::clone(&self.store), self.at(path)),
            0,
            len,
            Arc::clone(&self.runtime),
        );
        Ok(Box::new(reader))
    }

    /// Reads a document. `None` if there is none.
    pub(crate) fn document<T: DeserializeOwned>(
        &self,
        path: &str,
        repair: Repair,
    ) -> Result<Option<T>, ClusterError> {
        let Some(bytes) = self.get(path)? else {
            return Ok(None);
        };
        let damaged = |reason: &str| self.damaged(path, repair, reason);
        let read: Document<'_> =
            serde_json::from_slice(&bytes).map_err(|error| damaged(&error.to_string()))?;
        if (read.format, &*read.version) != (FORMAT, VERSION) {
            return Err(ClusterError::Version {
                file: self.file(path),
                theirs: format!("{}, format {}", read.version, read.format),
                ours: format!("{VERSION}, format {FORMAT}"),
            });
        }
        let text = read.document.get();
        if blake3::hash(text.as_bytes()).to_hex().as_str() != read.blake3 {
            return Err(damaged(OTHER_DIGEST));
        }
        let document = serde_json::from_str(text);
        document
            .map(Some)
            .map_err(|error| damaged(&error.to_string()))
    }

    /// Writes a document that nobody has written before. False: somebody has.
    pub(crate) fn commit(
        &self,
        path: &str,
        document: &impl Serialize,
    ) -> Result<bool, ClusterError> {
        self.create(path, document_bytes(document)?)
    }

    /// Writes a document under a name that nobody else has.
    pub(crate) fn put_document(
        &self,
        path: &str,
        document: &impl Serialize,
    ) -> Result<(), ClusterError> {
        self.put(path, document_bytes(document)?)
    }

    pub(crate) fn missing(&self, path: &str, step: &'static str) -> ClusterError {
        ClusterError::Missing {
            file: self.file(path),
            step,
            place: self.name.clone(),
        }
    }

    pub(crate) fn damaged(&self, path: &str, repair: Repair, reason: &str) -> ClusterError {
        ClusterError::Damaged {
            place: self.name.clone(),
            file: path.to_owned(),
            reason: reason.to_owned(),
            repair,
        }
    }
}

/// Changes whenever the files of a place do.
const FORMAT: u32 = 1;
/// Another version may count otherwise.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A JSON document, with who wrote it and the BLAKE3 digest of its text.
#[derive(Serialize, Deserialize)]
struct Document<'a> {
    format: u32,
    version: Cow<'a, str>,
    blake3: String,
    #[serde(borrow)]
    document: &'a RawValue,
}

fn document_bytes(document: &impl Serialize) -> io::Result<Vec<u8>> {
    let document = serde_json::value::to_raw_value(document)?;
    let blake3 = blake3::hash(document.get().as_bytes()).to_hex().to_string();
    Ok(serde_json::to_vec(&Document {
        format: FORMAT,
        version: VERSION.into(),
        blake3,
        document: &document,
    })?)
}

/// Why bytes are refused.
pub(crate) const OTHER_DIGEST: &str = "its digest is not that of its bytes";

/// A file that is being written; it appears when it is finished.
pub(crate) struct Writer {
    writer: BufWriter,
    runtime: Arc<Runtime>,
}

impl Writer {
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.runtime.block_on(self.writer.shutdown())
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.runtime.block_on(self.writer.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A name that no other attempt has.
pub(crate) fn attempt() -> Result<String, ClusterError> {
    let number = getrandom::u64().map_err(ClusterError::Random)?;
    Ok(format!("attempt-{number:016x}"))
}
