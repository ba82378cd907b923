//! The API server that a command asks: that of the user's kubeconfig, as kubectl finds it. Must never send anything but the
//! question whether it is there.

use std::process::ExitCode;
use std::time::Duration;

use kube::{Client, Config};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::client::in_words;

/// How long it may take to say its version, which asks nobody else.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// The API server of the user's kubeconfig, or why there is none.
pub(super) struct Server {
    /// The namespace of documents that name none.
    pub(super) namespace: String,
    connection: Result<(Runtime, Client), String>,
}

impl Server {
    /// Reads the kubeconfig as kubectl does, and looks whether the API server is there.
    pub(super) fn connect() -> Self {
        // The client takes its cryptography from the process. An error means that it is set already.
        let _set_already = rustls::crypto::ring::default_provider().install_default();
        let mut namespace = "default".to_owned();
        let connection = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let connection = connection.map_err(|error| error.to_string()).and_then(|runtime| {
            let client = runtime.block_on(async {
                let config = Config::infer().await;
                let mut config = config.map_err(|error| format!("no way to it is known: {error}"))?;
                namespace.clone_from(&config.default_namespace);
                // A refusal to be busy is an answer too; the client's own retries would go on for minutes.
                config.default_retry = false;
                let client = Client::try_from(config).map_err(|error| in_words(&error))?;
                let first = timeout(FIRST_ANSWER, client.apiserver_version()).await;
                match first {
                    // Whoever refuses to say its version is there.
                    Ok(Ok(_) | Err(kube::Error::Api(_))) => Ok(client),
                    Ok(Err(error)) => Err(in_words(&error)),
                    Err(_) => Err(format!("no answer within {FIRST_ANSWER:?}")),
                }
            });
            Ok((runtime, client?))
        });
        Self { namespace, connection }
    }

    /// What asks it; else it is told why it cannot be asked, and this is the exit code.
    pub(super) fn or_told(&self) -> Result<(&Runtime, &Client), ExitCode> {
        self.connection().map_err(unasked)
    }

    /// What asks it, or why it cannot be asked.
    pub(super) fn connection(&self) -> Result<(&Runtime, &Client), &str> {
        let connection = self.connection.as_ref();
        connection
            .map(|(runtime, client)| (runtime, client))
            .map_err(String::as_str)
    }
}

/// Tells why the API server cannot be asked; gives the exit code of that.
pub(super) fn unasked(why: &str) -> ExitCode {
    eprintln!("streaming-operator: the API server cannot be asked: {why}");
    ExitCode::from(4)
}
