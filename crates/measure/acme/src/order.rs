//! One certificate, from the order to the chain.

use crate::error::{AcmeError, words};
use instant_acme::{
    Account, AuthorizationStatus, ChallengeType, Identifier, NewOrder, Order, OrderStatus,
    RetryPolicy,
};
use rcgen::{CertificateParams, CustomExtension, KeyPair};
use std::time::Duration;
use tracing::info;
use unbloat_server::Certificates;

/// How long the authority may take to look at the domain, and to sign.
const POLLING: RetryPolicy = RetryPolicy::new().timeout(Duration::from_secs(90));

/// Chain and key in PEM.
pub struct Issued {
    pub chain: String,
    pub key: String,
}

/// `certificates` shows the proof meanwhile.
pub async fn order(
    account: &Account,
    domain: &str,
    certificates: &Certificates,
) -> Result<Issued, AcmeError> {
    let names = [Identifier::Dns(domain.to_owned())];
    let mut order = account.new_order(&NewOrder::new(&names)).await?;
    info!(domain, "certificate ordered");
    let proven = prove(&mut order, domain, certificates).await;
    certificates.prove_nothing();
    proven?;
    let key = order.finalize().await?;
    let chain = order.poll_certificate(&POLLING).await?;
    Ok(Issued { chain, key })
}

async fn prove(
    order: &mut Order,
    domain: &str,
    certificates: &Certificates,
) -> Result<(), AcmeError> {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization?;
        if authorization.status == AuthorizationStatus::Valid {
            continue;
        }
        let challenge = authorization.challenge(ChallengeType::TlsAlpn01);
        let mut challenge = challenge.ok_or(AcmeError::NoChallenge)?;
        let proof = proof(domain, challenge.key_authorization().digest().as_ref())?;
        certificates.prove(proof.chain.as_bytes(), proof.key.as_bytes())?;
        challenge.set_ready().await?;
    }
    match order.poll_ready(&POLLING).await {
        Ok(OrderStatus::Ready | OrderStatus::Valid) => Ok(()),
        Ok(_) => Err(AcmeError::Unproven(reason(order).await)),
        Err(instant_acme::Error::Api(problem)) => Err(AcmeError::Unproven(words(&problem))),
        Err(instant_acme::Error::Timeout(_)) => Err(AcmeError::Unproven(
            "it did not say in time whether the domain is this server's".to_owned(),
        )),
        Err(error) => Err(error.into()),
    }
}

/// What the authority met when it looked.
async fn reason(order: &mut Order) -> String {
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        let Ok(state) = authorization.refresh().await else {
            continue;
        };
        let problems = state.challenges.iter().filter_map(|one| one.error.as_ref());
        if let Some(problem) = problems.into_iter().next() {
            return words(problem);
        }
    }
    "it gives no reason".to_owned()
}

/// The certificate that answers the challenge (RFC 8737, section 3): of the domain, by ourselves, with the authority's token.
fn proof(domain: &str, digest: &[u8]) -> Result<Issued, AcmeError> {
    let mut params = CertificateParams::new([domain.to_owned()])?;
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let key = KeyPair::generate()?;
    Ok(Issued {
        chain: params.self_signed(&key)?.pem(),
        key: key.serialize_pem(),
    })
}
