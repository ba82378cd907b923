//! Reads a request to the API server as Kubernetes itself does: which verb on which resource.

use std::fmt;

use hyper::{Method, Uri};

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestInfo {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; for paths that are no resource
    /// the HTTP method in lower case.
    pub verb: String,
    /// The API group; empty for the core group.
    pub group: String,
    /// In plural; for paths that are no resource the path.
    pub resource: String,
    /// Empty for the object itself.
    pub subresource: String,
    /// Empty for all namespaces and for what has none.
    pub namespace: String,
    /// Empty where the path has none.
    pub name: String,
    /// Whether it is only tried.
    pub dry_run: bool,
}

impl RequestInfo {
    /// Reads method, path and query.
    #[must_use]
    pub fn new(method: &Method, uri: &Uri) -> Self {
        let query: Vec<&str> = uri.query().unwrap_or_default().split('&').collect();
        let mut info = Self::object(uri.path()).unwrap_or_else(|| Self {
            resource: uri.path().to_owned(),
            verb: method.as_str().to_lowercase(),
            ..Self::empty()
        });
        info.dry_run = query.contains(&"dryRun=All");
        if info.verb.is_empty() {
            let watched = query.iter().any(|part| matches!(*part, "watch=true" | "watch=1"));
            verb(method, watched, !info.name.is_empty()).clone_into(&mut info.verb);
        }
        info
    }

    /// The resource with `/subresource` where there is one.
    #[must_use]
    pub fn full_resource(&self) -> String {
        if self.subresource.is_empty() {
            self.resource.clone()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        }
    }

    /// Whether it changes something when it succeeds. A review that is posted and a dry run change nothing.
    #[must_use]
    pub fn is_write(&self) -> bool {
        let review = matches!(self.group.as_str(), "authorization.k8s.io" | "authentication.k8s.io");
        let verb = matches!(
            self.verb.as_str(),
            "create" | "update" | "patch" | "delete" | "deletecollection"
        );
        verb && !review && !self.dry_run
    }

    /// What a path says; `None` for one that is no resource. The verb stays empty.
    fn object(path: &str) -> Option<Self> {
        let mut parts = path.trim_matches('/').split('/');
        let group = match parts.next()? {
            "api" => "",
            "apis" => parts.next()?,
            _ => return None,
        };
        let _version = parts.next()?;
        let mut info = Self {
            group: group.to_owned(),
            ..Self::empty()
        };
        let mut rest: Vec<&str> = parts.collect();
        // `namespaces/x` alone is the namespace itself, as are its own subresources.
        if let ["namespaces", namespace, resource, ..] = rest.as_slice()
            && !matches!(*resource, "status" | "finalize")
        {
            (*namespace).clone_into(&mut info.namespace);
            rest.drain(..2);
        }
        let mut rest = rest.into_iter().map(str::to_owned);
        info.resource = rest.next()?;
        info.name = rest.next().unwrap_or_default();
        info.subresource = rest.collect::<Vec<_>>().join("/");
        Some(info)
    }

    fn empty() -> Self {
        Self {
            verb: String::new(),
            group: String::new(),
            resource: String::new(),
            subresource: String::new(),
            namespace: String::new(),
            name: String::new(),
            dry_run: false,
        }
    }
}

impl fmt::Display for RequestInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {}/{}",
            self.verb,
            self.full_resource(),
            self.namespace,
            self.name
        )
    }
}

fn verb(method: &Method, watched: bool, named: bool) -> &'static str {
    match (method.as_str(), named) {
        ("GET" | "HEAD", _) if watched => "watch",
        ("GET" | "HEAD", true) => "get",
        ("GET" | "HEAD", false) => "list",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "delete",
        ("DELETE", false) => "deletecollection",
        _ => "create",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: &str, uri: &str) -> String {
        let info = RequestInfo::new(&method.parse().unwrap(), &uri.parse().unwrap());
        format!("{info} {:?}{}", info.group, if info.is_write() { " write" } else { "" })
    }

    #[test]
    fn a_request_is_read_as_kubernetes_reads_it() {
        let pods = "/api/v1/namespaces/a/pods";
        let pipelines = "/apis/streams.sentry.io/v1alpha1";
        for (method, uri, expected) in [
            ("GET", "/api/v1/pods?limit=500", "list pods / \"\""),
            ("GET", "/api/v1/pods?resourceVersion=7&watch=true", "watch pods / \"\""),
            ("GET", &format!("{pods}/x"), "get pods a/x \"\""),
            (
                "GET",
                &format!("{pods}?watch=1&fieldSelector=metadata.name%3Dx"),
                "watch pods a/ \"\"",
            ),
            ("POST", pods, "create pods a/ \"\" write"),
            ("POST", &format!("{pods}?dryRun=All"), "create pods a/ \"\""),
            ("DELETE", &format!("{pods}/x"), "delete pods a/x \"\" write"),
            ("DELETE", pods, "deletecollection pods a/ \"\" write"),
            (
                "POST",
                &format!("{pods}/x/eviction"),
                "create pods/eviction a/x \"\" write",
            ),
            (
                "PUT",
                &format!("{pipelines}/namespaces/a/streamingpipelines/x/status"),
                "update streamingpipelines/status a/x \"streams.sentry.io\" write",
            ),
            (
                "PATCH",
                &format!("{pipelines}/namespaces/a/streamingpipelines/x"),
                "patch streamingpipelines a/x \"streams.sentry.io\" write",
            ),
            ("GET", "/api/v1/namespaces/a", "get namespaces /a \"\""),
            (
                "PUT",
                "/api/v1/namespaces/a/finalize",
                "update namespaces/finalize /a \"\" write",
            ),
            ("GET", "/api/v1/namespaces", "list namespaces / \"\""),
            (
                "POST",
                "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                "create subjectaccessreviews / \"authorization.k8s.io\"",
            ),
            ("GET", "/version", "get /version / \"\""),
            ("GET", "/api", "get /api / \"\""),
            (
                "GET",
                "/apis/streams.sentry.io/v1alpha1",
                "get /apis/streams.sentry.io/v1alpha1 / \"\"",
            ),
        ] {
            assert_eq!(read(method, uri), expected, "{method} {uri}");
        }
    }
}
