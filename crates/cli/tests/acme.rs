//! `unbloat serve --acme` with Pebble, the authority that Let's Encrypt tests clients with. What is served is read by openssl and curl.

use serde_json::json;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use unbloat_netns::{Bed, Host};
use unbloat_testkit::needs::{Need, check};

const UNBLOAT: &str = env!("CARGO_BIN_EXE_unbloat");
const ADDRESS: &str = "10.85.0.1";
const DOMAIN: &str = "web.lab";
/// Of certificates: renewed after 10 s, as the last third begins.
const LIFE_S: u64 = 15;

/// A host that is its own authority, so that `web.lab` leads to it.
struct Site {
    _bed: Bed,
    web: Host,
    _elsewhere: Host,
    folder: TempDir,
    running: Vec<Child>,
}

impl Site {
    fn new() -> Site {
        let bed = Bed::new().unwrap();
        let [web, elsewhere] = ["web", "elsewhere"].map(|role| bed.host(role).unwrap());
        web.veth("eth0", &elsewhere, "eth0").unwrap();
        web.address("eth0", format!("{ADDRESS}/24").parse().unwrap())
            .unwrap();
        elsewhere
            .address("eth0", "10.85.0.2/24".parse().unwrap())
            .unwrap();
        let site = Site {
            _bed: bed,
            web,
            _elsewhere: elsewhere,
            folder: tempfile::tempdir().unwrap(),
            running: Vec::new(),
        };
        // With openssl's own configuration it would be an authority's, which no server may use.
        fs::write(
            site.file("plain.conf"),
            "[req]\ndistinguished_name = dn\n[dn]\n",
        )
        .unwrap();
        let words = "req -x509 -config plain.conf -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority -addext";
        let mut made = site.command("openssl", words);
        made.arg(format!("subjectAltName=IP:{ADDRESS}"));
        made.args(["-keyout", "authority.key", "-out", "authority.pem"]);
        assert!(made.output().unwrap().status.success());
        site
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, program: impl AsRef<Path>, words: &str) -> Command {
        let mut command = self.web.command(program.as_ref()).unwrap();
        command
            .args(words.split_whitespace())
            .current_dir(self.folder.path());
        command.stdin(Stdio::null());
        command
    }

    fn start(&mut self, mut command: Command, log: &str) -> u32 {
        let log = File::create(self.file(log)).unwrap();
        command.stdout(Stdio::null()).stderr(log);
        let child = command.spawn().unwrap();
        let id = child.id();
        self.running.push(child);
        id
    }

    fn end(&mut self, id: u32) {
        let at = self
            .running
            .iter()
            .position(|child| child.id() == id)
            .unwrap();
        let mut child = self.running.remove(at);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// The authority, which forgets everything when it ends.
    fn pebble(&mut self) -> u32 {
        let config = json!({"pebble": {
            "listenAddress": format!("{ADDRESS}:14000"),
            "managementListenAddress": format!("{ADDRESS}:15000"),
            "certificate": "authority.pem",
            "privateKey": "authority.key",
            "httpPort": 80,
            "tlsPort": 443,
            "domainBlocklist": ["refused.lab"],
            "retryAfter": {"authz": 1, "order": 1},
            "profiles": {"default": {"description": "short", "validityPeriod": LIFE_S}},
        }});
        fs::write(self.file("pebble.json"), config.to_string()).unwrap();
        let mut command = self.command(pebble(), "-config pebble.json");
        command.env("PEBBLE_VA_NOSLEEP", "1");
        let id = self.start(command, "pebble.log");
        let root = format!("-s --cacert authority.pem https://{ADDRESS}:15000/roots/0 -o root.pem");
        until("pebble answers", || {
            self.command("curl", &root).status().unwrap().success()
        });
        id
    }

    fn serve(&mut self, domain: &str) -> u32 {
        let words =
            format!("serve --no-echo --acme {domain} --acme-directory https://{ADDRESS}:14000/dir");
        let mut command = self.command(UNBLOAT, &words);
        command.env("SSL_CERT_FILE", self.file("authority.pem"));
        command.env("STATE_DIRECTORY", self.file("state"));
        let id = self.start(command, "serve.log");
        until("it listens", || self.told().contains("SHA-256"));
        id
    }

    /// What the server has told.
    fn told(&self) -> String {
        fs::read_to_string(self.file("serve.log")).unwrap()
    }

    /// Serial number of the certificate at port 443, if it is valid for the domain by the authority's root.
    fn valid(&self) -> Result<String, String> {
        let words = "s_client -connect web.lab:443 -servername web.lab -verify_hostname web.lab -verify_return_error -CAfile root.pem";
        let shown = self.command("openssl", words).output().unwrap();
        if !shown.status.success() {
            return Err(String::from_utf8_lossy(&shown.stderr).into_owned());
        }
        fs::write(self.file("shown.pem"), &shown.stdout).unwrap();
        let serial = self
            .command("openssl", "x509 -in shown.pem -noout -serial")
            .output();
        Ok(String::from_utf8(serial.unwrap().stdout).unwrap())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for child in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "not so: {what}");
        sleep(Duration::from_millis(200));
    }
}

