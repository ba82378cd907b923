//! Child processes that end for sure: with their owner, with a panic, and with a SIGKILL to this process.
//!
//! Three nets: `Drop` kills the child; the kernel kills it when this process is gone (`setpriv --pdeathsig`); and a
//! child that finds its parent gone before that was set up ends by itself. Never starts a child any other way.
//!
//! The kernel's signal belongs to the *thread* that started the child, not to the process. A test's thread ends with
//! its test while the control plane lives on, so one thread that never ends starts all children.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

/// How often the end of a child is looked for: short against the 50 ms or so that servers take to stop.
const POLL: Duration = Duration::from_millis(10);

/// Run by `sh` after the kernel's signal is set up: ends when the parent ended before that, else becomes the program.
const GUARD: &str = r#"[ "$PPID" = "$0" ] || exit 1; exec "$@""#;

type Answer = mpsc::Sender<io::Result<Child>>;

/// A child that runs, and is killed when the last handle is dropped. Handles are cheap to clone.
#[derive(Clone, Debug)]
pub struct Running {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: String,
    log: PathBuf,
    child: Mutex<Child>,
}

impl Running {
    /// Starts `command` with stdout and stderr appended to the file `log`, in a process group of its own (Ctrl-C at a
    /// terminal reaches only us, so that children are stopped in order).
    ///
    /// # Errors
    /// When the log cannot be opened or the program cannot be started. That the program exits at once is no error.
    pub fn start(name: &str, command: &Command, log: &Path) -> Result<Self> {
        let file = File::options()
            .create(true)
            .append(true)
            .open(log)
            .with_context(|| format!("cannot write the log {} of {name}", log.display()))?;
        let mut guarded = guarded(command);
        guarded
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .process_group(0);
        let child =
            spawn(guarded).with_context(|| format!("cannot start {name}; is setpriv (util-linux) installed?"))?;
        Ok(Self {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                log: log.to_owned(),
                child: Mutex::new(child),
            }),
        })
    }

    /// What it was called at its start; error texts name it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The file that has its output.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.inner.log
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child().id()
    }

    /// How it ended, or `None` while it runs.
    ///
    /// # Errors
    /// When the kernel cannot be asked.
    pub fn ended(&self) -> io::Result<Option<ExitStatus>> {
        self.child().try_wait()
    }

    /// SIGKILL. Nothing happens when it has ended already.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn kill(&self) -> io::Result<()> {
        self.child().kill()
    }

    /// SIGTERM. Nothing happens when it has ended already.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn terminate(&self) -> io::Result<()> {
        self.signal(Signal::TERM)
    }

    /// SIGSTOP: it does nothing until [`Running::resume`]. Nothing happens when it has ended already.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn pause(&self) -> io::Result<()> {
        self.signal(Signal::STOP)
    }

    /// SIGCONT: it goes on where it was paused. Nothing happens when it has ended already.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn resume(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        let mut child = self.child();
        // Its id may belong to another process once the end has been collected.
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        let id = i32::try_from(child.id()).map_err(io::Error::other)?;
        let id = Pid::from_raw(id).ok_or_else(|| io::Error::other("a process id of 0"))?;
        Ok(kill_process(id, signal)?)
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// When it still runs after `deadline`; the text has the tail of its log.
    pub async fn wait(&self, deadline: Duration) -> Result<ExitStatus> {
        let started = std::time::Instant::now();
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            ensure!(
                started.elapsed() < deadline,
                "{} still runs after {deadline:?}; the end of its log:\n{}",
                self.name(),
                self.tail(20)
            );
            tokio::time::sleep(POLL).await;
        }
    }

    /// The last `lines` of its log.
    #[must_use]
    pub fn tail(&self, lines: usize) -> String {
        tail(self.log(), lines)
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.inner.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Both fail only when it has ended already.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Runs a short command to its end and gives its output. Blocks.
///
/// # Errors
/// When it cannot be started, or exits with another code than 0: the text then has its stderr.
pub fn output(command: &Command) -> Result<String> {
    let Output { status, stdout, stderr } = outcome(command)?;
    ensure!(
        status.success(),
        "{command:?} ended with {status}: {}",
        String::from_utf8_lossy(&stderr).trim()
    );
    String::from_utf8(stdout).with_context(|| format!("{command:?} printed no UTF-8"))
}

/// Runs a short command to its end, whatever its exit code. Blocks.
///
/// # Errors
/// When it cannot be started.
pub fn outcome(command: &Command) -> Result<Output> {
    let mut guarded = guarded(command);
    guarded
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = spawn(guarded).with_context(|| format!("cannot start {command:?}"))?;
    Ok(child.wait_with_output()?)
}

/// The last `lines` of a file; empty when it cannot be read.
#[must_use]
pub fn tail(file: &Path, lines: usize) -> String {
    let text = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let skipped = text.lines().count().saturating_sub(lines);
    text.lines().skip(skipped).collect::<Vec<_>>().join("\n")
}

/// The same command, behind the guards that end it with this process.
fn guarded(command: &Command) -> Command {
    let mut guarded = Command::new("setpriv");
    guarded
        .args(["--pdeathsig", "KILL", "sh", "-c", GUARD])
        .arg(std::process::id().to_string());
    guarded.arg(command.get_program()).args(command.get_args());
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => guarded.env(key, value),
            None => guarded.env_remove(key),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        guarded.current_dir(folder);
    }
    guarded
}

/// Has the thread that never ends start a command.
fn spawn(command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<Mutex<mpsc::Sender<(Command, Answer)>>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (sender, receiver) = mpsc::channel::<(Command, Answer)>();
        // The sender is a static: the loop ends with the process.
        std::thread::spawn(move || {
            for (mut command, answer) in receiver {
                // The one who asked may be gone after a panic; then the child must not stay.
                if let Err(mpsc::SendError(Ok(mut child))) = answer.send(command.spawn()) {
                    let _ = child.kill();
                    let _ = child.wait();
                }
            }
        });
        Mutex::new(sender)
    });
    let (answer, result) = mpsc::channel();
    spawner
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .send((command, answer))
        .map_err(io::Error::other)?;
    result.recv().map_err(io::Error::other)?
}
