"""The valid specs of the golden data rendered per second: ours against the Python operator's package, and how long
`validate` takes for a file of 1,000 pipelines.

Usage: render.py OUT COMMIT PROGRAM GOLDEN WORKER...
WORKER is the command of benches/render.rs. The two sides take turns on one thread each, from parsed JSON to templates,
names, labels, config text and version in memory; the figure is the median of the rounds.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time

from sentry_streams_k8s.operator import from_crd_spec, render, validate

import report

ROUNDS = 7
# How long a round should take: long enough that starting the clock does not count.
ROUND_SECONDS = 2.0
DOCUMENTS = 1000


class Ours:
    def __init__(self, command, golden):
        self.process = subprocess.Popen(
            [*command, golden], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.lines = json.loads(self.process.stdout.readline())

    def seconds(self, times):
        self.process.stdin.write(f"{times}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit("bench: our side failed")


class Reference:
    def __init__(self, golden, lines):
        with open(golden) as file:
            objects = [json.loads(line) for line in file]
        self.specs = [(objects[line]["spec"], objects[line].get("name", "object")) for line in lines]

    def seconds(self, times):
        start = time.perf_counter()
        for _ in range(times):
            for spec, name in self.specs:
                read = from_crd_spec(spec, name=name)
                validate(read)
                render(read)
        return time.perf_counter() - start


def specs_per_second(worker, golden):
    ours = Ours(worker, golden)
    reference = Reference(golden, ours.lines)
    number = len(ours.lines)
    if number == 0:
        sys.exit("bench: no spec is valid to both sides")
    # A first round of each, not counted: caches fill, and it tells how often to render in a round.
    times = [max(1, round(ROUND_SECONDS / max(side.seconds(1), 1e-6))) for side in (ours, reference)]
    rates = ([], [])
    for _ in range(ROUNDS):
        for side, rate, often in zip((ours, reference), rates, times):
            rate.append(number * often / side.seconds(often))
    ours.end()
    mine, theirs = (statistics.median(rate) for rate in rates)
    return report.figure(
        "specs_per_second", "1/s", "higher", round(mine, 1), number, round(theirs, 1), "sentry-streams-k8s 0.0.10"
    )


def validate_documents(program, golden, lines):
    """Seconds of the whole process, its start and the reading of the file included."""
    with open(golden) as file:
        specs = [json.loads(line)["spec"] for line in file]
    valid = [specs[line] for line in lines]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        for index in range(DOCUMENTS):
            # Names of their own, so that none is refused for another's.
            spec = {**valid[index % len(valid)], "pipeline_name": f"p{index}"}
            document = {
                "apiVersion": "streams.sentry.io/v1alpha1",
                "kind": "StreamingPipeline",
                "metadata": {"name": f"p{index}", "namespace": "bench"},
                "spec": spec,
            }
            file.write("---\n" + json.dumps(document) + "\n")
        file.flush()
        taken = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            run = subprocess.run([program, "validate", "-f", file.name, "-o", "json"], capture_output=True)
            taken.append(time.perf_counter() - start)
            documents = len(json.loads(run.stdout)["documents"])
            if run.returncode not in (0, 1) or documents != DOCUMENTS:
                sys.exit(f"bench: validate ended with {run.returncode} after {documents} documents")
    return report.figure("validate_1000_documents_seconds", "s", "lower", round(statistics.median(taken), 4), DOCUMENTS)


def main():
    out, commit, program, golden, *worker = sys.argv[1:]
    probe = Ours(worker, golden)
    lines = probe.lines
    probe.end()
    figures = [specs_per_second(worker, golden), validate_documents(program, golden, lines)]
    report.write(out, "render", commit, figures)


main()