fn pebble() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/bin/pebble")
}

fn authority() -> Need {
    check(|| {
        let is_there = pebble().exists();
        is_there
            .then_some(())
            .ok_or("pebble is not installed (tools/install test; needs Go)".to_owned())
    })
}

fn a_certificate_is_had_renewed_and_kept() {
    let mut site = Site::new();
    let authority = site.pebble();
    let server = site.serve(DOMAIN);
    until("a certificate", || {
        site.told().contains("unbloat: new certificate")
    });
    let first = site.valid().unwrap();
    assert!(first.starts_with("serial="), "{first}");
    let key = fs::metadata(site.file("state/acme/10.85.0.1_14000/web.lab.pem")).unwrap();
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&key.permissions()) & 0o077,
        0
    );

    // A download goes on while the certificate is renewed.
    let url =
        "-sS --cacert root.pem --limit-rate 1000k https://web.lab/large?bytes=16000000 -o large";
    let mut download = site.command("curl", url).spawn().unwrap();
    until("another certificate", || site.valid().unwrap() != first);
    assert!(
        download.try_wait().unwrap().is_none(),
        "the download is over too early"
    );
    let second = site.valid().unwrap();
    assert!(download.wait().unwrap().success());
    assert_eq!(fs::metadata(site.file("large")).unwrap().len(), 16_000_000);
    let told = site.told();
    assert!(!told.contains("no new certificate"), "{told}");

    // The authority is gone: the certificate stays, what is wrong is told, and the next start has it too.
    site.end(authority);
    until("it is told", || site.told().contains("no new certificate"));
    let failure = site.told();
    assert!(failure.contains("Connection refused"), "{failure}");
    site.end(server);
    site.serve(DOMAIN);
    // Once it has expired, openssl says so and nothing else.
    let shown = site.valid();
    let is_kept = shown.as_ref() == Ok(&second)
        || shown
            .as_ref()
            .is_err_and(|why| why.contains("certificate has expired"));
    assert!(is_kept, "{shown:?}");

    // It is back, without the accounts that it had.
    site.pebble();
    until("a third certificate", || {
        site.valid()
            .is_ok_and(|serial| serial != first && serial != second)
    });
}

fn what_an_authority_refuses_is_told_and_the_server_serves() {
    let mut site = Site::new();
    site.pebble();
    let lines = [
        ("elsewhere.lab", "could not verify the domain"),
        ("refused.lab", "the authority refuses"),
    ];
    for (domain, why) in lines {
        let server = site.serve(domain);
        until("it is told", || site.told().contains("no new certificate"));
        let told = site.told();
        assert!(told.contains(why), "{told}");
        assert!(told.contains("trying again in 10 min"), "{told}");
        let small = site
            .command("curl", "-sSk https://web.lab:4043/small")
            .output()
            .unwrap();
        assert_eq!(small.stdout.len(), 1);
        site.end(server);
    }
}

unbloat_testkit::main! {
    root("a bed").and(tools(&["openssl", "curl"])).and(authority()) => [
        a_certificate_is_had_renewed_and_kept,
        what_an_authority_refuses_is_told_and_the_server_serves,
    ],
}
