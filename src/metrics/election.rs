//! `leader_election_master_status` and what the elector counts.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::kubernetes::leadership::Leadership;
use crate::kubernetes::leadership::stats::ElectionStats;

/// Reads the leadership when it is asked.
#[derive(Debug)]
pub struct ElectionCollector {
    /// Whether this replica leads.
    pub leadership: Leadership,
    /// The elector's numbers.
    pub stats: ElectionStats,
    /// The name of the Lease.
    pub name: String,
}

impl Collector for ElectionCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let leads = ConstGauge::new(i64::from(self.leadership.is_leading()));
        let mut status = encoder.encode_descriptor(
            "leader_election_master_status",
            "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, \
             1 indicates master. 'name' is the string used to identify the lease. Please make sure \
             to group by name.",
            None,
            leads.metric_type(),
        )?;
        let label = [("name", self.name.as_str())];
        leads.encode(status.encode_family(&label)?)?;
        let numbers = self.stats.read();
        for (name, help, value) in [
            (
                "bayplan_lease_transitions",
                "Times this replica began or ceased to lead",
                numbers.transitions,
            ),
            (
                "bayplan_lease_attempts",
                "Looks at the Lease",
                numbers.attempts,
            ),
            (
                "bayplan_lease_failures",
                "Looks at the Lease that failed",
                numbers.failures,
            ),
            (
                "bayplan_lease_conflicts",
                "Writes of the Lease that lost a race",
                numbers.conflicts,
            ),
        ] {
            let counter = ConstCounter::new(value);
            let metric = encoder.encode_descriptor(name, help, None, counter.metric_type())?;
            counter.encode(metric)?;
        }
        Ok(())
    }
}
