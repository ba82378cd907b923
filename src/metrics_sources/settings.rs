//! Checked settings of a source. Must never hold a secret: only where it lies.

use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderMap, Uri};

/// Path of Prometheus' instant queries, behind the path of a source's URL.
const QUERY_PATH: &str = "/api/v1/query";

/// How a source is asked.
#[derive(Clone, Debug)]
pub struct SourceSettings {
    /// Name that analyses use.
    pub name: String,
    /// The address of instant queries: the URL of the source with `/api/v1/query` behind it.
    pub(super) endpoint: Uri,
    /// What the operator says who it is with.
    pub credentials: Credentials,
    /// Headers of each request, such as the tenant of Mimir.
    pub headers: HeaderMap,
    /// PEM certificates of those who may have signed the source's certificate; `None`: whom the machine trusts.
    pub ca_file: Option<PathBuf>,
    /// How long a request may take.
    pub timeout: Duration,
    /// Most requests at once; further ones wait.
    pub max_concurrent: usize,
    /// Most bytes of an answer.
    pub body_limit: usize,
}

/// How the operator says who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// Not at all.
    None,
    /// With a token that a file holds.
    Bearer {
        /// The file.
        token_file: PathBuf,
    },
    /// With a user name and a password.
    Basic {
        /// The name.
        username: Username,
        /// File that holds the password.
        password_file: PathBuf,
    },
}

/// A user name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Username {
    /// This one.
    Is(String),
    /// What a file holds.
    File(PathBuf),
}

impl SourceSettings {
    /// A source at that URL, without credentials, and with the defaults: a time-out of 10 s, 4 requests at once, answers of
    /// up to 1 MiB.
    ///
    /// Fails when the URL is none: `http` or `https`, a host, perhaps a port and a path, and nothing else.
    pub fn at(name: &str, url: &str) -> Result<Self, String> {
        Ok(Self {
            name: name.to_owned(),
            endpoint: endpoint(url)?,
            credentials: Credentials::None,
            headers: HeaderMap::new(),
            ca_file: None,
            timeout: Duration::from_secs(10),
            max_concurrent: 4,
            body_limit: 1024 * 1024,
        })
    }

    pub(super) fn is_tls(&self) -> bool {
        self.endpoint.scheme_str() == Some("https")
    }
}

/// Where the instant queries of a URL are. The fault never repeats the URL: it may hold a password.
fn endpoint(url: &str) -> Result<Uri, String> {
    let fault = |what: &str| {
        Err(format!(
            "must be a URL such as https://prometheus.example.com:9090/path: {what}"
        ))
    };
    let Ok(uri) = url.parse::<Uri>() else {
        return fault("it cannot be read");
    };
    let (Some("http" | "https"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return fault("it must begin with http:// or https://");
    };
    if authority.as_str().contains('@') {
        return fault("it must hold no user and no password; they are given as basicAuth");
    }
    if authority.host().is_empty() {
        return fault("it names no host");
    }
    if url.contains(['?', '#']) {
        return fault("it must have no query (?) and no fragment (#)");
    }
    let endpoint = format!("{}{QUERY_PATH}", url.trim_end_matches('/'));
    endpoint.parse().or_else(|_| fault("it cannot be read"))
}
