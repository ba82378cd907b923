"""How soon the operator answers a Pod that fails or is deleted, and an edit, by the audit log of the API server.

Usage: reaction.py OUT COMMIT WORKER...
WORKER is the command of benches/reaction.rs; its last line has the times in milliseconds.
"""

import json
import subprocess
import sys

import report


def percentile(times, percent):
    """The smallest time that so many percent of the times do not exceed."""
    ordered = sorted(times)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def figures_of(name, times):
    return [
        report.figure(f"{name}_p{percent}_ms", "ms", "lower", round(percentile(times, percent), 1), len(times))
        for percent in (50, 99)
    ]


def main():
    out, commit, *worker = sys.argv[1:]
    run = subprocess.run(worker, stdout=subprocess.PIPE, text=True, check=True)
    told = json.loads(run.stdout.strip().splitlines()[-1])
    for name in ("failures", "deletions", "edits"):
        times = told[name]
        print(f"bench: {name}: {len(times)}, at most {max(times):.1f} ms", file=sys.stderr)
    # Of both kinds together: whoever waits for a consumer does not ask why it went.
    figures = figures_of("heal", told["failures"] + told["deletions"]) + figures_of("edit", told["edits"])
    report.write(out, "reaction", commit, figures)


main()
