//! Warns before the certificate of this node ends: then every connection is refused.

use std::time::Duration;

use reelyard_core::clock::Millis;

use crate::transport::security::LinkSecurity;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The first and the second warning before the end.
const EARLY: Duration = DAY.saturating_mul(30);
const LATE: Duration = DAY.saturating_mul(7);

/// How much of its time a certificate has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CertificateTerm {
    Long,
    Month,
    Week,
    Ended,
}

impl CertificateTerm {
    fn of(ends: Millis, now: Millis) -> Self {
        match ends.since(now) {
            Duration::ZERO => CertificateTerm::Ended,
            left if left <= LATE => CertificateTerm::Week,
            left if left <= EARLY => CertificateTerm::Month,
            _ => CertificateTerm::Long,
        }
    }
}

/// The last term that was logged, with the end of its certificate.
#[derive(Debug, Default)]
pub(super) struct CertificateWatch(Option<(Millis, CertificateTerm)>);

impl CertificateWatch {
    /// Logs one line when the term changes.
    pub(super) fn look(&mut self, security: &LinkSecurity, now: Millis) {
        let LinkSecurity::Tls(tls) = security else { return };
        let ends = tls.ends();
        let Some(term) = self.news(ends, now) else { return };
        let days = ends.since(now).as_secs() / DAY.as_secs();
        match term {
            CertificateTerm::Long => {}
            CertificateTerm::Month | CertificateTerm::Week => tracing::warn!(
                %ends,
                days,
                "the certificate in cluster.tls.cert_file ends soon: make a new one with \"reelyard cluster certs \
                 renew\", and reload"
            ),
            CertificateTerm::Ended => tracing::error!(
                %ends,
                "the certificate in cluster.tls.cert_file has ended, so other nodes refuse this one: make a new one \
                 with \"reelyard cluster certs renew\", and reload"
            ),
        }
    }

    /// The term, if it is another one than before.
    fn news(&mut self, ends: Millis, now: Millis) -> Option<CertificateTerm> {
        let current = (ends, CertificateTerm::of(ends, now));
        let is_news = self.0 != Some(current);
        self.0 = Some(current);
        is_news.then_some(current.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_warned_of_30_and_7_days_before_its_end() {
        let ends = Millis::from_unix_seconds(1_800_000_000);
        let (mut watch, mut warned) = (CertificateWatch::default(), Vec::new());
        for hours_left in (0..24 * 40).rev() {
            let now = ends.before(Duration::from_secs(hours_left * 3600));
            if let Some(term) = watch.news(ends, now) {
                warned.push((term, hours_left));
            }
        }
        let expected = [
            (CertificateTerm::Long, 24 * 40 - 1),
            (CertificateTerm::Month, 24 * 30),
            (CertificateTerm::Week, 24 * 7),
            (CertificateTerm::Ended, 0),
        ];
        assert_eq!(warned, expected);
        // A new certificate begins again.
        let later = ends.after(DAY * 90);
        assert_eq!(watch.news(later, ends), Some(CertificateTerm::Long));
    }
}
