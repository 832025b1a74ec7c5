//! A certificate at all times, while the server runs.

use crate::authority::OneHost;
use crate::error::AcmeError;
use crate::order::{Issued, order};
use crate::schedule::{Now, Schedule};
use crate::store::Wanted;
use crate::validity::Validity;
use instant_acme::{Account, NewAccount};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tracing::info;
use unbloat_server::Certificates;
use unbloat_units::{Delta, Time};

/// How often it is looked whether anything is to be done.
const LOOKS: Duration = Duration::from_millis(200);
/// For all that leads to one certificate.
const PATIENCE: Duration = Duration::from_secs(300);

/// What a person should know.
pub enum Event {
    /// New connections see a new certificate, which is valid until then.
    Renewed { until: Time },
    /// The new certificate is in use, but the next start will not find it.
    NotStored { error: AcmeError },
    /// The server goes on with the certificate that it has.
    Failed { error: AcmeError, retry: Delta },
}

/// Gets and renews the certificate until `stop`; what goes wrong is told and tried again.
///
/// # Errors
/// None that could pass: only that nothing can begin.
pub fn keep(
    wanted: &Wanted,
    certificates: &Certificates,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event),
) -> Result<(), AcmeError> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().map_err(AcmeError::Start)?;
    let earlier = wanted.stored()?;
    let found = earlier.and_then(|earlier| Validity::of(&earlier.chain).ok());
    let mut schedule = Schedule::of(found, Now::read());
    let stopped = async {
        while !stop.load(Ordering::Relaxed) {
            sleep(LOOKS).await;
        }
    };
    let renewals = async {
        loop {
            if !schedule.is_due(Now::read()) {
                sleep(LOOKS).await;
                continue;
            }
            let renewed = timeout(PATIENCE, renew(wanted, certificates)).await;
            match renewed.unwrap_or(Err(AcmeError::Slow(PATIENCE.as_secs()))) {
                Ok((validity, stored)) => {
                    schedule = Schedule::of(Some(validity), Now::read());
                    let until = validity.until;
                    tell(Event::Renewed { until });
                    if let Err(error) = stored {
                        tell(Event::NotStored { error });
                    }
                }
                Err(error) => {
                    let retry = schedule.failed(Now::read());
                    tell(Event::Failed { error, retry });
                }
            }
        }
    };
    runtime.block_on(async {
        tokio::select! {
            () = stopped => {}
            () = renewals => {}
        }
    });
    certificates.prove_nothing();
    Ok(())
}

/// A certificate that is in use; and whether the next start will find it.
async fn renew(
    wanted: &Wanted,
    certificates: &Certificates,
) -> Result<(Validity, Result<(), AcmeError>), AcmeError> {
    let issued = match issue(wanted, certificates).await {
        Err(AcmeError::Forgotten) => {
            wanted.forget_account()?;
            issue(wanted, certificates).await?
        }
        issued => issued?,
    };
    let validity = Validity::of(issued.chain.as_bytes())?;
    certificates.replace(issued.chain.as_bytes(), issued.key.as_bytes())?;
    Ok((validity, wanted.store(&issued)))
}

async fn issue(wanted: &Wanted, certificates: &Certificates) -> Result<Issued, AcmeError> {
    let account = account(wanted).await?;
    order(&account, &wanted.domain, certificates).await
}

async fn account(wanted: &Wanted) -> Result<Account, AcmeError> {
    let builder = Account::builder_with_http(Box::new(OneHost::of(&wanted.directory)?));
    if let Some(stored) = wanted.stored_account()? {
        return Ok(builder.from_credentials(stored).await?);
    }
    let new = NewAccount {
        contact: &[],
        terms_of_service_agreed: true,
        only_return_existing: false,
    };
    let directory = wanted.directory.clone();
    let (account, credentials) = builder.create(&new, directory, None).await?;
    wanted.store_account(&credentials)?;
    info!(account = account.id(), "account made");
    Ok(account)
}
