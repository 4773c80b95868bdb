//! Whether certificates are valid now. A server with an expired certificate can encrypt, but clients that verify it do
//! not connect.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use colonnade_login::certificate::Certificate;
use jiff::Timestamp;

use super::Pem;
use super::config::certificates;

/// A certificate that is not valid now, or not for long.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {}; replace {}, then send SIGHUP", shown(*.at), .path.display())]
pub struct ValidityFault {
    /// The file.
    pub path: PathBuf,
    kind: FaultKind,
    /// Seconds since 1970.
    at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultKind {
    Expired,
    Expires,
    NotYetValid,
}

impl std::fmt::Display for FaultKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Expired => "the certificate expired at",
            Self::Expires => "the certificate expires at",
            Self::NotYetValid => "the certificate is not valid before",
        })
    }
}

/// From this time before its end on, a certificate is reported.
const SOON: u64 = 7 * 24 * 3600;

impl Pem {
    /// The first fault of each file: of the server's certificates, and of the authorities for clients' certificates.
    pub fn validity_faults(&self, now: SystemTime) -> Vec<ValidityFault> {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let files = [
            (Some(&self.files.certificate), Some(&self.certificate)),
            (self.files.client_authorities.as_ref(), self.client_authorities.as_ref()),
        ];
        files.into_iter().filter_map(|(path, text)| first_fault(path?, text?, now)).collect()
    }
}

fn first_fault(path: &Path, text: &[u8], now: u64) -> Option<ValidityFault> {
    let all = certificates(path, text).ok()?;
    all.iter().filter_map(|der| Certificate::parse(der)).find_map(|certificate| {
        let (kind, at) = fault(certificate.validity, now)?;
        Some(ValidityFault { path: path.to_owned(), kind, at })
    })
}

fn fault((first, last): (u64, u64), now: u64) -> Option<(FaultKind, u64)> {
    if now > last {
        Some((FaultKind::Expired, last))
    } else if now < first {
        Some((FaultKind::NotYetValid, first))
    } else if last - now < SOON && last - first > 2 * SOON {
        // A certificate that was made for some days is replaced as often.
        Some((FaultKind::Expires, last))
    } else {
        None
    }
}

/// A time as `2026-11-27T07:00:00Z`.
fn shown(second: u64) -> String {
    let time = i64::try_from(second).ok().and_then(|second| Timestamp::from_second(second).ok());
    time.map_or_else(|| format!("second {second} since 1970"), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_reported_around_its_end_and_before_its_start() {
        let day = 24 * 3600;
        let year = (1000 * day, 1365 * day);
        assert_eq!(fault(year, 999 * day), Some((FaultKind::NotYetValid, 1000 * day)));
        assert_eq!(fault(year, 1000 * day), None);
        assert_eq!(fault(year, 1357 * day), None);
        assert_eq!(fault(year, 1359 * day), Some((FaultKind::Expires, 1365 * day)));
        assert_eq!(fault(year, 1365 * day), Some((FaultKind::Expires, 1365 * day)));
        assert_eq!(fault(year, 1365 * day + 1), Some((FaultKind::Expired, 1365 * day)));
        let week = (1000 * day, 1007 * day);
        assert_eq!(fault(week, 1006 * day), None);
        assert_eq!(fault(week, 1008 * day), Some((FaultKind::Expired, 1007 * day)));
    }

    #[test]
    fn the_text_names_the_time_and_the_file() {
        let fault = ValidityFault { path: "server.crt".into(), kind: FaultKind::Expired, at: 1_609_459_200 };
        assert_eq!(
            fault.to_string(),
            "the certificate expired at 2021-01-01T00:00:00Z; replace server.crt, then send SIGHUP"
        );
    }
}
