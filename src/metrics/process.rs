//! `process_*`, as every Prometheus client has them, read from `/proc`.

use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Clock ticks a second on every Linux that Rust runs on (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;
/// Bytes of a page on the platforms that are built for.
const PAGE_BYTES: i64 = 4096;

/// Reads `/proc/self` when it is asked; says nothing where there is none.
#[derive(Clone, Copy, Debug)]
pub struct ProcessCollector;

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        if let Some(seconds) = cpu_seconds() {
            let counter = ConstCounter::new(seconds);
            let help = "Total user and system CPU time spent in seconds.";
            let metric = encoder.encode_descriptor(
                "process_cpu_seconds",
                help,
                None,
                counter.metric_type(),
            )?;
            counter.encode(metric)?;
        }
        let gauges = [
            (
                "process_resident_memory_bytes",
                "Resident memory size in bytes.",
                resident_bytes(),
            ),
            (
                "process_open_fds",
                "Number of open file descriptors.",
                open_files(),
            ),
            (
                "process_threads",
                "Number of OS threads in the process.",
                threads(),
            ),
        ];
        for (name, help, value) in gauges {
            if let Some(value) = value {
                let gauge = ConstGauge::new(value);
                let metric = encoder.encode_descriptor(name, help, None, gauge.metric_type())?;
                gauge.encode(metric)?;
            }
        }
        Ok(())
    }
}

/// The fields of `/proc/self/stat` after the name, which may hold blanks.
fn stat_fields() -> Option<Vec<String>> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

fn cpu_seconds() -> Option<f64> {
    let fields = stat_fields()?;
    // utime and stime are fields 14 and 15 of the whole line.
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / TICKS_PER_SECOND)
}

fn threads() -> Option<i64> {
    stat_fields()?.get(17)?.parse().ok()
}

fn resident_bytes() -> Option<i64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: i64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * PAGE_BYTES)
}

fn open_files() -> Option<i64> {
    i64::try_from(fs::read_dir("/proc/self/fd").ok()?.count()).ok()
}
