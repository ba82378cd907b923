//! What the files of sources may hold, and how their faults are told.

use std::path::Path;

use tempfile::TempDir;

use super::*;

/// A folder with the files of a test.
struct Folder(TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().expect("a folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("a file");
        }
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn read(&self, sources: &[&str]) -> Result<Vec<SourceSettings>, Vec<String>> {
        let place = |source: &&str| source.replace("DIR", &self.path().display().to_string());
        super::read(&sources.iter().map(place).collect::<Vec<_>>())
    }

    /// The faults, with `DIR` for the folder.
    fn faults(&self, sources: &[&str]) -> Vec<String> {
        let faults = self.read(sources).expect_err("faults");
        let folder = self.path().display().to_string();
        faults.iter().map(|fault| fault.replace(&folder, "DIR")).collect()
    }
}

/// The settings of a source whose file holds `yaml`, in which `DIR` is the folder of `files`.
fn read(yaml: &str, files: &[(&str, &str)]) -> SourceSettings {
    let folder = Folder::new(files);
    let yaml = yaml.replace("DIR", &folder.path().display().to_string());
    std::fs::write(folder.path().join("s.yaml"), yaml).expect("a file");
    folder.read(&["default=DIR/s.yaml"]).expect("a source").remove(0)
}

fn faults(yaml: &str) -> Vec<String> {
    let folder = Folder::new(&[("s.yaml", yaml)]);
    let faults = folder.faults(&["default=DIR/s.yaml"]);
    let without = |fault: String| fault.replace("default=DIR/s.yaml: ", "");
    faults.into_iter().map(without).collect()
}

#[test]
fn a_url_is_enough() {
    let source = read("url: http://prometheus:9090", &[]);
    assert_eq!(source.name, "default");
    assert_eq!(source.endpoint.to_string(), "http://prometheus:9090/api/v1/query");
    assert_eq!(source.credentials, Credentials::None);
    assert_eq!(source.timeout, Duration::from_secs(10));
    assert_eq!(source.max_concurrent, 4);
    assert_eq!(source.body_limit, 1_048_576);
}

#[test]
fn queries_go_below_the_path_of_the_url() {
    for (url, endpoint) in [
        ("http://mimir/prometheus", "http://mimir/prometheus/api/v1/query"),
        ("http://mimir/prometheus/", "http://mimir/prometheus/api/v1/query"),
        ("http://[::1]:9090", "http://[::1]:9090/api/v1/query"),
    ] {
        assert_eq!(read(&format!("url: {url:?}"), &[]).endpoint.to_string(), endpoint);
    }
}

#[test]
fn everything_can_be_set() {
    let source = read(
        "url: http://mimir\nbearerTokenFile: DIR/token\nheaders: {X-Scope-OrgID: ingest}\ntimeout: 2500ms\n\
         maxConcurrent: 8\nbodyLimitBytes: 4096\n",
        &[("token", "secret\n")],
    );
    assert!(matches!(source.credentials, Credentials::Bearer { .. }));
    assert_eq!(source.headers["x-scope-orgid"], "ingest");
    assert_eq!(source.timeout, Duration::from_millis(2500));
    assert_eq!((source.max_concurrent, source.body_limit), (8, 4096));
}

#[test]
fn a_user_name_stands_in_the_file_or_in_one_of_its_own() {
    let files = [("user", "ingest"), ("password", "secret")];
    let given = read(
        "url: http://p\nbasicAuth: {username: ingest, passwordFile: DIR/password}",
        &files,
    );
    let Credentials::Basic { username, .. } = given.credentials else {
        panic!("basic");
    };
    assert_eq!(username, Username::Is("ingest".to_owned()));
    let in_file = "url: http://p\nbasicAuth: {usernameFile: DIR/user, passwordFile: DIR/password}";
    let Credentials::Basic { username, .. } = read(in_file, &files).credentials else {
        panic!("basic");
    };
    assert!(matches!(username, Username::File(_)));
}

