//! Figures of this process from `/proc`, under the names that every Prometheus client gives them. Must never fail a
//! scrape: a figure that cannot be read is left out.

use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Ticks a second of the times in `/proc/<pid>/stat`: `USER_HZ`, which Linux has fixed at 100 for user space on all
/// architectures we build for.
const TICKS_PER_SECOND: f64 = 100.0;

/// Reads `/proc/self` at each scrape.
#[derive(Debug)]
pub(super) struct ProcessCollector;

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        if let Some(seconds) = fs::read_to_string("/proc/self/stat")
            .ok()
            .as_deref()
            .and_then(cpu_seconds)
        {
            let counter = ConstCounter::new(seconds);
            let help = "User and system CPU time spent, in seconds";
            counter.encode(encoder.encode_descriptor("process_cpu_seconds", help, None, counter.metric_type())?)?;
        }
        if let Some(bytes) = fs::read_to_string("/proc/self/status")
            .ok()
            .as_deref()
            .and_then(resident_bytes)
        {
            let gauge = ConstGauge::new(bytes);
            let help = "Resident memory, in bytes";
            gauge.encode(encoder.encode_descriptor(
                "process_resident_memory_bytes",
                help,
                None,
                MetricType::Gauge,
            )?)?;
        }
        Ok(())
    }
}

/// User plus system time from the text of `/proc/<pid>/stat` (proc(5): fields 14 and 15). The command in field 2 is
/// bracketed and may hold spaces, so counting begins behind the last bracket.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some((f64::from(user) + f64::from(system)) / TICKS_PER_SECOND)
}

/// Resident memory from the text of `/proc/<pid>/status` (proc(5): `VmRSS`, in kibibytes).
fn resident_bytes(status: &str) -> Option<i64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: i64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_read_behind_a_command_with_brackets_and_spaces() {
        let stat = "12 (a b) c) S 1 12 12 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 4 0 1 1 1";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(cpu_seconds("12 (x) S 1"), None);
    }

    #[test]
    fn resident_memory_is_given_in_bytes() {
        assert_eq!(resident_bytes("Name:\tx\nVmRSS:\t    8 kB\n"), Some(8192));
        assert_eq!(resident_bytes("Name:\tx\n"), None);
    }
}
