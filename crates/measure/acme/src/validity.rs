//! From when until when a certificate is valid.

use crate::error::AcmeError;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use unbloat_units::{Delta, Time};
use yasna::tags::TAG_UTCTIME;
use yasna::{ASN1Error, ASN1ErrorKind, ASN1Result, BERReader, BERReaderSeq, Tag, parse_der};

/// By the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    pub from: Time,
    pub until: Time,
}

impl Validity {
    /// Of the first certificate of a chain in PEM.
    pub fn of(chain: &[u8]) -> Result<Validity, AcmeError> {
        let first = CertificateDer::from_pem_slice(chain).map_err(|_| AcmeError::Dates)?;
        let validity = parse_der(&first, certificate).map_err(|_| AcmeError::Dates)?;
        match validity.length().is_negative() {
            true => Err(AcmeError::Dates),
            false => Ok(validity),
        }
    }

    pub fn length(self) -> Delta {
        self.until.since(self.from)
    }
}

/// RFC 5280, section 4.1: of what is signed, the fifth part, or the fourth where the version is the first.
fn certificate(reader: BERReader<'_, '_>) -> ASN1Result<Validity> {
    reader.read_sequence(|certificate| {
        let validity = certificate.next().read_sequence(|signed| {
            signed.read_optional(|version| {
                version.read_tagged(Tag::context(0), |number| number.read_der())
            })?;
            let (_serial, _algorithm, _issuer) = (
                signed.next().read_der()?,
                signed.next().read_der()?,
                signed.next().read_der()?,
            );
            let validity = signed.next().read_sequence(|dates| {
                let from = time(dates.next())?;
                let until = time(dates.next())?;
                Ok(Validity { from, until })
            })?;
            skip_rest(signed)?;
            Ok(validity)
        })?;
        skip_rest(certificate)?;
        Ok(validity)
    })
}

fn time(reader: BERReader<'_, '_>) -> ASN1Result<Time> {
    let seconds = match reader.lookahead_tag()? {
        TAG_UTCTIME => reader.read_utctime()?.datetime().unix_timestamp(),
        _ => reader.read_generalized_time()?.datetime().unix_timestamp(),
    };
    let ns = seconds.checked_mul(1_000_000_000);
    ns.map(Time::from_ns)
        .ok_or_else(|| ASN1Error::new(ASN1ErrorKind::Invalid))
}

fn skip_rest(parts: &mut BERReaderSeq<'_, '_>) -> ASN1Result<()> {
    while parts.read_optional(|part| part.read_der())?.is_some() {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    #[test]
    fn the_dates_are_read_as_they_were_written() {
        let mut params = CertificateParams::new(["a.example".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2026, 1, 2);
        params.not_after = date_time_ymd(2026, 4, 2);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        let found = Validity::of(pem.as_bytes()).unwrap();
        assert_eq!(found.from, Time::from_ns(1_767_312_000_000_000_000));
        assert_eq!(found.length(), Delta::secs(90 * 86_400));
        for odd in [
            "",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ] {
            assert!(Validity::of(odd.as_bytes()).is_err());
        }
    }
}
