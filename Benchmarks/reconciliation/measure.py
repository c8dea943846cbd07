"""Measures the reconciler beside its floor and beside Apple's client, in turns, on one machine.

Usage: measure.py FOLDER TRUEUP FLOOR VERIFICATION_BENCHMARK PEER_PYTHON [--accounts N] [--rounds N] …
FOLDER lies in memory; answers.py has filled it. jobs/benchmark prepares all of this. Prints a table, writes
benchmark.json, and ends with 1 when a target is missed. Figures are medians with the least and the most.
"""

import argparse
import json
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
options = argparse.ArgumentParser()
for name in ("folder", "trueup", "floor", "checks", "python"):
    options.add_argument(name)
options.add_argument("--accounts", type=int, default=20_000)
options.add_argument("--histories", type=int, default=2_000)
options.add_argument("--rounds", type=int, default=5)
options.add_argument("--port", type=int, default=18_444)
options.add_argument("--paced-seconds", type=int, default=30)
options.add_argument("--imported-rows", type=int, default=1_000_000)
options.add_argument("--output", default="benchmark.json")
given = options.parse_args()
folder = os.path.abspath(given.folder)
url = f"https://127.0.0.1:{given.port}"
PEER_ACCOUNTS, PEER_PAGES, IN_FLIGHT = min(400, given.accounts), min(40, given.histories), "64"


def spend(command, allowed=(0,)):
    """Runs a command: seconds of wall and processor time, and the peak of its memory in MB."""
    with open(folder + "/output.txt", "w+", encoding="utf-8") as output:
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode not in allowed:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{text[-3000:]}")
    return {"wall": wall, "cpu": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss / 1024, "text": text}


def serve(keepalive):
    with open(here + "/nginx.conf", encoding="utf-8") as file:
        text = file.read()
    for name, value in (("FOLDER", folder), ("PORT", str(given.port)), ("KEEPALIVE", str(keepalive))):
        text = text.replace(name, value)
    with open(folder + "/nginx.conf", "w", encoding="utf-8") as file:
        file.write(text)
    server = subprocess.Popen(
        ["nginx", "-c", folder + "/nginx.conf", "-p", folder], stderr=subprocess.DEVNULL, start_new_session=True
    )
    time.sleep(1)
    if server.poll() is not None:
        sys.exit("nginx did not start: " + open(folder + "/error.log", encoding="utf-8").read())
    return server


JOB = """steps: [walk]
mode: {mode}
coverage: full
history: {history}
max_duration: 2h
fail_on: none
guards: {{max_changes: 10000000, max_change_share: 1, max_same_direction_share: 1, max_own_fault: none}}
recover: {{inbox: none}}
"""


def company(name, rows, rate=1_000_000):
    """A folder with settings, jobs and a database that has imported rows; returns its path."""
    path = f"{folder}/{name}"
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path + "/jobs")
    for job, mode, history in (
        ("check", "check", "never"), ("apply", "apply", "never"), ("history", "check", "always"),
        ("periods", "apply", "always"),
    ):
        with open(f"{path}/jobs/{job}.yaml", "w", encoding="utf-8") as file:
            file.write(JOB.format(mode=mode, history=history))
    with open(path + "/trueup.yaml", "w", encoding="utf-8") as file:
        file.write(
            f"""apps:
  - bundle_id: com.example.app
    app_apple_id: 1234567890
    environment: production
    issuer_id: 57246542-96fe-1a63-e053-0824d011072a
    key_id: 2X9R4HXF34
    key_file: {folder}/SubscriptionKey.p8
    endpoint: {url}
    ca_file: {folder}/tls-root.pem
    trusted_roots: [{folder}/apple-root.pem]
    requests_per_second: {rate}
store: {{url: "sqlite:company.sqlite"}}
report: {{directory: reports}}
"""
        )
    for command in (["init"], ["import", rows]):
        spend([given.trueup, *command, "--config", path + "/trueup.yaml", "--quiet"])
    return path


