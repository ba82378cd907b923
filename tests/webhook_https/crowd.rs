//! Many clients at once, most of them useless: who sends reviews gets answers.
//!
//! That they come as quickly as without the others is measured by `make bench ONLY=admission`; here none may be missing.

use std::time::Duration;

use streaming_operator::server::{Limits, WorkLimits, open_files};
use testkit::wait::{self, Seen};
use tokio::io::AsyncReadExt;

use crate::JSON;
use crate::bed::{Bed, Client};
use crate::reviews::{create, object};

/// Both ends of each are files of this process.
const SILENT: usize = 300;
const IDLE: usize = 300;

async fn is_answered(client: &mut Client) -> bool {
    let answer = client.post("/validate", JSON, &create(&object("checkout"))).await;
    answer.status == 200 && answer.review()["response"]["allowed"] == true
}

#[tokio::test(flavor = "multi_thread")]
async fn hundreds_of_idle_silent_and_garbage_connections_cost_a_healthy_client_no_answer() {
    open_files::raise_limit().expect("the kernel grants it");
    let bed = Bed::start().await;
    let mut healthy = bed.client().await;
    let (mut silent, mut idle) = (Vec::new(), Vec::new());
    for _ in 0..SILENT {
        silent.push(bed.silent().await.expect("a connection"));
        bed.send_garbage().await;
        assert!(is_answered(&mut healthy).await);
    }
    for _ in 0..IDLE {
        let mut client = bed.client().await;
        assert_eq!(client.get("/elsewhere").await.status, 404);
        idle.push(client);
        bed.send_half_a_handshake().await;
        assert!(is_answered(&mut healthy).await);
    }
    for client in &mut idle {
        assert!(is_answered(client).await, "an idle connection is still there");
    }
}

#[tokio::test]
async fn when_places_run_out_the_longest_silent_connection_goes_and_no_other() {
    let limits = Limits {
        connections: 5,
        ..Limits::webhook(Duration::ZERO)
    };
    let bed = Bed::start_with(limits, WorkLimits::default()).await;
    let mut oldest = bed.client().await;
    assert!(is_answered(&mut oldest).await);
    let mut first = bed.silent().await.expect("a connection");
    let mut second = bed.silent().await.expect("a connection");
    let mut others = vec![bed.client().await, bed.client().await];
    for client in &mut others {
        assert!(is_answered(client).await);
    }

    let mut sixth = bed.client().await;
    assert!(is_answered(&mut sixth).await);
    assert_eq!(
        first.read(&mut [0]).await.unwrap_or(0),
        0,
        "the longest silent one is closed"
    );
    let mut seventh = bed.client().await;
    assert!(is_answered(&mut seventh).await);
    assert_eq!(second.read(&mut [0]).await.unwrap_or(0), 0, "then the next");
    for client in others.iter_mut().chain([&mut oldest, &mut sixth, &mut seventh]) {
        assert!(is_answered(client).await, "whoever has spoken stays");
    }
    assert!(bed.connect().await.is_err(), "all have spoken, so there is no place");

    drop(oldest);
    let look = async || {
        let connected = bed.connect().await;
        Ok(connected.map_or_else(|error| Seen::NotYet(error.to_string()), Seen::Yes))
    };
    let new = wait::until("the place of the one that went", wait::DEADLINE, look).await;
    assert!(is_answered(&mut new.expect("a place")).await);
}
