//! `orphans` where the API server is not there, or does not let itself be asked.

use std::process::{Command, Output};

use serde_json::json;

use super::{code, stderr, stdout};

/// Runs the program with a kubeconfig that leads to `port`.
fn orphans(port: u16, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": format!("http://127.0.0.1:{port}")}}],
        "users": [{"name": "u", "user": {}}]});
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, config.to_string()).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_streaming-operator"));
    command.arg("orphans").args(arguments).env("KUBECONFIG", kubeconfig);
    command.output().expect("the program")
}

/// A port at which nobody listens, for as long as the listener is kept.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

#[test]
fn an_api_server_that_is_away_is_exit_code_4_and_nothing_is_said_to_be_an_orphan() {
    let output = orphans(free_port(), &["--delete"]);
    assert_eq!((code(&output), stdout(&output)), (Some(4), String::new()));
    let told = stderr(&output);
    assert!(
        told.starts_with("streaming-operator: the API server cannot be asked: "),
        "{told}"
    );
}

/// Answers every request with this code.
fn refusing(status: &'static str) -> u16 {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let Ok(mut connection) = connection else { return };
            let mut request = [0; 4096];
            let _read = connection.read(&mut request);
            let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403,
                "reason": "Forbidden", "message": "pods is forbidden: User \"u\" cannot list resource \"pods\""});
            let body = body.to_string();
            let head =
                format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ");
            let _written = write!(connection, "{head}{}\r\n\r\n{body}", body.len());
        }
    });
    port
}

#[test]
fn whoever_may_not_list_pods_is_told_so_with_exit_code_4() {
    let output = orphans(refusing("403 Forbidden"), &[]);
    assert_eq!((code(&output), stdout(&output)), (Some(4), String::new()));
    let told = stderr(&output);
    assert!(
        told.contains("cannot be listed: pods is forbidden: User \"u\" cannot list"),
        "{told}"
    );
}
