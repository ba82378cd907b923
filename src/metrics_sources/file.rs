//! `--metrics-source NAME=FILE`: the files that say how sources are asked. Must never let a source pass that cannot be asked,
//! nor stop at the first fault.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue};
use serde::Deserialize;

use super::Source;
use super::settings::{Credentials, SourceSettings, Username};
use crate::core::duration::go_duration;
use crate::core::names::is_dns_label;
use crate::core::path::FieldPath;

/// What such a file holds, as YAML.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Described {
    url: Option<String>,
    bearer_token_file: Option<PathBuf>,
    basic_auth: Option<BasicAuth>,
    headers: BTreeMap<String, String>,
    ca_file: Option<PathBuf>,
    timeout: Option<String>,
    max_concurrent: Option<usize>,
    body_limit_bytes: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BasicAuth {
    username: Option<String>,
    username_file: Option<PathBuf>,
    password_file: Option<PathBuf>,
}

/// Headers that are not the user's to set: those of the exchange, and those by which a secret would stand in the file.
const OURS: [HeaderName; 8] = [
    header::HOST,
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::ACCEPT_ENCODING,
    header::TRANSFER_ENCODING,
    header::CONNECTION,
    header::AUTHORIZATION,
    header::COOKIE,
];

/// Reads all sources of the command line, each as NAME=FILE. Gives all faults of all of them at once, each with the source
/// and, of what its file holds, the path of the field.
pub fn read(sources: &[String]) -> Result<Vec<SourceSettings>, Vec<String>> {
    let (mut read, mut faults, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    for source in sources.iter().filter(|source| !source.is_empty()) {
        let Some((name, path)) = source.split_once('=').filter(|(_, path)| !path.is_empty()) else {
            faults.push(format!("must be NAME=FILE, not {source:?}"));
            continue;
        };
        if !is_dns_label(name) {
            let letters = "lower case letters, digits and -, up to 63 characters";
            faults.push(format!("the name of a source must be {letters}, not {name:?}"));
        }
        if !names.insert(name) {
            faults.push(format!("the source {name} is given twice"));
        }
        match one(name, Path::new(path)) {
            Ok(settings) => read.push(settings),
            Err(of_file) => faults.extend(of_file.into_iter().map(|fault| format!("{source}: {fault}"))),
        }
    }
    if faults.is_empty() { Ok(read) } else { Err(faults) }
}

fn one(name: &str, path: &Path) -> Result<SourceSettings, Vec<String>> {
    let text = std::fs::read_to_string(path).map_err(|error| vec![format!("the file cannot be read: {error}")])?;
    let mut faults = Vec::new();
    let mut unknown = |path: serde_ignored::Path<'_>| {
        let field = FieldPath::from(&path);
        faults.push(format!("{field} is no field of a metrics source"));
    };
    let file = serde_saphyr::with_deserializer_from_str(&text, |yaml| {
        serde_ignored::deserialize::<_, _, Described>(yaml, &mut unknown)
    });
    let file = file.map_err(|error| {
        vec![format!(
            "the file is no YAML of a metrics source: {}",
            in_a_line(&error)
        )]
    })?;
    let settings = settings(name, file, &mut faults);
    match settings {
        Some(settings) if faults.is_empty() => match Source::new(settings.clone()) {
            Ok(_) => Ok(settings),
            Err(fault) => Err(vec![fault]),
        },
        _ => Err(faults),
    }
}

/// The settings, where the faults leave any; adds what is wrong to `faults`.
fn settings(name: &str, file: Described, faults: &mut Vec<String>) -> Option<SourceSettings> {
    let settings = match file.url.map(|url| SourceSettings::at(name, &url)) {
        Some(Ok(settings)) => Some(settings),
        Some(Err(fault)) => {
            faults.push(format!("url {fault}"));
            None
        }
        None => {
            faults.push("url is missing".to_owned());
            None
        }
    };
    let credentials = credentials(file.bearer_token_file, file.basic_auth, faults);
    let headers = headers(&file.headers, faults);
    let timeout = file.timeout.and_then(|text| timeout(&text, faults));
    let max_concurrent = within("maxConcurrent", file.max_concurrent, 1, 100, faults);
    let body_limit = within("bodyLimitBytes", file.body_limit_bytes, 1024, 64 * 1024 * 1024, faults);
    let settings = settings?;
    Some(SourceSettings {
        credentials,
        headers,
        ca_file: file.ca_file,
        timeout: timeout.unwrap_or(settings.timeout),
        max_concurrent: max_concurrent.unwrap_or(settings.max_concurrent),
        body_limit: body_limit.unwrap_or(settings.body_limit),
        ..settings
    })
}

fn credentials(token_file: Option<PathBuf>, basic: Option<BasicAuth>, faults: &mut Vec<String>) -> Credentials {
    if token_file.is_some() && basic.is_some() {
        faults.push("bearerTokenFile and basicAuth are both given; a request has one of them".to_owned());
    }
    let Some(basic) = basic else {
        return token_file.map_or(Credentials::None, |token_file| Credentials::Bearer { token_file });
    };
    let username = match (basic.username, basic.username_file) {
        (Some(name), None) => Some(Username::Is(name)),
        (None, Some(file)) => Some(Username::File(file)),
        _ => None,
    };
    if username.is_none() {
        faults.push("basicAuth must have one of username and usernameFile".to_owned());
    }
    if basic.password_file.is_none() {
        faults.push("basicAuth.passwordFile is missing".to_owned());
    }
    match username.zip(basic.password_file) {
        Some((username, password_file)) => Credentials::Basic {
            username,
            password_file,
        },
        None => Credentials::None,
    }
}

fn headers(given: &BTreeMap<String, String>, faults: &mut Vec<String>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        match (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            (Ok(known), _) if OURS.contains(&known) => {
                faults.push(format!(
                    "headers.{name} is not to be set here; credentials have fields of their own"
                ));
            }
            (Ok(name), Ok(value)) => drop(headers.insert(name, value)),
            _ => faults.push(format!(
                "headers.{name} cannot be sent: a name or a value has characters that no header has"
            )),
        }
    }
    headers
}

/// What is left of a measurement's interval, of at least 5 s, is for retries; a longer time-out than a minute helps no
/// query whose result is to guard a rollout.
fn timeout(text: &str, faults: &mut Vec<String>) -> Option<Duration> {
    let timeout = go_duration(text).filter(|timeout| (100..=60_000).contains(&timeout.as_millis()));
    if timeout.is_none() {
        faults.push(format!(
            "timeout must be a duration from 100ms to 1m, such as 10s, not {text:?}"
        ));
    }
    timeout
}

fn within(field: &str, given: Option<usize>, least: usize, most: usize, faults: &mut Vec<String>) -> Option<usize> {
    if let Some(given) = given.filter(|given| !(least..=most).contains(given)) {
        faults.push(format!("{field} must be a number from {least} to {most}, not {given}"));
    }
    given
}

/// The first line of an error: those of the parser go on with the lines of the file.
fn in_a_line(error: &serde_saphyr::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
