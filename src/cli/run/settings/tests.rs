//! Which flags are taken, and how faults are told.

use clap::Parser;

use super::*;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    args: RunArgs,
}

fn settings(flags: &[&str]) -> Result<Settings, Vec<String>> {
    let command = Command::try_parse_from([&["run"], flags].concat()).expect("clap takes any text");
    read(&command.args)
}

#[test]
fn without_flags_everything_is_on_with_the_documented_times() {
    let settings = settings(&[]).expect("settings");
    let webhook = settings.webhook.expect("a webhook");
    assert!(settings.controller_enabled);
    assert_eq!(webhook.addr.to_string(), "0.0.0.0:9443");
    assert_eq!(settings.http_addr.to_string(), "0.0.0.0:8080");
    assert_eq!(webhook.reservation_ttl, Duration::from_secs(30));
    assert_eq!(webhook.shutdown_delay, Duration::from_secs(5));
    assert!(webhook.workload_access_check);
    let lease = settings.lease.expect("an election");
    assert_eq!(lease.lease_duration, Duration::from_secs(15));
    assert_eq!(lease.renew_deadline, Duration::from_secs(10));
    assert_eq!(lease.retry_period, Duration::from_secs(2));
    let Certificate::SelfMade(policy) = webhook.certificate else {
        panic!("self-made by default");
    };
    assert_eq!(policy.leaf_lifetime, Duration::from_secs(90 * 24 * 3600));
    assert_eq!(policy.ca_lifetime, Duration::from_secs(5 * 365 * 24 * 3600));
    assert_eq!(policy.ca_overlap, Duration::from_secs(24 * 3600));
    assert_eq!(settings.pipelines, crate::core::settings::Settings::default());
    assert_eq!(settings.max_pod_writes_in_flight, 32);
}

#[test]
fn users_are_asked_about_unless_a_flag_says_otherwise() {
    for (flag, asked) in [
        ("--workload-access-check=false", false),
        ("--workload-access-check=true", true),
    ] {
        let webhook = settings(&["--workload-namespace=work", flag])
            .expect("settings")
            .webhook;
        assert_eq!(webhook.expect("a webhook").workload_access_check, asked);
    }
    let faults = settings(&["--workload-access-check=sometimes"]).expect_err("a fault");
    assert_eq!(
        faults,
        ["--workload-access-check must be true or false, not \"sometimes\""]
    );
}

#[test]
fn every_fault_is_told_at_once_with_its_flag() {
    let faults = settings(&[
        "--webhook-addr=9443",
        "--tls-mode=files",
        "--leader-elect=perhaps",
        "--retry-period=10",
        "--backoff-base=400s",
        "--max-pod-writes-in-flight=0",
        "--watch-namespace=a,B",
        "--log-format=xml",
    ])
    .expect_err("faults");
    assert_eq!(
        faults,
        [
            "--webhook-addr must be an address and a port, such as 0.0.0.0:8080 or [::]:8080, not \"9443\"",
            "--tls-dir is needed with --tls-mode files",
            "--leader-elect must be true or false, not \"perhaps\"",
            "--retry-period must be a duration such as 90s, 1h30m or 500ms, not \"10\"",
            "--backoff-base must not be more than --backoff-max",
            "--watch-namespace must be the name of a namespace, not \"B\"",
            "--max-pod-writes-in-flight must be a number from 1 to 10000, not 0",
            "--log-format must be text or json, not \"xml\"",
        ]
    );
}

#[test]
fn a_time_that_cannot_be_read_is_one_fault_and_compared_with_nothing() {
    assert_eq!(
        settings(&["--lease-duration=abc", "--ca-lifetime=5y"]).expect_err("faults"),
        [
            "--ca-lifetime must be a duration such as 90s, 1h30m or 500ms, not \"5y\"",
            "--lease-duration must be a duration such as 90s, 1h30m or 500ms, not \"abc\"",
        ]
    );
}

#[test]
fn times_that_cannot_work_together_are_refused() {
    for (flags, fault) in [
        (
            ["--renew-deadline=15s", "--lease-duration=15s"],
            "--renew-deadline must be less than --lease-duration: else two replicas could lead at once",
        ),
        (
            ["--retry-period=10s", "--renew-deadline=10s"],
            "--retry-period must be less than --renew-deadline: else one lost request ends a term",
        ),
        (
            ["--lease-duration=15500ms", "--renew-deadline=10s"],
            "--lease-duration must be whole seconds: a Lease holds no others",
        ),
        (
            ["--ca-overlap=48h", "--ca-lifetime=48h"],
            "--leaf-lifetime must be less than --ca-lifetime",
        ),
        (
            ["--ca-overlap=24h", "--ca-lifetime=48h"],
            "--ca-overlap must be less than half of --ca-lifetime: else a CA ends before its successor may sign",
        ),
        (
            ["--http-addr=127.0.0.1:9443", "--tls-host=h"],
            "--http-addr is the same as --webhook-addr",
        ),
        (
            ["--webhook-enabled=false", "--controller-enabled=false"],
            "--controller-enabled is false and --webhook-enabled too: nothing is left to do",
        ),
        (
            ["--webhook-config-name=my config", "--tls-host=h"],
            "--webhook-config-name must be the name of the webhook configurations, not \"my config\"",
        ),
        (
            ["--tls-host=::1", "--tls-host=https://h"],
            "--tls-host must be a DNS name or an IP address, not \"https://h\"",
        ),
        (
            ["--tls-dir=/tls", "--tls-mode=self"],
            "--tls-dir is for --tls-mode files alone",
        ),
    ] {
        let faults = settings(&flags).expect_err("a fault");
        assert!(faults.iter().any(|told| told == fault), "{flags:?}: {faults:?}");
    }
}

#[test]
fn a_half_can_be_switched_off() {
    let settings = settings(&["--webhook-enabled=false", "--leader-elect=false", "--shutdown-delay=0s"]);
    let settings = settings.expect("settings");
    assert!(settings.webhook.is_none() && settings.lease.is_none() && settings.controller_enabled);
}

#[test]
fn faults_of_metrics_sources_are_told_beside_the_others() {
    let faults = settings(&["--metrics-source=default", "--log-format=xml"]).expect_err("faults");
    assert_eq!(
        faults,
        [
            "--metrics-source must be NAME=FILE, not \"default\"",
            "--log-format must be text or json, not \"xml\"",
        ]
    );
}
