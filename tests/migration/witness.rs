//! Watches the Pods of a control plane and judges each state that it sees: one watch, so in the order in which the API
//! server stored them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client};
use testkit::wait::{self, Seen};
use tokio::task::JoinHandle;

use crate::pipelines::Bounds;

/// What it has seen.
#[derive(Default)]
struct Sight {
    /// By uid: name, whether it is a consumer that is not terminating, whether it is available.
    pods: HashMap<String, (String, bool, bool)>,
    complete: bool,
    states: usize,
    violations: Vec<String>,
    /// By pipeline: the most consumers and the fewest available ones so far.
    extremes: HashMap<String, (usize, usize)>,
    /// By pipeline: the consumers that it may have. Those that a Deployment had beyond its number before the move may go,
    /// and none may come instead of them.
    limits: HashMap<String, usize>,
}

/// The witness of some pipelines.
pub(crate) struct Witness {
    sight: Arc<Mutex<Sight>>,
    task: JoinHandle<()>,
}

impl Witness {
    /// Begins to watch, and waits until it knows every Pod. Only Pods of these namespaces count.
    pub(crate) async fn begin(client: Client, namespaces: &[&str], pipelines: Vec<Bounds>) -> Self {
        let sight: Arc<Mutex<Sight>> = Arc::default();
        let of_watch = Arc::clone(&sight);
        let namespaces: Vec<String> = namespaces.iter().map(|name| (*name).to_owned()).collect();
        let task = tokio::spawn(async move {
            let mut events = watcher(Api::<Pod>::all(client), Config::default()).boxed();
            while let Some(event) = events.next().await {
                let mut sight = of_watch.lock().unwrap();
                match event {
                    Ok(event) => sight.take(event, &namespaces, &pipelines),
                    Err(error) => sight.violations.push(format!("the watch broke: {error}")),
                }
            }
        });
        let witness = Self { sight, task };
        let look = async || {
            let sight = witness.sight.lock().unwrap();
            Ok(if sight.complete {
                Seen::Yes(())
            } else {
                Seen::NotYet(String::new())
            })
        };
        wait::until("the witness to know all Pods", wait::DEADLINE, look)
            .await
            .unwrap();
        witness
    }

    /// What it saw: how many states, and what was wrong with them.
    pub(crate) fn end(self) -> (usize, Vec<String>) {
        self.task.abort();
        let sight = self.sight.lock().unwrap();
        for (name, (most, fewest)) in &sight.extremes {
            println!("{name}: at most {most} consumers, at least {fewest} available");
        }
        (sight.states, sight.violations.clone())
    }
}

impl Sight {
    fn take(&mut self, event: Event<Pod>, namespaces: &[String], pipelines: &[Bounds]) {
        let counts = |pod: &Pod| {
            pod.metadata
                .namespace
                .as_ref()
                .is_some_and(|name| namespaces.contains(name))
        };
        match event {
            Event::Init if self.complete => self
                .violations
                .push("the watch began anew: states were missed".to_owned()),
            Event::InitApply(pod) | Event::Apply(pod) if counts(&pod) => {
                let (uid, name) = (pod.metadata.uid.clone().unwrap(), pod.metadata.name.clone().unwrap());
                self.pods.insert(uid, (name.clone(), is_live(&pod), is_available(&pod)));
                self.judge(&name, pipelines);
            }
            Event::Delete(pod) if counts(&pod) => {
                self.pods.remove(&pod.metadata.uid.unwrap());
                self.judge(&pod.metadata.name.unwrap(), pipelines);
            }
            Event::InitDone => {
                self.complete = true;
                for pipeline in pipelines {
                    self.judge(&pipeline.bases[1], pipelines);
                }
            }
            Event::Init | Event::InitApply(_) | Event::Apply(_) | Event::Delete(_) => {}
        }
    }

    /// Judges the pipeline to which a Pod of this name belongs.
    fn judge(&mut self, changed: &str, pipelines: &[Bounds]) {
        let Some(bounds) = owner(changed, pipelines).filter(|_| self.complete) else {
            return;
        };
        let pods = self
            .pods
            .values()
            .filter(|(name, ..)| owner(name, pipelines).is_some_and(|of| of.name == bounds.name));
        let (mut live, mut available) = (0, 0);
        let mut names = Vec::new();
        for (name, is_live, is_available) in pods {
            live += usize::from(*is_live);
            available += usize::from(*is_available);
            names.push(format!(
                "{name}{}{}",
                if *is_live { "" } else { " (ends)" },
                if *is_available { "+" } else { "" }
            ));
        }
        self.states += 1;
        let extremes = self.extremes.entry(bounds.name.clone()).or_insert((live, available));
        *extremes = (extremes.0.max(live), extremes.1.min(available));
        let limit = self.limits.entry(bounds.name.clone()).or_insert(live);
        let most = *limit.max(&mut bounds.most.clone());
        *limit = live.max(bounds.most);
        if live > most || available < bounds.fewest {
            names.sort();
            let Bounds {
                name, replicas, fewest, ..
            } = bounds;
            self.violations.push(format!(
                "{name} ({replicas} replicas): {live} consumers of {most} at most, {available} available of {fewest} at \
                 least: {}",
                names.join(", ")
            ));
        }
    }
}

fn owner<'a>(pod: &str, pipelines: &'a [Bounds]) -> Option<&'a Bounds> {
    pipelines
        .iter()
        .find(|pipeline| pipeline.bases.iter().any(|base| pod.starts_with(base.as_str())))
}

fn is_live(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    pod.metadata.deletion_timestamp.is_none() && !matches!(phase, Some("Failed" | "Succeeded"))
}

fn is_available(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut ready = conditions.filter(|condition| condition.type_ == "Ready" && condition.status == "True");
    is_live(pod) && ready.next().is_some()
}
