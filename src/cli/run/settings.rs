//! From the flags of `run` to checked settings. Every fault is found, not only the first. Must never let a set pass that
//! cannot work together.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use jiff::SignedDuration;

use super::args::RunArgs;
use crate::certs::due::Policy;
use crate::controller::legacy::LegacySettings;
use crate::core::duration::go_duration;
use crate::core::names::is_dns_label;
use crate::metrics_sources::{self, SourceSettings};
use crate::operator::{Certificate, LeaseTimes, Settings, WebhookSettings};
use crate::telemetry::LogFormat;

/// Reads the flags; all faults, each beginning with its flag.
pub(super) fn read(args: &RunArgs) -> Result<Settings, Vec<String>> {
    let mut faults = Faults::default();
    let webhook = faults.webhook(args);
    let lease = faults.lease(args);
    let pipelines = faults.pipelines(args);
    let http_addr = faults.parse("--http-addr", &args.http_addr, ADDRESS);
    if webhook
        .as_ref()
        .zip(http_addr)
        .is_some_and(|(webhook, http)| clash(webhook.addr, http))
    {
        faults.add("--http-addr", "is the same as --webhook-addr");
    }
    let settings = Settings {
        controller_enabled: faults.boolean("--controller-enabled", &args.controller_enabled),
        http_addr: http_addr.unwrap_or_else(nowhere),
        namespace: faults.namespace("--namespace", args.namespace.as_deref()),
        workload_namespace: faults.namespace("--workload-namespace", args.workload_namespace.as_deref()),
        watch_namespaces: faults.watch_namespaces(&args.watch_namespace),
        legacy: LegacySettings {
            takeover: faults.boolean("--legacy-takeover", &args.legacy_takeover),
            namespace: faults.namespace("--legacy-namespace", args.legacy_namespace.as_deref()),
        },
        max_pod_writes_in_flight: faults.positive("--max-pod-writes-in-flight", &args.max_pod_writes_in_flight),
        metrics_sources: faults.metrics_sources(&args.metrics_source),
        deployment_targets: faults.boolean("--deployment-targets", &args.deployment_targets),
        pipeline_metrics: faults.boolean("--pipeline-metrics", &args.pipeline_metrics),
        log_format: faults.log_format(&args.log_format),
        webhook,
        lease,
        pipelines,
    };
    if !settings.controller_enabled && settings.webhook.is_none() {
        faults.add(
            "--controller-enabled",
            "is false and --webhook-enabled too: nothing is left to do",
        );
    }
    if faults.0.is_empty() {
        Ok(settings)
    } else {
        Err(faults.0)
    }
}

const ADDRESS: &str = "must be an address and a port, such as 0.0.0.0:8080 or [::]:8080";

/// Stands for an address that could not be read; its fault is noted, so nobody listens there.
fn nowhere() -> SocketAddr {
    SocketAddr::from(([0, 0, 0, 0], 0))
}

/// Whether both cannot be listened to. Port 0 is any free one.
fn clash(a: SocketAddr, b: SocketAddr) -> bool {
    let same_host = a.ip() == b.ip() || a.ip().is_unspecified() || b.ip().is_unspecified();
    a.port() != 0 && a.port() == b.port() && same_host
}

