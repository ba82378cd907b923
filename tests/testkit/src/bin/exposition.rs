//! `exposition`: serves a file as metrics, for the demo: its Pods are simulated and have none of their own.
//!
//! Reads the file at each scrape; whoever changes it renames a new one over it. Ends with SIGTERM.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use clap::Parser;
use tokio::net::TcpListener;

/// Serves a file in Prometheus' text format
#[derive(Debug, Parser)]
struct Cli {
    /// Where to listen
    #[arg(long, value_name = "ADDR")]
    listen: String,
    /// The file
    file: PathBuf,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match serve(Cli::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("exposition: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(cli: Cli) -> Result<()> {
    let listener = TcpListener::bind(&cli.listen).await?;
    let routes = Router::new().route("/metrics", get(metrics)).with_state(cli.file);
    axum::serve(listener, routes).await?;
    Ok(())
}

async fn metrics(State(file): State<PathBuf>) -> impl IntoResponse {
    match tokio::fs::read_to_string(&file).await {
        Ok(text) => (StatusCode::OK, [(CONTENT_TYPE, "text/plain; version=0.0.4")], text),
        Err(error) => {
            let text = format!("{}: {error}", file.display());
            (StatusCode::SERVICE_UNAVAILABLE, [(CONTENT_TYPE, "text/plain")], text)
        }
    }
}
