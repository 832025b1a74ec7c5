//! The page, which is within the program: it needs nothing from elsewhere.

#[derive(Debug, PartialEq, Eq)]
pub struct Asset {
    path: &'static str,
    pub kind: &'static str,
    pub text: &'static str,
}

static ASSETS: &[Asset] = &[Asset {
    path: "/",
    kind: "text/html; charset=utf-8",
    text: include_str!("../web/index.html"),
}];

pub fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}
