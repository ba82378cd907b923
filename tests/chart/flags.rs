//! Every flag of `streaming-operator run` is a value of the chart, and the Deployment passes it on.

use std::collections::{BTreeMap, BTreeSet};

use clap::{ArgAction, CommandFactory, Parser};
use streaming_operator::cli::Cli;

use crate::helm::{arguments_of, named, objects};

/// The flags of `run` with their defaults.
fn flags() -> BTreeMap<String, Option<String>> {
    let cli = Cli::command();
    let run = cli.find_subcommand("run").expect("run");
    run.get_arguments()
        .filter(|argument| !matches!(argument.get_action(), ArgAction::Help | ArgAction::HelpShort))
        .filter_map(|argument| {
            let default = argument.get_default_values().first();
            let default = default.map(|value| value.to_string_lossy().into_owned());
            Some((argument.get_long()?.to_owned(), default))
        })
        .filter(|(name, _)| name != "help")
        .collect()
}

fn arguments(values: &[&str]) -> Vec<String> {
    arguments_of(named(&objects(values), "Deployment", "streaming-operator"))
}

/// Values that set every flag to something that is not its default, and what the Deployment then says. A certificate is
/// either made or mounted, and admission is on or off: four renders for all flags.
const SET: [(&str, &[&str]); 4] = [
    (
        "listenAddress=::,webhook.port=10250,http.port=9090,webhook.configName=ours,webhook.tls.hosts={hooks.example,10.1.2.3},\
         watchNamespaces={ingest,metrics},workloadNamespace=consumers,settings.controllerEnabled=false,\
         settings.leaderElect=false,settings.leaseDuration=30s,settings.renewDeadline=20s,settings.retryPeriod=4s,\
         settings.leafLifetime=1000h,settings.caLifetime=2000h,settings.caOverlap=12h,settings.waitingGrace=1m,\
         settings.terminatingGrace=2m,settings.orphanGrace=8m,settings.gateGrace=3m,settings.backoffBase=4s,settings.backoffMax=5m,\
         settings.backoffReset=6m,settings.reservationTtl=7s,settings.workloadAccessCheck=false,settings.maxPodWritesInFlight=8,\
         settings.pipelineMetrics=false,settings.legacyTakeover=false,settings.deploymentTargets=false,\
         settings.legacyNamespace=old,settings.legacyGrace=2m,settings.shutdownDelay=9s,settings.logFormat=json,\
         metricsSources.default.url=http://prometheus:9090",
        &[
            "--namespace=ops",
            "--http-addr=[::]:9090",
            "--webhook-addr=[::]:10250",
            "--webhook-config-name=ours",
            "--tls-mode=self",
            "--tls-host=streaming-operator.ops.svc",
            "--tls-host=hooks.example",
            "--tls-host=10.1.2.3",
            "--watch-namespace=ingest",
            "--watch-namespace=metrics",
            "--workload-namespace=consumers",
            "--controller-enabled=false",
            "--leader-elect=false",
            "--lease-duration=30s",
            "--renew-deadline=20s",
            "--retry-period=4s",
            "--leaf-lifetime=1000h",
            "--ca-lifetime=2000h",
            "--ca-overlap=12h",
            "--waiting-grace=1m",
            "--terminating-grace=2m",
            "--orphan-grace=8m",
            "--gate-grace=3m",
            "--backoff-base=4s",
            "--backoff-max=5m",
            "--backoff-reset=6m",
            "--reservation-ttl=7s",
            "--workload-access-check=false",
            "--max-pod-writes-in-flight=8",
            "--pipeline-metrics=false",
            "--legacy-takeover=false",
            "--deployment-targets=false",
            "--legacy-namespace=old",
            "--legacy-grace=2m",
            "--shutdown-delay=9s",
            "--log-format=json",
            "--metrics-source=default=/etc/streaming-operator/metrics-sources/default.yaml",
        ],
    ),
    ("webhook.enabled=false", &["--webhook-enabled=false"]),
    (
        "webhook.tls.mode=secret,webhook.tls.secretName=by-hand",
        &["--tls-mode=files", "--tls-dir=/etc/streaming-operator/tls"],
    ),
    ("webhook.tls.mode=certManager", &["--tls-mode=files"]),
];

fn name_of(argument: &str) -> &str {
    argument.trim_start_matches("--").split('=').next().unwrap_or_default()
}

#[test]
fn every_flag_of_run_is_a_value_that_the_deployment_passes_on() {
    let mut passed = BTreeSet::new();
    for (values, wanted) in SET {
        let given = arguments(&["--set", values]);
        for argument in wanted {
            assert!(
                given.iter().any(|one| one == argument),
                "{argument} is not in {given:?}"
            );
            passed.insert(name_of(argument).to_owned());
        }
    }
    let flags: BTreeSet<String> = flags().into_keys().collect();
    assert_eq!(
        passed, flags,
        "each flag has a value, a line in its schema and one in this test"
    );
}

#[test]
fn the_arguments_are_ones_that_run_takes() {
    for (values, _) in SET {
        let all = [vec!["streaming-operator".to_owned()], arguments(&["--set", values])].concat();
        assert_eq!(all[1], "run");
        Cli::try_parse_from(&all).unwrap_or_else(|error| panic!("{values}: {error}"));
    }
}

#[test]
fn what_the_chart_says_is_the_default_is_the_programs_default() {
    let flags = flags();
    for argument in arguments(&[]).iter().skip(1) {
        let (flag, value) = argument.trim_start_matches("--").split_once('=').expect("--flag=value");
        match flags.get(flag).unwrap_or_else(|| panic!("--{flag} is no flag")) {
            Some(default) => assert_eq!(value, default, "--{flag}"),
            // These say where the release is.
            None => assert!(["namespace", "tls-host"].contains(&flag), "--{flag}"),
        }
    }
}

#[test]
fn a_setting_that_is_left_out_is_left_to_the_program() {
    let given = arguments(&["--set", "settings=null"]);
    assert!(
        !given.iter().any(|argument| argument.starts_with("--lease-duration")),
        "{given:?}"
    );
    assert!(given.iter().any(|argument| argument == "--tls-mode=self"), "{given:?}");
}
