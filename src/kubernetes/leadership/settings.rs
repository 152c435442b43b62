//! What an election needs to know, and which durations go together.

use std::time::Duration;

use uuid::Uuid;

/// client-go multiplies the retry period by up to this much; kept as the bound so that what kube-scheduler refuses is
/// refused here (`k8s.io/client-go/tools/leaderelection`, `JitterFactor`).
const JITTER_FACTOR: f64 = 1.2;
/// Records with a longer duration are read as this long, so no leader may count on more.
pub(crate) const LEASE_DURATION_MAX: Duration = Duration::from_hours(1);
/// The API server refuses a longer `fieldManager`, which is the identity.
const IDENTITY_MAX: usize = 128;
const UUID_LENGTH: usize = 36;

/// The settings of one candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionSettings {
    /// `metadata.name` of the Lease.
    pub lease_name: String,
    /// `metadata.namespace` of the Lease.
    pub lease_namespace: String,
    /// Unique to the process, see [`new_identity`].
    pub identity: String,
    /// How long others wait after the last renewal that they saw.
    pub lease_duration: Duration,
    /// How long a leader goes on after the last renewal that succeeded.
    pub renew_deadline: Duration,
    /// Time between two looks at the Lease.
    pub retry_period: Duration,
    /// A leader whose scheduling loop gave no sign of life for this long stops renewing.
    pub heartbeat_limit: Duration,
}

/// Durations that do not go together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidElectionSettings {
    /// The record holds whole seconds, and the API server wants at least one.
    #[error("lease duration {0:?} is not a whole number of seconds: use 15s, for example")]
    LeaseDurationNotWhole(Duration),
    /// Candidates read a longer one as an hour.
    #[error("lease duration {0:?} is longer than 1h: use 15s, for example")]
    LeaseDurationTooLong(Duration),
    /// Two replicas could lead at once.
    #[error(
        "lease duration {lease_duration:?} must be longer than the renew deadline {renew_deadline:?}: raise the one or lower the other"
    )]
    RenewDeadlineTooLong {
        /// As given.
        lease_duration: Duration,
        /// As given.
        renew_deadline: Duration,
    },
    /// A single failed renewal would end the leadership.
    #[error(
        "renew deadline {renew_deadline:?} must be longer than 1.2 times the retry period {retry_period:?}: raise the one or lower the other"
    )]
    RetryPeriodTooLong {
        /// As given.
        renew_deadline: Duration,
        /// As given.
        retry_period: Duration,
    },
    /// The loop around the Lease would not pause.
    #[error("retry period must be longer than 0s: use 2s, for example")]
    RetryPeriodZero,
    /// An empty one means "nobody", a longer one is refused by the API server.
    #[error("identity {0:?} must have 1 to {IDENTITY_MAX} characters")]
    Identity(String),
}

impl ElectionSettings {
    /// Checks what upstream checks (`lease > renew deadline > 1.2 × retry period`), and that the record can express it.
    pub fn validate(&self) -> Result<(), InvalidElectionSettings> {
        use InvalidElectionSettings as Invalid;
        let (lease, renew, retry) = (self.lease_duration, self.renew_deadline, self.retry_period);
        if lease.is_zero() || lease.subsec_nanos() != 0 {
            return Err(Invalid::LeaseDurationNotWhole(lease));
        }
        if lease > LEASE_DURATION_MAX {
            return Err(Invalid::LeaseDurationTooLong(lease));
        }
        if lease <= renew {
            return Err(Invalid::RenewDeadlineTooLong {
                lease_duration: lease,
                renew_deadline: renew,
            });
        }
        if retry.is_zero() {
            return Err(Invalid::RetryPeriodZero);
        }
        if renew <= retry.mul_f64(JITTER_FACTOR) {
            return Err(Invalid::RetryPeriodTooLong {
                renew_deadline: renew,
                retry_period: retry,
            });
        }
        if self.identity.is_empty() || self.identity.len() > IDENTITY_MAX {
            return Err(Invalid::Identity(self.identity.clone()));
        }
        Ok(())
    }

    /// The longest one look at the Lease may take: three fit into the renew deadline.
    pub(crate) fn attempt_timeout(&self) -> Duration {
        self.renew_deadline / 3
    }
}

/// `hostname_uuid`: a restarted process must not be taken for the one before it.
pub fn new_identity() -> String {
    let host = hostname::get()
        .ok()
        .and_then(|name| name.into_string().ok())
        .unwrap_or_else(|| "unknown".to_owned());
    identity_of(&host, Uuid::new_v4())
}

fn identity_of(host: &str, uuid: Uuid) -> String {
    let room = IDENTITY_MAX - UUID_LENGTH - 1;
    let host = host
        .char_indices()
        .map(|(start, c)| start + c.len_utf8())
        .take_while(|end| *end <= room)
        .last()
        .map_or("", |end| &host[..end]);
    format!("{host}_{uuid}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaults() -> ElectionSettings {
        ElectionSettings {
            lease_name: "bayplan".into(),
            lease_namespace: "kube-system".into(),
            identity: "a".into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            heartbeat_limit: Duration::from_secs(10),
        }
    }

    #[test]
    fn upstream_defaults_are_valid() {
        assert_eq!(defaults().validate(), Ok(()));
    }

    #[test]
    fn durations_that_could_give_two_leaders_are_refused_with_the_remedy() {
        let mut settings = defaults();
        settings.renew_deadline = Duration::from_secs(15);
        assert_eq!(
            settings.validate().unwrap_err().to_string(),
            "lease duration 15s must be longer than the renew deadline 15s: raise the one or lower the other"
        );
    }

    #[test]
    fn each_bound_is_checked() {
        use InvalidElectionSettings as Invalid;
        type Case = (fn(&mut ElectionSettings), fn(&Invalid) -> bool);
        let cases: [Case; 6] = [
            (
                |s| s.lease_duration = Duration::from_millis(15_500),
                |e| matches!(e, Invalid::LeaseDurationNotWhole(_)),
            ),
            (
                |s| s.lease_duration = Duration::from_secs(3_601),
                |e| matches!(e, Invalid::LeaseDurationTooLong(_)),
            ),
            (
                |s| s.retry_period = Duration::from_millis(8_334),
                |e| matches!(e, Invalid::RetryPeriodTooLong { .. }),
            ),
            (
                |s| s.retry_period = Duration::ZERO,
                |e| matches!(e, Invalid::RetryPeriodZero),
            ),
            (
                |s| s.identity = String::new(),
                |e| matches!(e, Invalid::Identity(_)),
            ),
            (
                |s| s.identity = "x".repeat(129),
                |e| matches!(e, Invalid::Identity(_)),
            ),
        ];
        for (index, (change, expected)) in cases.into_iter().enumerate() {
            let mut settings = defaults();
            change(&mut settings);
            assert!(expected(&settings.validate().unwrap_err()), "case {index}");
        }
    }

    #[test]
    fn two_processes_of_one_host_differ_and_a_long_host_name_is_cut() {
        assert_ne!(new_identity(), new_identity());
        let identity = identity_of(&"ö".repeat(100), Uuid::nil());
        assert!(identity.len() <= IDENTITY_MAX);
        assert!(identity.ends_with("ö_00000000-0000-0000-0000-000000000000"));
    }
}
