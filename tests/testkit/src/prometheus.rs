//! A real Prometheus, Debian's package: the judge of whether our metrics can be scraped, and the source of those that an
//! analysis asks for.
//!
//! Knows no metric of ours. Its data goes with its folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::children::{self, Running};
use crate::wait::{self, Seen};
use crate::{assets, http, ports, workdir};

/// Between two scrapes of a target.
const SCRAPE_INTERVAL: &str = "500ms";

/// A running Prometheus. Dropping it ends it.
#[derive(Debug)]
pub struct Prometheus {
    url: String,
    process: Running,
}

impl Prometheus {
    /// Starts one that scrapes these `host:port`, each as a job of its name, and waits until it is ready.
    ///
    /// # Errors
    /// When it is neither installed nor to be had from Debian's archive, or does not become ready within a minute.
    pub async fn start(targets: &[(&str, String)]) -> Result<Self> {
        let program = program("prometheus").await?;
        let folder = workdir::workdir("prometheus")?;
        let jobs: Vec<Value> = targets
            .iter()
            .map(|(job, target)| json!({ "job_name": job, "static_configs": [{ "targets": [target] }] }))
            .collect();
        let config = json!({
            "global": { "scrape_interval": SCRAPE_INTERVAL, "scrape_timeout": SCRAPE_INTERVAL },
            "scrape_configs": jobs,
        });
        let file = folder.join("prometheus.yml");
        // JSON is YAML.
        std::fs::write(&file, config.to_string())?;
        let address = format!("127.0.0.1:{}", ports::free_port()?);
        let mut command = Command::new(program);
        command.arg("--config.file").arg(&file);
        command.arg("--storage.tsdb.path").arg(folder.join("data"));
        command.args(["--web.listen-address", &address]);
        let process = Running::start("prometheus", &command, &folder.join("prometheus.log"))?;
        let prometheus = Self {
            url: format!("http://{address}"),
            process,
        };
        prometheus.ready().await?;
        Ok(prometheus)
    }

    async fn ready(&self) -> Result<()> {
        let url = format!("{}/-/ready", self.url);
        let look = async || {
            if let Some(status) = self.process.ended()? {
                return Ok(Seen::Yes(Some(status)));
            }
            let (code, body) = http::get(&url).await?;
            Ok(if code == 200 {
                Seen::Yes(None)
            } else {
                Seen::NotYet(body)
            })
        };
        let ended = wait::until("Prometheus to be ready", wait::DEADLINE, look).await?;
        let log = self.process.tail(20);
        ensure!(ended.is_none(), "Prometheus ended at its start:\n{log}");
        Ok(())
    }

    /// Its URL, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What a query gives now: labels and value of each series.
    ///
    /// # Errors
    /// When it does not answer, or refuses the query.
    pub async fn query(&self, query: &str) -> Result<Vec<(Value, f64)>> {
        let data = self
            .ask(&format!(
                "/api/v1/query?query={}",
                utf8_percent_encode(query, NON_ALPHANUMERIC)
            ))
            .await?;
        let series = data.pointer("/result").and_then(Value::as_array);
        let series = series.with_context(|| format!("no result in {data}"))?;
        series
            .iter()
            .map(|one| {
                let value = one.pointer("/value/1").and_then(Value::as_str);
                let value = value.with_context(|| format!("no value in {one}"))?;
                let labels = one.get("metric").cloned().unwrap_or_default();
                Ok((labels, value.parse()?))
            })
            .collect()
    }

    /// The field `data` of what a path of its HTTP API answers.
    ///
    /// # Errors
    /// When it does not answer, or with an error.
    pub async fn ask(&self, path: &str) -> Result<Value> {
        let (code, body) = http::get(&format!("{}{path}", self.url)).await?;
        ensure!(code == 200, "Prometheus answers {code} to {path}: {body}");
        let mut answer: Value = serde_json::from_str(&body)?;
        Ok(answer.get_mut("data").map(Value::take).unwrap_or_default())
    }

    /// Waits until a query gives exactly one series, of this value.
    ///
    /// # Errors
    /// When it does not within `deadline`.
    pub async fn until(&self, query: &str, value: f64, deadline: Duration) -> Result<()> {
        let look = async || {
            let result = self.query(query).await?;
            let is_it =
                |result: &Vec<(Value, f64)>| matches!(result.as_slice(), [(_, is)] if (is - value).abs() < 1e-9);
            Ok(Seen::when(result, is_it))
        };
        wait::until(&format!("{query} to be {value}"), deadline, look).await?;
        Ok(())
    }
}

/// What `promtool check metrics` says of an OpenMetrics exposition: empty when it finds nothing. It knows the older text
/// format alone, in which the type stands beside the name of the samples.
///
/// # Errors
/// When promtool is not to be had, or cannot read the text at all.
pub async fn lint(exposition: &str) -> Result<String> {
    let program = program("promtool").await?;
    let file = workdir::workdir("promtool")?.join("metrics");
    std::fs::write(&file, as_text_format(exposition))?;
    let mut command = Command::new("sh");
    command
        .args(["-c", r#""$0" check metrics < "$1""#])
        .arg(program)
        .arg(&file);
    let output = tokio::task::spawn_blocking(move || children::outcome(&command)).await??;
    // 3: it could be read, and something is to be said of it.
    ensure!(
        matches!(output.status.code(), Some(0 | 3)),
        "promtool: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

fn as_text_format(exposition: &str) -> String {
    let families = exposition
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let families: BTreeMap<&str, &str> = families.collect();
    let mut text = String::new();
    for line in exposition.lines() {
        let mut words = line.splitn(4, ' ');
        let line = match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("UNIT" | "EOF"), ..) => continue,
            (Some("#"), Some(what), Some(name), Some(rest)) => {
                let (suffix, type_) = match families.get(name) {
                    Some(&"counter") => ("_total", "counter"),
                    Some(&"info") => ("_info", "gauge"),
                    other => ("", other.copied().unwrap_or_default()),
                };
                let rest = if what == "TYPE" { type_ } else { rest };
                format!("# {what} {name}{suffix} {rest}")
            }
            _ => line.to_owned(),
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// The path of `prometheus` or `promtool`. The first call may fetch Debian's package.
async fn program(name: &str) -> Result<PathBuf> {
    let folder = tokio::task::spawn_blocking(folder).await??;
    Ok(folder.join(name))
}

fn folder() -> Result<&'static Path> {
    static FOLDER: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
    let find = || -> Result<PathBuf> {
        let script = assets::repository().join("tests/testkit/prometheus.sh");
        let text = children::output(&Command::new(script))?;
        let last = text.lines().last().context("the script printed no folder")?;
        Ok(PathBuf::from(last))
    };
    FOLDER
        .get_or_init(|| find().map_err(|error| format!("{error:#}")))
        .as_deref()
        .map_err(|error| anyhow::anyhow!("{error}"))
}