#[test]
fn a_url_is_refused_that_is_not_just_an_address_and_is_never_repeated() {
    const MUST: &str = "url must be a URL such as https://prometheus.example.com:9090/path: ";
    for (url, fault) in [
        ("", "it cannot be read"),
        ("http://prom theus", "it cannot be read"),
        ("prometheus:9090", "it must begin with http:// or https://"),
        ("/prometheus", "it must begin with http:// or https://"),
        ("ftp://prometheus", "it must begin with http:// or https://"),
        (
            "http://me:secret@prometheus",
            "it must hold no user and no password; they are given as basicAuth",
        ),
        (
            "http://prometheus?token=secret",
            "it must have no query (?) and no fragment (#)",
        ),
        (
            "http://prometheus/#graph",
            "it must have no query (?) and no fragment (#)",
        ),
    ] {
        assert_eq!(faults(&format!("url: {url:?}")), [format!("{MUST}{fault}")], "{url}");
    }
}

#[test]
fn every_fault_of_a_file_is_told_with_its_field() {
    let yaml = "urls: http://p\nbearerTokenFile: /t\nbasicAuth: {user: x}\n\
                headers: {Authorization: Bearer x, \"a b\": c}\ntimeout: 2h\nmaxConcurrent: 0\nbodyLimitBytes: 1\n";
    assert_eq!(
        faults(yaml),
        [
            "urls is no field of a metrics source",
            "basicAuth.user is no field of a metrics source",
            "url is missing",
            "bearerTokenFile and basicAuth are both given; a request has one of them",
            "basicAuth must have one of username and usernameFile",
            "basicAuth.passwordFile is missing",
            "headers.Authorization is not to be set here; credentials have fields of their own",
            "headers.a b cannot be sent: a name or a value has characters that no header has",
            "timeout must be a duration from 100ms to 1m, such as 10s, not \"2h\"",
            "maxConcurrent must be a number from 1 to 100, not 0",
            "bodyLimitBytes must be a number from 1024 to 67108864, not 1",
        ]
    );
}

#[test]
fn a_file_that_is_no_yaml_of_a_source_is_told_with_its_line() {
    let fault = faults("url: http://p\nmaxConcurrent: many\n").remove(0);
    assert!(
        fault.starts_with("the file is no YAML of a metrics source: ") && fault.contains("line 2"),
        "{fault}"
    );
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = Folder::new(&[("empty", " \n"), ("no.pem", "no certificate")]);
    let put = |name: &str, yaml: &str| {
        let yaml = yaml.replace("DIR", &folder.path().display().to_string());
        std::fs::write(folder.path().join(name), yaml).expect("a file");
    };
    put("a", "{url: 'http://p', bearerTokenFile: DIR/none}");
    put("b", "{url: 'http://p', bearerTokenFile: DIR/empty}");
    put("c", "{url: 'https://p', caFile: DIR/none}");
    put("d", "{url: 'https://p', caFile: DIR/no.pem}");
    assert_eq!(
        folder.faults(&["a=DIR/a", "b=DIR/b", "c=DIR/c", "d=DIR/d", "e=DIR/e"]),
        [
            "a=DIR/a: bearerTokenFile: DIR/none cannot be read: No such file or directory (os error 2)",
            "b=DIR/b: bearerTokenFile: DIR/empty is empty",
            "c=DIR/c: caFile: DIR/none cannot be read: No such file or directory (os error 2)",
            "d=DIR/d: caFile: DIR/no.pem cannot be used: it holds no certificate",
            "e=DIR/e: the file cannot be read: No such file or directory (os error 2)",
        ]
    );
}

#[test]
fn a_source_is_a_name_and_a_file_and_no_name_comes_twice() {
    let folder = Folder::new(&[("s", "url: http://p")]);
    assert_eq!(
        folder.faults(&["default", "default=", "", "Main=DIR/s", "a=DIR/s", "a=DIR/s"]),
        [
            "must be NAME=FILE, not \"default\"",
            "must be NAME=FILE, not \"default=\"",
            "the name of a source must be lower case letters, digits and -, up to 63 characters, not \"Main\"",
            "the source a is given twice",
        ]
    );
}