#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn add(&mut self, flag: &str, what: &str) {
        self.0.push(format!("{flag} {what}"));
    }

    fn parse<T: FromStr>(&mut self, flag: &str, text: &str, must: &str) -> Option<T> {
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.add(flag, &format!("{must}, not {text:?}"));
        }
        parsed
    }

    fn boolean(&mut self, flag: &str, text: &str) -> bool {
        self.parse(flag, text, "must be true or false").unwrap_or_default()
    }

    fn positive(&mut self, flag: &str, text: &str) -> usize {
        // More permits than a semaphore can hold are as good as none; 10,000 is far beyond what an API server takes.
        let number = self.parse(flag, text, "must be a number from 1 to 10000").unwrap_or(1);
        if !(1..=10_000).contains(&number) {
            self.add(flag, &format!("must be a number from 1 to 10000, not {number}"));
        }
        number.clamp(1, 10_000)
    }

    /// A duration above zero.
    fn duration(&mut self, flag: &str, text: &str) -> Duration {
        let duration = go_duration(text);
        match duration {
            None => self.add(
                flag,
                &format!("must be a duration such as 90s, 1h30m or 500ms, not {text:?}"),
            ),
            Some(Duration::ZERO) => self.add(flag, "must be more than zero"),
            Some(_) => {}
        }
        duration.unwrap_or_default()
    }

    fn namespace(&mut self, flag: &str, name: Option<&str>) -> Option<String> {
        let name = name.filter(|name| !name.is_empty())?;
        if !is_dns_label(name) {
            self.add(flag, &format!("must be the name of a namespace, not {name:?}"));
        }
        Some(name.to_owned())
    }

    fn watch_namespaces(&mut self, names: &[String]) -> Vec<String> {
        let names: BTreeSet<String> = names
            .iter()
            .filter_map(|name| self.namespace("--watch-namespace", Some(name)))
            .collect();
        names.into_iter().collect()
    }

    fn metrics_sources(&mut self, sources: &[String]) -> Vec<SourceSettings> {
        let read = metrics_sources::file::read(sources);
        read.unwrap_or_else(|faults| {
            for fault in faults {
                self.add("--metrics-source", &fault);
            }
            Vec::new()
        })
    }

    fn log_format(&mut self, text: &str) -> LogFormat {
        match text {
            "text" => LogFormat::Text,
            "json" => LogFormat::Json,
            _ => {
                self.add("--log-format", &format!("must be text or json, not {text:?}"));
                LogFormat::Text
            }
        }
    }

    /// `None` when admission is off, or cannot be served as asked for.
    fn webhook(&mut self, args: &RunArgs) -> Option<WebhookSettings> {
        let enabled = self.boolean("--webhook-enabled", &args.webhook_enabled);
        let addr = self.parse("--webhook-addr", &args.webhook_addr, ADDRESS);
        let certificate = self.certificate(args);
        let reservation_ttl = self.duration("--reservation-ttl", &args.reservation_ttl);
        let workload_access_check = self.boolean("--workload-access-check", &args.workload_access_check);
        // Zero is right here: a test, or an operator that nobody calls any more.
        let shutdown_delay =
            if args.shutdown_delay == "0" || go_duration(&args.shutdown_delay).is_some_and(|d| d.is_zero()) {
                Duration::ZERO
            } else {
                self.duration("--shutdown-delay", &args.shutdown_delay)
            };
        if !is_dns_name(&args.webhook_config_name) {
            let must = "must be the name of the webhook configurations";
            self.add(
                "--webhook-config-name",
                &format!("{must}, not {:?}", args.webhook_config_name),
            );
        }
        enabled.then_some(WebhookSettings {
            addr: addr.unwrap_or_else(nowhere),
            certificate,
            config_name: args.webhook_config_name.clone(),
            reservation_ttl,
            workload_access_check,
            shutdown_delay,
        })
    }

    fn certificate(&mut self, args: &RunArgs) -> Certificate {
        let policy = Policy {
            hosts: args.tls_host.iter().filter(|host| !host.is_empty()).cloned().collect(),
            leaf_lifetime: self.duration("--leaf-lifetime", &args.leaf_lifetime),
            ca_lifetime: self.duration("--ca-lifetime", &args.ca_lifetime),
            ca_overlap: self.duration("--ca-overlap", &args.ca_overlap),
        };
        for host in &policy.hosts {
            if host.parse::<IpAddr>().is_err() && !is_dns_name(host) {
                self.add(
                    "--tls-host",
                    &format!("must be a DNS name or an IP address, not {host:?}"),
                );
            }
        }
        if reaches(policy.leaf_lifetime, policy.ca_lifetime) {
            self.add("--leaf-lifetime", "must be less than --ca-lifetime");
        }
        // A CA that begins to sign was made an overlap ago, and the one after it needs another overlap.
        if reaches(policy.ca_overlap.saturating_mul(2), policy.ca_lifetime) {
            self.add(
                "--ca-overlap",
                "must be less than half of --ca-lifetime: else a CA ends before its successor may sign",
            );
        }
        let dir = args.tls_dir.as_deref().filter(|dir| !dir.is_empty());
        match (args.tls_mode.as_str(), dir) {
            ("self", None) => return Certificate::SelfMade(policy),
            ("files", Some(dir)) => return Certificate::Files(PathBuf::from(dir)),
            ("self", Some(_)) => self.add("--tls-dir", "is for --tls-mode files alone"),
            ("files", None) => self.add("--tls-dir", "is needed with --tls-mode files"),
            (mode, _) => self.add("--tls-mode", &format!("must be self or files, not {mode:?}")),
        }
        Certificate::SelfMade(policy)
    }

    /// `None` without an election.
    fn lease(&mut self, args: &RunArgs) -> Option<LeaseTimes> {
        let elects = self.boolean("--leader-elect", &args.leader_elect);
        let times = LeaseTimes {
            lease_duration: self.duration("--lease-duration", &args.lease_duration),
            renew_deadline: self.duration("--renew-deadline", &args.renew_deadline),
            retry_period: self.duration("--retry-period", &args.retry_period),
        };
        if times.lease_duration.subsec_nanos() != 0 {
            self.add("--lease-duration", "must be whole seconds: a Lease holds no others");
        }
        if reaches(times.renew_deadline, times.lease_duration) {
            self.add(
                "--renew-deadline",
                "must be less than --lease-duration: else two replicas could lead at once",
            );
        }
        if reaches(times.retry_period, times.renew_deadline) {
            self.add(
                "--retry-period",
                "must be less than --renew-deadline: else one lost request ends a term",
            );
        }
        elects.then_some(times)
    }

    fn pipelines(&mut self, args: &RunArgs) -> crate::core::settings::Settings {
        let mut signed = |flag: &str, text: &str| {
            let duration = self.duration(flag, text);
            SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
        };
        let settings = crate::core::settings::Settings {
            waiting_grace: signed("--waiting-grace", &args.waiting_grace),
            terminating_grace: signed("--terminating-grace", &args.terminating_grace),
            orphan_grace: signed("--orphan-grace", &args.orphan_grace),
            gate_grace: signed("--gate-grace", &args.gate_grace),
            legacy_grace: signed("--legacy-grace", &args.legacy_grace),
            backoff_base: signed("--backoff-base", &args.backoff_base),
            backoff_max: signed("--backoff-max", &args.backoff_max),
            backoff_reset: signed("--backoff-reset", &args.backoff_reset),
        };
        if settings.backoff_base > settings.backoff_max {
            self.add("--backoff-base", "must not be more than --backoff-max");
        }
        settings
    }
}

/// Whether this is a DNS name in lower case, as hosts and most objects have.
fn is_dns_name(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_dns_label)
}

/// Whether `time` is not less than `limit`. Of one that could not be read, or is zero, that is told already.
fn reaches(time: Duration, limit: Duration) -> bool {
    !limit.is_zero() && time >= limit
}

#[cfg(test)]
mod tests;
