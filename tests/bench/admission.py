"""Our webhook beside one of controller-runtime: CPU a request, latency, what it bears, memory.

Usage: admission.py OUT COMMIT PROGRAMS SCHEMA GOLDEN WORKER...
PROGRAMS is the folder of reference-webhook's programs, SCHEMA the config.json of sentry-streams, WORKER the command of
benches/admission.rs. Both servers answer the same bodies in turns; a figure is the median of the rounds. CPU is user and
system time of the server's process, as the kernel counts it.
"""

import http.client
import json
import os
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

import admission_bodies
import report

ROUNDS = 3
# The kernel counts CPU in hundredths of a second: a run is to be long against that.
CPU_SECONDS_MIN = 2.0
# From as much it is told how many requests that are.
CPU_SECONDS_TRIED = 0.3
# Beyond the least, for a round may be quicker than the one that was tried.
MARGIN = 1.3
CONNECTIONS = 4
# Of ten bodies one is refused, as in the large ones.
SMALL_VALID, SMALL_REFUSED = 225, 25
PIPELINES = 5000
IDLE_CONNECTIONS = 10_000
GARBAGE_PER_SECOND = 200
# A healthy client's requests in a run with disturbances.
HEALTHY_REQUESTS = 8000
REFERENCE_NAME = "controller-runtime v0.25.2"


