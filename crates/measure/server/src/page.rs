//! The page, which is within the program: it needs nothing from elsewhere.

#[derive(Debug, PartialEq, Eq)]
pub struct Asset {
    path: &'static str,
    pub kind: &'static str,
    pub text: &'static str,
}

/// The browser sees to it that the page has nothing from elsewhere, runs nothing that stands in its text, and is in
/// nobody's frame.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; worker-src 'self'; connect-src 'self'; \
     img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Files of `web/` by their names.
macro_rules! assets {
    ($kind:literal: $($file:literal),*) => {
        [$(Asset { path: concat!("/", $file), kind: $kind, text: include_str!(concat!("../web/", $file)) }),*]
    };
}

static INDEX: [Asset; 1] = [Asset {
    path: "/",
    kind: "text/html; charset=utf-8",
    text: include_str!("../web/index.html"),
}];

static STYLES: [Asset; 1] = assets!("text/css; charset=utf-8": "page.css");

static SCRIPTS: [Asset; 15] = assets!(
    "text/javascript; charset=utf-8":
    "account.js", "clock.js", "history.js", "life.js", "live.js", "load.js", "numbers.js", "page.js", "plot.js", "probe.js",
    "record.js", "run.js", "shared.js", "show.js", "stages.js"
);

pub fn find(path: &str) -> Option<&'static Asset> {
    let mut assets = INDEX.iter().chain(&STYLES).chain(&SCRIPTS);
    assets.find(|asset| asset.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_file_of_the_page_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
        let names = folder.read_dir().unwrap().map(|f| f.unwrap().file_name());
        for name in names.map(|n| n.into_string().unwrap()) {
            let path = match name.as_str() {
                "index.html" => "/".to_owned(),
                // Tells node what the files are, which browsers know.
                "package.json" => continue,
                name => format!("/{name}"),
            };
            let kind = find(&path).map(|asset| asset.kind);
            let ending = name.rsplit('.').next().unwrap();
            let expected = match ending {
                "js" => "text/javascript",
                other => &format!("text/{other}"),
            };
            assert!(kind.is_some_and(|k| k.starts_with(expected)), "{name}");
        }
    }

    #[test]
    fn the_page_names_nothing_from_elsewhere() {
        for asset in INDEX.iter().chain(&STYLES).chain(&SCRIPTS) {
            let addresses = asset.text.matches("://").count();
            assert_eq!(addresses, 0, "{}", asset.path);
        }
    }
}
