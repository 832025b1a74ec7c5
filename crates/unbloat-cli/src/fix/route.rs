//! By which device packets go to a server.

use super::FixError;
use serde::Deserialize;
use std::net::IpAddr;
use std::process::Command;
use unbloat_sqm::Device;

#[derive(Deserialize)]
struct Route {
    dev: String,
}

pub fn device_to(address: IpAddr) -> Result<Device, FixError> {
    let failed = |why: String| FixError::NoDevice { address, why };
    let asked = Command::new("ip")
        .args(["-json", "route", "get", &address.to_string()])
        .output()
        .map_err(|error| failed(format!("ip (iproute2) cannot be run: {error}")))?;
    if !asked.status.success() {
        let said = String::from_utf8_lossy(&asked.stderr);
        return Err(failed(
            said.chars().take(200).collect::<String>().trim().to_owned(),
        ));
    }
    of_answer(&asked.stdout).map_err(failed)
}

fn of_answer(answer: &[u8]) -> Result<Device, String> {
    let routes: Vec<Route> = serde_json::from_slice(answer).map_err(|error| error.to_string())?;
    let route = routes.into_iter().next().ok_or("no route")?;
    route.dev.parse().map_err(|error| format!("{error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_is_read_from_what_ip_says_and_nothing_else_is_taken_for_one() {
        let said = br#"[{"dst":"192.0.2.1","gateway":"10.0.0.1","dev":"eth0","prefsrc":"10.0.0.2","uid":0,"cache":[]}]"#;
        assert_eq!(of_answer(said).unwrap().as_str(), "eth0");
        for hostile in [&b""[..], b"[]", b"{}", br#"[{"dev":"a;reboot"}]"#] {
            assert!(of_answer(hostile).is_err());
        }
    }
}