class Ours:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit("bench: the operator did not start")
        told = json.loads(line)
        self.pid, self.port, self.ca = told["pid"], told["port"], told["ca"]

    def fill(self, number):
        self.process.stdin.write(f"{number}\n")
        self.read()

    def rss_kib(self):
        with open(f"/proc/{self.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

    def end(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit("bench: our side failed")


class Reference:
    def __init__(self, programs, schema, folder):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.ca = f"{folder}/ca.crt"
        command = [f"{programs}/server", "-schema", schema, "-cert-dir", folder, "-port", str(self.port)]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        while self.process.poll() is None:
            try:
                return socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.05)
        sys.exit("bench: the reference did not start")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def verdicts(side, bodies):
    """Whether the server admits each of these bodies."""
    connection = http.client.HTTPSConnection("localhost", side.port, context=ssl.create_default_context(cafile=side.ca))
    for body in bodies:
        connection.request("POST", "/validate", body, {"Content-Type": "application/json"})
        yield json.loads(connection.getresponse().read())["response"]["allowed"]
    connection.close()


def judged_alike(sides, bodies, admitted):
    """Those that both servers judge as the golden data do. The rest are edge cases on which the rules differ; they are
    counted, for a rule that refuses much would look fast."""
    answers = zip(*(verdicts(side, bodies) for side in sides))
    alike = [body for body, answer in zip(bodies, answers) if all(each == admitted for each in answer)]
    word = "admit" if admitted else "refuse"
    print(f"bench: {len(alike)} of {len(bodies)} small bodies that both should {word} are judged so by both", file=sys.stderr)
    return alike


class Load:
    def __init__(self, programs, folder):
        self.program, self.folder = f"{programs}/load", folder

    def run(self, side, path, bodies, number, connections=CONNECTIONS, new=False):
        command = [
            self.program, "-url", f"https://localhost:{side.port}{path}", "-ca", side.ca, "-pid", str(side.pid),
            "-bodies", f"{self.folder}/{bodies}", "-n", str(number), "-warmup", str(max(50, number // 10)),
            "-c", str(connections),
        ]
        if new:
            # Our cryptography lacks X25519MLKEM768, which an API server would rather have: the same work for both.
            command += ["-new-conn", "-x25519"]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        result = json.loads(run.stdout)
        if result["errors"] > 0 or result["answered"] != number:
            sys.exit(f"bench: {result['errors']} of {number} requests to {path} failed")
        return result

    def in_turns(self, sides, path, bodies, number, **options):
        """The results of each side, of all rounds; both must have answered alike."""
        results = [[], []]
        for _ in range(ROUNDS):
            for side, of_side in zip(sides, results):
                of_side.append(self.run(side, path, bodies, number, **options))
            counts = [{key: of_side[-1][key] for key in ("allowed", "denied", "patched")} for of_side in results]
            if counts[0] != counts[1]:
                sys.exit(f"bench: {path} of {bodies} bodies is answered differently: ours {counts[0]}, reference {counts[1]}")
        print(f"bench: {path} {bodies}: {number} requests a round, {counts[0]}", file=sys.stderr)
        return results

    def enough(self, sides, path, bodies, **options):
        """How many requests cost the cheaper server the least CPU of a run."""
        number = 500
        while True:
            spent = min(self.run(side, path, bodies, number, **options)["cpu_seconds"] for side in sides)
            if spent >= CPU_SECONDS_TRIED:
                return int(number * MARGIN * CPU_SECONDS_MIN / spent)
            number *= 4

    def cpu(self, sides, name, path, bodies, **options):
        """CPU a request in microseconds, at the same number of requests for both."""
        number = self.enough(sides, path, bodies, **options)
        while True:
            results = self.in_turns(sides, path, bodies, number, **options)
            least = min(result["cpu_seconds"] for of_side in results for result in of_side)
            if least >= CPU_SECONDS_MIN:
                break
            number = int(number * MARGIN * CPU_SECONDS_MIN / max(least, 0.1))
        ours, reference = (
            round(statistics.median(result["cpu_seconds"] for result in of_side) / number * 1e6, 1) for of_side in results
        )
        return report.figure(name, "us", "lower", ours, number, reference, REFERENCE_NAME)

    def p99(self, sides, connections, number):
        results = self.in_turns(sides, "/validate", "small", number, connections=connections)
        ours, reference = (statistics.median(result["p99_ms"] for result in of_side) for of_side in results)
        return report.figure(f"p99_ms_validate_{connections}", "ms", "lower", ours, number, reference, REFERENCE_NAME)

    def healthy(self, side):
        """p99 of a client with one connection; a failed request ends the bench."""
        runs = [self.run(side, "/validate", "small", HEALTHY_REQUESTS, connections=1) for _ in range(ROUNDS)]
        return statistics.median(run["p99_ms"] for run in runs)


def disturbed(load, programs, side, name, flag, number):
    """How many times its undisturbed p99 a healthy client sees."""
    before = load.healthy(side)
    command = [f"{programs}/disturb", "-address", f"localhost:{side.port}", flag, str(number)]
    disturber = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if disturber.stdout.readline() != "ready\n":
        sys.exit(f"bench: {name}: cannot disturb")
    during = load.healthy(side)
    disturber.stdin.close()
    did = json.loads(disturber.stdout.readline())
    disturber.wait()
    print(f"bench: {name}: p99 {before} ms alone, {during} ms disturbed; {did}", file=sys.stderr)
    if did.get("closed_by_the_server"):
        sys.exit(f"bench: {name}: idle connections that had spoken were closed: {did}")
    return report.figure(name, "1", "lower", round(during / before, 2), HEALTHY_REQUESTS)


def memory(ours):
    empty = ours.rss_kib()
    ours.fill(PIPELINES)
    full = ours.rss_kib()
    return [
        report.figure("rss_mib_0", "MiB", "lower", round(empty / 1024, 1), 0),
        report.figure(f"rss_mib_{PIPELINES}", "MiB", "lower", round(full / 1024, 1), PIPELINES),
        report.figure("rss_kib_per_pipeline", "KiB", "lower", round((full - empty) / PIPELINES, 2), PIPELINES),
    ]


def measure(ours, reference, programs, golden, folder):
    figures = memory(ours)
    sides, bodies = (ours, reference), admission_bodies.small_and_large(golden)
    valid = judged_alike(sides, bodies["valid"], True)
    refused = judged_alike(sides, bodies["refused"], False)
    alike, tried = len(valid) + len(refused), len(bodies["valid"]) + len(bodies["refused"])
    valid, refused = valid[:SMALL_VALID], refused[:SMALL_REFUSED]
    if (len(valid), len(refused)) != (SMALL_VALID, SMALL_REFUSED):
        sys.exit("bench: too few bodies are judged alike")
    figures.append(report.figure("small_bodies_judged_alike", "1", "higher", alike, tried))
    admission_bodies.save(f"{folder}/small", valid + refused)
    admission_bodies.save(f"{folder}/large", bodies["large"])
    load = Load(programs, folder)
    for path in ("/validate", "/mutate"):
        name = f"cpu_us_{path[1:]}"
        figures.append(load.cpu(sides, name, path, "small"))
        figures.append(load.cpu(sides, f"{name}_100kb", path, "large"))
        figures.append(load.cpu(sides, f"{name}_new_connection", path, "small", new=True))
    figures.append(load.p99(sides, 8, 20_000))
    figures.append(disturbed(load, programs, ours, f"p99_idle_{IDLE_CONNECTIONS}_ratio", "-idle", IDLE_CONNECTIONS))
    figures.append(disturbed(load, programs, ours, f"p99_garbage_{GARBAGE_PER_SECOND}_ratio", "-garbage", GARBAGE_PER_SECOND))
    return figures


def main():
    out, commit, programs, schema, golden, *worker = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        certificates = os.path.join(folder, "certificates")
        os.mkdir(certificates)
        ours, reference = Ours(worker), Reference(programs, schema, certificates)
        try:
            figures = measure(ours, reference, programs, golden, folder)
        finally:
            reference.end()
            ours.end()
    report.write(out, "admission", commit, figures)


main()
