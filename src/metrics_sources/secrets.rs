//! The credentials of a source, read from their files for each request: a kubelet swaps the files of a Secret while the
//! operator runs, and what is read each time needs nobody who notices.
//!
//! Must never put what it reads into a text or a log.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;

use super::Failure;
use super::settings::{Credentials, Username};
use crate::telemetry::labels::SourceOutcome;

/// The header `Authorization` for a request that is about to be sent; `None` without credentials. Fails with the file.
pub(super) async fn authorization(credentials: &Credentials) -> Result<Option<HeaderValue>, Failure> {
    if matches!(credentials, Credentials::None) {
        return Ok(None);
    }
    let credentials = credentials.clone();
    // Files of a Secret are in memory, but those of another kind of volume need not be.
    let read = tokio::task::spawn_blocking(move || header(&credentials)).await;
    let read = read.unwrap_or_else(|_| Err("the read was given up".to_owned()));
    read.map_err(|words| Failure::new(SourceOutcome::Unauthorized, format!("cannot be asked: {words}")))
}

/// Whether the credentials can be read now; fails with the file.
pub(super) fn read_now(credentials: &Credentials) -> Result<(), String> {
    header(credentials).map(|_| ())
}

fn header(credentials: &Credentials) -> Result<Option<HeaderValue>, String> {
    let value = match credentials {
        Credentials::None => return Ok(None),
        Credentials::Bearer { token_file } => format!("Bearer {}", secret("bearerTokenFile", token_file)?),
        Credentials::Basic {
            username,
            password_file,
        } => {
            let username = match username {
                Username::Is(name) => name.clone(),
                Username::File(file) => secret("basicAuth.usernameFile", file)?,
            };
            if username.contains(':') {
                return Err("the user name of basicAuth has a colon, which ends it".to_owned());
            }
            let password = secret("basicAuth.passwordFile", password_file)?;
            format!("Basic {}", STANDARD.encode(format!("{username}:{password}")))
        }
    };
    let mut value = HeaderValue::from_str(&value).map_err(|_| "bearerTokenFile holds what is no token".to_owned())?;
    // hyper does not log it.
    value.set_sensitive(true);
    Ok(Some(value))
}

/// What a file holds, less the white space around it: people end files with a new line.
fn secret(field: &str, path: &Path) -> Result<String, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{field}: {shown} cannot be read: {error}"))?;
    let text = text.trim();
    if text.is_empty() {
        return Err(format!("{field}: {shown} is empty"));
    }
    Ok(text.to_owned())
}
