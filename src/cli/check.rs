//! `streaming-operator check`: whether the installed operator works, every fault at once. Must never change anything.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use jiff::Timestamp;
use kube::Client;
use serde::Serialize;
use tokio::runtime::Runtime;

use super::Output;
use super::after_printing;
use super::installed::{Found, Place};
use super::run::settings_of;
use super::server::Server;
use crate::check::{self, Finding, Installed, State, Subject};
use crate::operator::Settings;
use crate::operator::rights::Account;

/// What to look at, and how to tell it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    place: Place,
    /// ServiceAccount whose rights are judged. Without it: that of the operator's Deployment.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = account, conflicts_with = "as_self")]
    service_account: Option<Account>,
    /// Judges the rights of whoever asks, which needs no right; inside the operator's Pod those are the operator's.
    #[arg(long)]
    as_self: bool,
    /// Namespace in which a good and a bad pipeline are created, as dry runs. Without it: the first watched one, else
    /// the operator's.
    #[arg(long, value_name = "NAMESPACE", value_parser = super::namespace::namespace)]
    dry_run_namespace: Option<String>,
    /// Form of the answer: for people or for programs.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Flags of `run` that the operator has, where no Deployment says them.
    #[arg(last = true, value_name = "FLAGS OF RUN")]
    flags: Vec<String>,
}

#[derive(Serialize)]
struct Report {
    ok: bool,
    findings: Vec<Finding>,
}

/// Looks at everything. Exit code 0: all is well; 1: something is wrong; 2: several operators are there and none is named;
/// 4: the API server cannot be reached, or may not be asked about a part and the others are well.
pub(super) fn run(args: &Args) -> ExitCode {
    let server = Server::connect();
    let (runtime, client) = match server.or_told() {
        Ok(connection) => connection,
        Err(code) => return code,
    };
    let (installed, mut findings) = match (args.place.find(runtime, client), args.flags.is_empty()) {
        (Found::Several(all), true) => {
            eprintln!(
                "streaming-operator: there are several operators, {}: choose one with --namespace",
                all.join(", ")
            );
            return ExitCode::from(2);
        }
        (Found::One(one), _) => (Some(*one), Vec::new()),
        (_, false) => (None, Vec::new()),
        (Found::None(place), true) => (None, vec![none(&place)]),
        (Found::Unasked(why), true) => (None, vec![unasked(&why)]),
    };
    let namespace = installed
        .as_ref()
        .map_or_else(|| args.place.namespace(&server), |one| one.namespace.clone());
    findings.extend(look(args, runtime, client, installed.as_ref(), namespace));
    print(args.output, findings)
}

fn none(place: &str) -> Finding {
    let message = format!("no Deployment with the label app.kubernetes.io/name=streaming-operator {place}");
    let todo =
        "install the chart, or say where it is: --namespace; an operator without a Deployment: its flags after --";
    Finding::wrong("deployment", message, todo)
}

fn unasked(why: &str) -> Finding {
    let todo = "check as somebody who may list deployments, or say the operator's flags after --";
    Finding::told(
        "deployment",
        State::Unknown,
        format!("cannot list deployments: {why}"),
        todo,
    )
}

fn look(
    args: &Args,
    runtime: &Runtime,
    client: &Client,
    installed: Option<&Installed>,
    namespace: String,
) -> Vec<Finding> {
    let flags = match installed {
        Some(installed) if args.flags.is_empty() => &installed.flags,
        _ => &args.flags,
    };
    let settings = match settings_of(flags) {
        Ok(settings) => settings,
        Err(faults) => {
            let todo = "it ends with code 2: mend the value of that name";
            let faults = faults.into_iter().map(|fault| Finding::wrong("flags", fault, todo));
            return faults.collect();
        }
    };
    let namespace = settings.namespace.clone().unwrap_or(namespace);
    let account = account_of(args, installed, &namespace);
    let subject = Subject {
        client,
        account: &account,
        installed,
        dry_run_namespace: args
            .dry_run_namespace
            .as_deref()
            .unwrap_or_else(|| watched(&settings, &namespace)),
        settings: &settings,
        namespace: &namespace,
        now: Timestamp::now(),
    };
    runtime.block_on(check::run(&subject))
}

fn watched<'a>(settings: &'a Settings, namespace: &'a str) -> &'a str {
    settings.watch_namespaces.first().map_or(namespace, String::as_str)
}

fn account_of(args: &Args, installed: Option<&Installed>, namespace: &str) -> Account {
    match (&args.service_account, installed) {
        _ if args.as_self => Account::Asker,
        (Some(account), _) => account.clone(),
        (None, Some(installed)) => Account::Service {
            namespace: installed.namespace.clone(),
            name: installed.account.clone(),
        },
        (None, None) => Account::Service {
            namespace: namespace.to_owned(),
            name: crate::operator::NAME.to_owned(),
        },
    }
}

/// Reads `NAMESPACE/NAME`.
fn account(text: &str) -> Result<Account, &'static str> {
    let parts = text
        .split_once('/')
        .filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty());
    let (namespace, name) = parts.ok_or("must be NAMESPACE/NAME")?;
    Ok(Account::Service {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}

fn print(output: Output, findings: Vec<Finding>) -> ExitCode {
    let has = |state| findings.iter().any(|finding| finding.state == state);
    let code = match (has(State::Wrong), has(State::Unknown)) {
        (true, _) => 1,
        (false, true) => 4,
        (false, false) => 0,
    };
    let text = match output {
        Output::Text => text(&findings),
        Output::Json => {
            let report = Report {
                ok: code == 0,
                findings,
            };
            serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"
        }
    };
    let mut out = std::io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    after_printing(printed, ExitCode::from(code))
}

fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let word = match finding.state {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Wrong => "WRONG",
            State::Unknown => "unknown",
        };
        // A String takes every write.
        let _ = writeln!(text, "{word:<8} {:<12} {}", finding.check, finding.message);
        if let Some(todo) = &finding.todo {
            let _ = writeln!(text, "{:<8} {:<12} do: {todo}", "", "");
        }
    }
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    let _ = writeln!(
        text,
        "{} looked at: {} ok, {} wrong, {} warnings, {} unknown",
        findings.len(),
        count(State::Ok),
        count(State::Wrong),
        count(State::Warning),
        count(State::Unknown)
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_is_a_line_and_what_to_do_is_below_it() {
        let findings = [
            Finding::ok("crds", "all there"),
            Finding::wrong("leader", "nobody leads", "look at the Pods"),
        ];
        assert_eq!(
            text(&findings),
            "ok       crds         all there\n\
             WRONG    leader       nobody leads\n\
             \x20                     do: look at the Pods\n\
             2 looked at: 1 ok, 1 wrong, 0 warnings, 0 unknown\n"
        );
    }

    #[test]
    fn an_account_is_a_namespace_and_a_name() {
        assert!(account("ops/operator").is_ok());
        for text in ["operator", "/operator", "ops/"] {
            assert!(account(text).is_err(), "{text}");
        }
    }
}
