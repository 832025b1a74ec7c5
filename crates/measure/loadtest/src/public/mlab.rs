//! M-Lab's nearest servers of ndt7.
//!
//! # References
//! M-Lab's Locate API 2.0.0 (m-lab/locate, `USAGE.md`): up to four servers, the nearest first, with URLs that contain a token of short life. A
//! client tries the next server if one refuses it, and tells the user if all do.

use super::{BOUND, Public};
use crate::options::Options;
use crate::service::Service;
use crate::target::{Origin, Target};
use hyper::Uri;
use serde::Deserialize;

pub(super) const PUBLIC: Public = Public {
    name: "mlab",
    host: "locate.measurementlab.net",
    policy: "https://www.measurementlab.net/privacy/",
    publishes: true,
    target: |host| {
        Target::Mlab(Origin {
            host: host.to_owned(),
            port: 443,
            is_tls: true,
            path: "/v2/nearest/ndt/ndt7".to_owned(),
        })
    },
};

/// All of M-Lab's servers.
const SERVERS: &str = ".measurement-lab.org";
/// As many as the service names.
const MOST: usize = 4;

/// One of the servers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Nearest {
    pub(crate) origin: Origin,
    pub(crate) service: Service,
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<Machine>,
}

#[derive(Deserialize)]
struct Machine {
    urls: Urls,
}

#[derive(Deserialize)]
struct Urls {
    #[serde(rename = "wss:///ndt/v7/download")]
    download: String,
    #[serde(rename = "wss:///ndt/v7/upload")]
    upload: String,
}

/// The servers that an answer of the Locate service names, the nearest first; why there are none, in words. Such a server is one of M-Lab's, or on
/// the host that answered.
pub(crate) fn nearest(
    text: &[u8],
    asked: &Origin,
    options: &Options,
) -> Result<Vec<Nearest>, String> {
    if text.is_empty() {
        return Err("it has no server to offer at this time; test again later".to_owned());
    }
    let answer: Answer =
        serde_json::from_slice(text).map_err(|error| crate::service::unread(text, &error))?;
    let machines = answer.results.iter().take(MOST);
    let found = machines.map(|machine| server(&machine.urls, asked, options));
    let found: Vec<Nearest> = found.collect::<Result<_, String>>()?;
    match found.is_empty() {
        true => Err("it names no server".to_owned()),
        false => Ok(found),
    }
}

fn server(urls: &Urls, asked: &Origin, options: &Options) -> Result<Nearest, String> {
    let (origin, upload) = (place(&urls.download)?, place(&urls.upload)?);
    if (&upload.host, upload.port) != (&origin.host, origin.port) {
        return Err(format!("the URLs of {} are on two servers", origin.host));
    }
    if !origin.host.ends_with(SERVERS) && origin.host != asked.host {
        return Err(format!("{:?} is no server of M-Lab", origin.host));
    }
    let service = Service {
        large: origin.path.clone(),
        upload: upload.path,
        bound: Some(BOUND),
        ..Service::ndt7(origin.port, options)
    };
    Ok(Nearest { origin, service })
}

fn place(url: &str) -> Result<Origin, String> {
    let uri: Uri = url.parse().map_err(|_| "it names no URL".to_owned())?;
    let path = uri.path_and_query().map(|path| path.as_str());
    match (uri.scheme_str(), uri.host(), path) {
        (Some("wss"), Some(host), Some(path)) if path.starts_with('/') => Ok(Origin {
            host: host.to_ascii_lowercase(),
            port: uri.port_u16().unwrap_or(443),
            is_tls: true,
            path: path.to_owned(),
        }),
        _ => Err("it names a URL that is not of wss".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(download: &str, upload: &str) -> String {
        format!(
            r#"{{"machine":"m","location":{{"city":"X"}},"urls":{{"ws:///ndt/v7/download":"ws://x/","wss:///ndt/v7/download":"{download}","wss:///ndt/v7/upload":"{upload}"}}}}"#
        )
    }

    fn said(machines: &[String]) -> Result<Vec<Nearest>, String> {
        let target: Target = "mlab".parse().unwrap();
        let text = format!(r#"{{"results":[{}]}}"#, machines.join(","));
        let origin = target.origin().unwrap().clone();
        nearest(text.as_bytes(), &origin, &Options::of(target))
    }

    #[test]
    fn the_nearest_comes_first_with_its_tokens() {
        let near = |n: u32| {
            let url = |way: &str| {
                format!("wss://ndt-{n}.measurement-lab.org/ndt/v7/{way}?access_token={way}{n}")
            };
            machine(&url("download"), &url("upload"))
        };
        let all: Vec<String> = (1..=9).map(near).collect();
        let found = said(&all).unwrap();
        assert_eq!(found.len(), MOST);
        let Nearest { origin, service } = &found[0];
        assert_eq!(
            (&origin.host[..], origin.port),
            ("ndt-1.measurement-lab.org", 443)
        );
        assert_eq!(service.large, "/ndt/v7/download?access_token=download1");
        assert_eq!(service.upload, "/ndt/v7/upload?access_token=upload1");
        assert_eq!(service.bound, Some(BOUND));
    }

    #[test]
    fn servers_of_others_are_refused() {
        let ours = "wss://a.measurement-lab.org/ndt/v7/x";
        for (download, upload, why) in [
            (
                "wss://victim.example/",
                "wss://victim.example/",
                "no server of M-Lab",
            ),
            (
                "wss://measurement-lab.org.example/",
                "wss://measurement-lab.org.example/",
                "no server",
            ),
            (ours, "wss://b.measurement-lab.org/", "two servers"),
            (ours, "wss://a.measurement-lab.org:22/", "two servers"),
            ("ws://a.measurement-lab.org/", ours, "not of wss"),
            ("/ndt", ours, "not of wss"),
            ("", ours, "no URL"),
            ("wss://a.measurement-lab.org/x\\r\\nhost: b", ours, "no URL"),
            ("wss://a.measurement-lab.org\\u001b]0;x/", ours, "no URL"),
        ] {
            let error = said(&[machine(download, upload)]).unwrap_err();
            assert!(error.contains(why), "{download} {upload}: {error}");
        }
        for other in [
            "wss://10.0.0.1/x",
            "wss://[::1]/x",
            "wss://a.measurement-lab.org@victim.example/x",
            "wss://a.measurement-lab.org./x",
        ] {
            let error = said(&[machine(other, other)]).unwrap_err();
            assert!(error.contains("no server of M-Lab"), "{other}: {error}");
        }
        assert!(said(&[]).unwrap_err().contains("no server"));
    }
}