def fresh(path):
    """A copy of a company as it was imported, so that every round does the same."""
    copy = path + ".round"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(path, copy)
    return copy


def trueup(path, job, verb="run"):
    figures = spend([given.trueup, verb, job, "--config", path + "/trueup.yaml", "--quiet"], allowed=(0, 2))
    with open(path + "/reports/latest/summary.json", encoding="utf-8") as file:
        figures["summary"] = json.load(file)
    return figures


def first_request(path):
    """Milliseconds from the start of a run to its first connection, which is then refused an answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings = path + "/trueup.yaml"
        with open(settings, encoding="utf-8") as file:
            text = file.read()
        with open(settings, "w", encoding="utf-8") as file:
            file.write(text.replace(url, f"https://127.0.0.1:{server.getsockname()[1]}"))
        began = time.monotonic()
        command = [given.trueup, "run", "check", "--config", settings, "--quiet"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server.settimeout(30)
        server.accept()[0].close()
        took = time.monotonic() - began
        process.terminate()
        process.wait()
    return took * 1000


def many_rows(name, count):
    """A table of so many rows, the first ones again and again under other ids and of other customers."""
    with open(folder + "/rows.csv", encoding="utf-8") as source:
        head, *lines = source.readlines()
    owner = head.rstrip("\n").split(",").index("customer_id") - 1
    with open(folder + "/" + name, "w", encoding="utf-8") as file:
        file.write(head)
        for number in range(count):
            copy, row = divmod(number, len(lines))
            rest = lines[row].split(",")[1:]
            rest[owner] += f"-{copy}"
            # Ids of transactions and line items have to differ, too.
            rest[-3], rest[-2] = str(3 * 10**16 + number), str(4 * 10**16 + number)
            file.write(",".join([str(3 * 10**15 + number), *rest]))
    return folder + "/" + name


def floor(path, ids, checks):
    return spend(
        [given.floor, url + path, folder + "/tls-root.pem", folder + "/leaf.pem", ids, "64", str(checks)]
    )


def peer(what, case, count):
    command = [given.python, here + "/peer.py", folder, url, str(count), IN_FLIGHT, what, case]
    return spend(command)


def some_rows(name, count):
    with open(folder + "/rows.csv", encoding="utf-8") as source, open(folder + "/" + name, "w", encoding="utf-8") as file:
        for number, line in enumerate(source):
            if number > count:
                break
            file.write(line)
    return folder + "/" + name


figures, targets = {}, []


def note(name, values, unit):
    figures[name] = {
        "median": statistics.median(values), "least": min(values), "most": max(values), "unit": unit,
    }
    return figures[name]["median"]


def target(name, value, limit, at_most=True):
    holds = value <= limit if at_most else value >= limit
    targets.append({"name": name, "value": value, "limit": limit, "at_most": at_most, "holds": holds})


# --- everything in turns, so that each side meets the machine in every mood
server = serve(1_000_000)
try:
    statuses, pages = "/inApps/v1/subscriptions/", "/inApps/v2/history/"
    everyone, few = company("everyone", folder + "/rows.csv"), company("few", folder + "/some.csv")
    one, ten = company("one", some_rows("one.csv", 1)), company("ten", some_rows("ten.csv", 10_000))
    ids, some_ids = folder + "/ids.txt", folder + "/some-ids.txt"
    with open(ids, encoding="ascii") as file, open(some_ids, "w", encoding="ascii") as some:
        some.writelines(file.readlines()[: given.histories])
    samples = {}

    def add(name, value):
        samples.setdefault(name, []).append(value)

    for turn in range(given.rounds):
        print(f"turn {turn + 1} of {given.rounds}", file=sys.stderr)
        n, pages_read = given.accounts, given.histories
        transport, checked = floor(statuses, ids, 0), floor(statuses, ids, 1)
        bare = spend([given.checks, folder, "2000", "3"])
        check_us = float(next(line.split()[1] for line in bare["text"].splitlines() if line.startswith("bare ")))
        add("floor: libcurl in C alone", transport["cpu"] / n * 1e6)
        add("floor: with two OpenSSL checks", checked["cpu"] / n * 1e6)
        add("floor: a bare check of swift-crypto", check_us)
        # The cheaper library's check is the floor.
        least = transport["cpu"] / n * 1e6 + 2 * min(check_us, (checked["cpu"] - transport["cpu"]) / n * 5e5)
        add("floor", least)

        checked_run = trueup(fresh(everyone), "check")
        if checked_run["summary"]["totals"]["discrepant"] != n // 10:
            sys.exit(f"{n // 10} rows drifted; found {checked_run['summary']['totals']}")
        add("check", checked_run["cpu"] / n * 1e6)
        add("check: accounts/s", n / checked_run["wall"])
        add("check: peak MB", checked_run["mb"])
        applied = trueup(fresh(everyone), "apply")
        if applied["summary"]["corrections"].get("applied") != n // 10:
            sys.exit(f"{n // 10} rows drifted; corrected {applied['summary']['corrections']}")
        add("apply", applied["cpu"] / n * 1e6)
        add("check / floor", checked_run["cpu"] / n * 1e6 / least)
        add("apply / floor", applied["cpu"] / n * 1e6 / least)
        add("throughput / two cores of the floor", n / checked_run["wall"] / (2e6 / least))

        history_transport, history_checked = floor(pages, some_ids, 0), floor(pages, some_ids, 1)
        with_history = trueup(fresh(few), "history")
        without = trueup(fresh(few), "check")
        # What a page costs beside the status question that every account is asked.
        page_us = (with_history["cpu"] - without["cpu"]) / pages_read * 1e6
        history_floor = history_transport["cpu"] / pages_read * 1e6 + 20 * min(
            check_us, (history_checked["cpu"] - history_transport["cpu"]) / pages_read * 5e4
        )
        add("history: a page of 20", page_us)
        add("history: floor", history_floor)
        add("history / floor", page_us / history_floor)

        single, many = trueup(fresh(one), "check"), trueup(fresh(ten), "check")
        add("one row: peak MB", single["mb"])
        add("one row: wall ms", single["wall"] * 1000)
        add("10,000 rows: peak MB", many["mb"])
        add("one row: ms to the first request", first_request(fresh(one)))

        idle = peer("statuses", "shipped", 1)["cpu"]
        for case in ("shipped", "cached"):
            cost = (peer("statuses", case, PEER_ACCOUNTS)["cpu"] - idle) / (PEER_ACCOUNTS - 1) * 1e6
            add(f"Apple's Python, {case}", cost)
            add(f"Apple's Python, {case} / check", cost / (checked_run["cpu"] / n * 1e6))
        cost = (peer("history", "shipped", PEER_PAGES)["cpu"] - idle) / (PEER_PAGES - 1) * 1e6
        add("Apple's Python, history page", cost)
        add("Apple's Python, history page / ours", cost / page_us)

    # --- once
    applied = fresh(few)
    periods = trueup(applied, "periods")["summary"]["corrections"]
    if sum(periods.values()) != periods["applied"]:
        sys.exit(f"every period was to be kept; got {periods}")
    verified = spend([given.trueup, "verify", applied + "/reports", "--config", applied + "/trueup.yaml"])
    add("verify: s for 100,000 corrections", verified["wall"] / periods["applied"] * 100_000)
    loaded = company("loaded", some_rows("one.csv", 1))
    table = many_rows("many.csv", given.imported_rows)
    imported = spend([given.trueup, "import", table, "--config", loaded + "/trueup.yaml", "--quiet"])
    add("import: s for 1,000,000 rows", imported["wall"] / given.imported_rows * 1e6)
    add("import: peak MB", imported["mb"])
    os.remove(table)
    shutil.rmtree(loaded)
    paced_rows = 50 * given.paced_seconds
    paced = trueup(company("paced", some_rows("paced.csv", paced_rows), rate=50), "check")
    add("paced: share of 50/s", paced_rows / paced["wall"] / 50)
    add("paced: share of a core", paced["cpu"] / paced["wall"])
finally:
    server.terminate()
    server.wait()

server = serve(100)
try:
    restless = trueup(fresh(everyone), "check")
    add("closed after 100 requests: rows not judged", restless["summary"]["totals"]["undecided"])
    add("closed after 100 requests: accounts/s", given.accounts / restless["wall"])
finally:
    server.terminate()
    server.wait()

UNITS = {"MB": "MB", "ms": "ms", ": s for": "s", "/s": "1/s", " / ": "times", "share": "share", "rows": "rows"}
for name, values in samples.items():
    unit = next((unit for mark, unit in UNITS.items() if mark in name), "us of CPU")
    note(name, values, "us of CPU" if name.endswith("floor: libcurl in C alone") else unit)


def median(name):
    return figures[name]["median"]


target("CPU an account in check, against the floor", median("check / floor"), 1.6)
target("CPU an account in apply, a tenth drifted, against the floor", median("apply / floor"), 1.9)
target("Apple's Python client as shipped, CPU against ours", median("Apple's Python, shipped / check"), 40, False)
target("Apple's Python client in its best case", median("Apple's Python, cached / check"), 20, False)
target("throughput, of what two cores allow by the floor", median("throughput / two cores of the floor"), 0.6, False)
target("CPU a history page, against the floor", median("history / floor"), 1.4)
target("Apple's Python client, a history page, against ours", median("Apple's Python, history page / ours"), 40, False)
target("peak MB with one row", median("one row: peak MB"), 35)
target("peak MB with 10,000 rows", median("10,000 rows: peak MB"), 45)
if given.accounts >= 200_000:
    more = median("check: peak MB") - median("10,000 rows: peak MB")
    target("peak MB with 200,000 rows, above that with 10,000", more, 5)
target("ms from the start to the first request", median("one row: ms to the first request"), 40)
target("import of 1,000,000 rows, s", median("import: s for 1,000,000 rows"), 15)
target("verify of 100,000 corrections, s", median("verify: s for 100,000 corrections"), 20)
target("paced at 50/s: share of the rate", median("paced: share of 50/s"), 0.99, False)
target("paced at 50/s: share of one core", median("paced: share of a core"), 0.04)
target("a server that closes after 100 requests: rows not judged", median("closed after 100 requests: rows not judged"), 0)

with open("/proc/cpuinfo", encoding="utf-8") as file:
    model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), platform.machine())
result = {
    "accounts": given.accounts, "rounds": given.rounds, "machine": f"{model}, {os.cpu_count()} processors",
    "system": platform.platform(), "figures": figures, "targets": targets,
}
with open(given.output, "w", encoding="utf-8") as file:
    json.dump(result, file, indent=2, sort_keys=True)
    file.write("\n")

print(f"machine   {result['machine']}, {result['system']}")
print(f"accounts  {given.accounts}, a tenth drifted; {given.histories} history pages; {given.rounds} turns\n")
print(f"{'figure':<48} {'median':>10} {'least':>10} {'most':>10}  unit")
for name, values in figures.items():
    print(f"{name:<48} {values['median']:>10.2f} {values['least']:>10.2f} {values['most']:>10.2f}  {values['unit']}")
print(f"\n{'target':<62} {'measured':>9} {'limit':>9}")
for item in targets:
    sign = "<=" if item["at_most"] else ">="
    word = "" if item["holds"] else "  MISSED"
    print(f"{item['name']:<62} {item['value']:>9.2f} {sign} {item['limit']:>6}{word}")
sys.exit(0 if all(item["holds"] for item in targets) else 1)
