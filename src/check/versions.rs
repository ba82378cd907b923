//! Versions: of this program, of the operator, of the API server. Must never take a version that it cannot read for an
//! old one.

use super::{Finding, State, Subject};

/// The oldest minor version of Kubernetes 1 whose API server has all that is used (match conditions of webhooks).
const OLDEST_MINOR: u32 = 30;

pub(super) async fn look(subject: &Subject<'_>) -> Vec<Finding> {
    let own = env!("CARGO_PKG_VERSION");
    let operator = subject.installed.map(|installed| {
        let version = installed.version.as_deref().unwrap_or("unknown");
        let message = format!("operator {version} (image {}), this program {own}", installed.image);
        if version == own {
            Finding::ok("versions", message)
        } else {
            let todo = "check with the program of the operator's version: CRDs and rights are judged by this one's";
            Finding::told("versions", State::Warning, message, todo)
        }
    });
    let server = match subject.client.apiserver_version().await {
        Ok(info) => {
            let message = format!("API server {}", info.git_version);
            if is_too_old(&info.major, &info.minor) {
                let todo = format!("upgrade the cluster to Kubernetes 1.{OLDEST_MINOR} or later");
                Finding::wrong("versions", message, todo)
            } else {
                Finding::ok("versions", message)
            }
        }
        Err(error) => Finding::unasked("versions", "read the API server's version", &error),
    };
    operator.into_iter().chain([server]).collect()
}

/// Some clusters write `30+`.
fn is_too_old(major: &str, minor: &str) -> bool {
    let minor = minor.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<u32>();
    major == "1" && minor.is_ok_and(|minor| minor < OLDEST_MINOR)
}

#[cfg(test)]
mod tests {
    use super::is_too_old;

    #[test]
    fn what_is_older_than_1_30_is_too_old() {
        assert!(is_too_old("1", "29"));
        assert!(is_too_old("1", "29+"));
        assert!(!is_too_old("1", "30+"));
        assert!(!is_too_old("2", "0"));
        assert!(!is_too_old("1", "?"));
    }
}
