//! Certificates that somebody else renews in place, as certbot does. What is served is read by openssl and curl.

use serde_json::Value;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;
use unbloat_testkit::until;

const UNBLOAT: &str = env!("CARGO_BIN_EXE_unbloat");

/// A server with a certificate in files that are links to versions, as certbot keeps them.
struct Site {
    folder: TempDir,
    server: Option<Child>,
    address: String,
    version: u32,
}

impl Site {
    fn new() -> Site {
        let mut site = Site {
            folder: tempfile::tempdir().unwrap(),
            server: None,
            address: String::new(),
            version: 0,
        };
        site.renew();
        let mut command = site.command(
            UNBLOAT,
            "serve --json --no-echo --listen 127.0.0.1:0 --cert fullchain.pem --key privkey.pem",
        );
        command
            .stdout(Stdio::piped())
            .stderr(File::create(site.file("told")).unwrap());
        let mut server = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let at: Value = serde_json::from_str(&line).unwrap();
        site.address = at["tls"].as_str().unwrap().to_owned();
        site.server = Some(server);
        site
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, program: &str, words: &str) -> Command {
        let mut command = Command::new(program);
        command
            .args(words.split(' '))
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// A new version of certificate and key, to which the links lead at once.
    fn renew(&mut self) {
        self.version += 1;
        let version = self.version;
        let words = format!(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=v{version} -addext subjectAltName=DNS:a.example -keyout privkey{version}.pem -out fullchain{version}.pem"
        );
        assert!(
            self.command("openssl", &words)
                .output()
                .unwrap()
                .status
                .success()
        );
        for name in ["fullchain", "privkey"] {
            let link = self.file("link");
            symlink(format!("{name}{version}.pem"), &link).unwrap();
            fs::rename(link, self.file(&format!("{name}.pem"))).unwrap();
        }
    }

    /// The subject of the certificate that a new connection gets.
    fn shown(&self) -> String {
        let words = format!("s_client -connect {} -servername a.example", self.address);
        let shown = self.command("openssl", &words).output().unwrap();
        fs::write(self.file("shown.pem"), shown.stdout).unwrap();
        let subject = self
            .command("openssl", "x509 -in shown.pem -noout -subject")
            .output();
        String::from_utf8(subject.unwrap().stdout)
            .unwrap()
            .trim()
            .to_owned()
    }

    fn told(&self) -> String {
        fs::read_to_string(self.file("told")).unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

fn a_renewed_certificate_is_shown_and_downloads_go_on() {
    let mut site = Site::new();
    assert_eq!(site.shown(), "subject=CN = v1");
    let words = format!(
        "-sSk --limit-rate 2000k https://{}/large?bytes=20000000 -o large",
        site.address
    );
    let mut download = site.command("curl", &words).spawn().unwrap();
    sleep(Duration::from_secs(1));
    site.renew();
    until("the new one is shown", || site.shown() == "subject=CN = v2");
    assert!(
        download.try_wait().unwrap().is_none(),
        "the download is over too early"
    );
    assert!(download.wait().unwrap().success());
    assert_eq!(fs::metadata(site.file("large")).unwrap().len(), 20_000_000);
}

fn what_cannot_be_used_is_told_and_changes_nothing() {
    let mut site = Site::new();
    let old_key = fs::read(site.file("privkey1.pem")).unwrap();
    site.renew();
    until("the new one is shown", || site.shown() == "subject=CN = v2");
    // The key of another certificate.
    fs::write(site.file("privkey2.pem"), old_key).unwrap();
    until("it is told", || {
        site.told().contains("certificate and key cannot be used")
    });
    site.renew();
    until("the third one is shown", || {
        site.shown() == "subject=CN = v3"
    });
    let open = Permissions::from_mode(0o604);
    fs::set_permissions(site.file("privkey3.pem"), open).unwrap();
    until("it is told", || {
        site.told().contains("accessible to every user")
    });
    fs::remove_file(site.file("fullchain.pem")).unwrap();
    until("it is told", || {
        site.told().contains("cannot read fullchain.pem")
    });
    assert_eq!(site.shown(), "subject=CN = v3");
    let told = site.told();
    assert_eq!(
        told.matches("serving the previous one").count(),
        3,
        "{told}"
    );
}

unbloat_testkit::main! {
    tools(&["openssl", "curl"]) => [
        a_renewed_certificate_is_shown_and_downloads_go_on,
        what_cannot_be_used_is_told_and_changes_nothing,
    ],
}
