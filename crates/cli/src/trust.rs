//! Which certificate of a server a client accepts.

use crate::confine::{CapabilitySet, speak};
use crate::exit::{Failure, cannot};
use crate::known_servers;
use crate::print::note;
use std::io::{BufRead, IsTerminal, Write, stderr, stdin};
use std::path::{Path, PathBuf};
use unbloat_loadtest::{
    Fingerprint, Introduction, IpVersion, Origin, Public, Target, Trust, introduce,
};
use unbloat_os::files;

#[derive(clap::Args, Clone)]
pub struct TrustArgs {
    /// Trust these certificate authorities (PEM) instead of the system's
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// Accept only the server certificate with this SHA-256 fingerprint, which `unbloat serve` prints
    #[arg(
        long,
        value_name = "FINGERPRINT",
        env = "UNBLOAT_PIN",
        hide_env_values = true,
        value_parser = known_servers::parse
    )]
    pin: Option<Fingerprint>,

    /// Do not verify the server's certificate
    #[arg(long)]
    insecure: bool,
}

impl TrustArgs {
    /// The options as they are typed, for a command of this program.
    #[cfg(feature = "full")]
    pub fn words(&self) -> Vec<String> {
        let ca = self.ca.iter();
        let mut words: Vec<String> = ca
            .flat_map(|ca| ["--ca".to_owned(), ca.display().to_string()])
            .collect();
        if let Some(pin) = &self.pin {
            let digits = pin.iter().map(|byte| format!("{byte:02x}"));
            words.extend(["--pin".to_owned(), digits.collect()]);
        }
        words.extend(self.insecure.then(|| "--insecure".to_owned()));
        words
    }

    /// Whether every server is trusted, without a check of its certificate.
    pub fn is_blind(&self) -> bool {
        self.insecure
    }

    /// What has to prove that a server is `target`. One for which no authority vouches is trusted if the user has accepted its certificate,
    /// now or before.
    pub fn trust(&self, target: &Target, ip: Option<IpVersion>) -> Result<Trust, Failure> {
        let given = Trust {
            ca: self.ca.as_deref().map(authorities).transpose()?,
            pin: self.pin,
            is_blind: self.insecure,
        };
        let is_given = self.ca.is_some() || self.pin.is_some() || self.insecure;
        match target {
            // Authorities vouch for a service that is known by its name.
            _ if Public::of(target).is_some() => Ok(given),
            Target::Responsiveness(origin) if origin.is_tls && !is_given => {
                accepted(origin, ip, given)
            }
            _ => Ok(given),
        }
    }
}

/// The text of the file of `--ca`, read before this process gives up rights.
pub fn authorities(file: &Path) -> Result<Vec<u8>, Failure> {
    files::read_named(file, LONGEST).map_err(cannot("read", file))
}

/// Of a file of authorities: those of a system have 250 kB.
const LONGEST: u64 = 4 << 20;

fn accepted(origin: &Origin, ip: Option<IpVersion>, given: Trust) -> Result<Trust, Failure> {
    // The test says why a server cannot be reached.
    let introduced = speak(CapabilitySet::empty(), || introduce(origin, ip));
    let Ok(Introduction::Stranger(shown)) = introduced else {
        return Ok(given);
    };
    let (server, file) = (origin.authority(), known_servers::file());
    let failed = cannot("read", &file);
    let known = known_servers::look_up(&file, &server).map_err(failed)?;
    match known {
        Some(known) if known == shown => {}
        Some(_) => return Err(format!("the certificate of {server} is not the one that was accepted before; if the server was set up anew, remove its line from {}, otherwise another server answers there", file.display()).into()),
        None if !is_terminal() => return Ok(given),
        None => {
            let before = known_servers::server_with(&file, &shown).map_err(failed)?;
            if !agrees(&server, &shown, before.as_deref()) {
                return Err(format!("the certificate of {server} was not accepted").into());
            }
            remember(&file, &server, &shown);
        }
    }
    Ok(Trust {
        pin: Some(shown),
        ..given
    })
}

fn agrees(server: &str, shown: &Fingerprint, before: Option<&str>) -> bool {
    note!("The certificate of {server} is not signed by an authority that this system trusts.");
    note!("Its SHA-256 fingerprint: {}", known_servers::digits(shown));
    note!("`unbloat serve` prints the same fingerprint if this is your server.");
    if let Some(before) = before {
        note!("You have accepted this certificate before, for {before}.");
    }
    says_yes("Accept it from now on?")
}

/// That the user agrees to what a service does with what it learns, now or before to the same words.
pub fn agreed(known: &Public) -> Result<(), Failure> {
    let Some(terms) = known.terms() else {
        return Ok(());
    };
    let (name, file) = (known.name, known_servers::file());
    let before = known_servers::look_up(&file, name);
    let before = before.map_err(cannot("read", &file))?;
    if before == Some(terms.digest) {
        return Ok(());
    }
    if !is_terminal() {
        return Err(format!(
            "{}; to agree, run `unbloat test {name}` in a terminal and answer y, once",
            terms.text
        )
        .into());
    }
    note!("{}.", terms.text);
    if !says_yes("Do you agree to that, also for later tests?") {
        return Err(format!(
            "{}; to agree, run `unbloat test {name}` in a terminal and answer y, once",
            terms.text
        )
        .into());
    }
    remember(&file, name, &terms.digest);
    Ok(())
}

fn remember(file: &Path, server: &str, digest: &Fingerprint) {
    if let Err(error) = known_servers::remember(file, server, digest) {
        note!(
            "unbloat: cannot write {}: {error}; the next test asks again",
            file.display()
        );
    }
}

fn is_terminal() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

fn says_yes(question: &str) -> bool {
    let _ = write!(stderr(), "{question} [y/N] ");
    let mut line = String::new();
    let read = stdin().lock().read_line(&mut line);
    read.is_ok() && matches!(line.trim(), "y" | "Y" | "yes")
}
