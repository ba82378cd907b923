"""What all benches share: the form of target/bench/NAME.json, and the lines that people read."""

import json
import os
import platform


def machine():
    model = platform.machine()
    try:
        with open("/proc/cpuinfo") as info:
            names = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
        model = names[0] if names else model
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} processors, {platform.system()} {platform.machine()}"


def figure(name, unit, better, ours, n, reference=None, reference_name=None):
    """One figure; the ratio is above 1 when ours is better. n: what was measured over."""
    ratio = None
    if reference is not None:
        ratio = round(ours / reference if better == "higher" else reference / ours, 2)
    return {
        "name": name,
        "unit": unit,
        "better": better,
        "ours": ours,
        "reference": reference,
        "reference_name": reference_name if reference is not None else None,
        "ratio": ratio,
        "n": n,
    }


def write(out, bench, commit, figures):
    report = {"bench": bench, "machine": machine(), "commit": commit, "figures": figures}
    with open(out, "w") as file:
        json.dump(report, file, indent=2)
        file.write("\n")
    for each in figures:
        against = f" ({each['ratio']} x {each['reference_name']}: {each['reference']})" if each["ratio"] else ""
        print(f"bench: {each['name']} {each['ours']} {each['unit']}{against}")
