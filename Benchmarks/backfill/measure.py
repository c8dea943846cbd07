"""Runs one backfill beside a service that writes, and prints what it took as a line of JSON.

`measure.py FOLDER IDS` measures; `measure.py --aims FILE` holds the lines against the aims.
"""
import csv
import datetime
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time

# docs/performance.md states the same.
CPU_MS, SPREAD, MEMORY_MB, WAIT_MS, STOP_S, REPORT_BYTES, ENDED_S = 2.0, 0.10, 15, 50, 5, 8192, 5


def write_settings(folder):
    ready = json.loads(open(f"{folder}/ready.txt").read().split(" ", 1)[1])
    names = ("issuer_id", "key_id", "key_file", "endpoint", "ca_file")
    lines = ["apps:", f"  - bundle_id: {ready['bundle_id']}", f"    app_apple_id: {ready['app_apple_id']}"]
    lines += ["    environment: production"] + [f"    {name}: {ready[name]}" for name in names]
    lines += [f"    trusted_roots: [{ready['root_file']}]"]
    lines += ["    requests_per_second: 5000     # loopback only; Apple allows 50"]
    lines += ["store:", "  url: sqlite:trueup.sqlite", "report:", "  directory: reports"]
    open(f"{folder}/trueup.yaml", "w").write("\n".join(lines) + "\n")
    return ready["table_file"]


def write_ids(table, folder, count):
    rows = [row["original_transaction_id"] for row in csv.DictReader(open(table))][:count]
    open(f"{folder}/ids.csv", "w").write("original_transaction_id\n" + "".join(f"{id}\n" for id in rows))
    return len(rows)


class Service:
    """One small write after another, and how long each waited for the lock."""

    def __init__(self, path):
        self.waits, self.ended = [], threading.Event()
        self.thread = threading.Thread(target=self.write, args=(path,), daemon=True)
        self.thread.start()

    def write(self, path):
        database = sqlite3.connect(path, timeout=60, isolation_level=None)
        database.execute("CREATE TABLE IF NOT EXISTS company_visits (number INTEGER PRIMARY KEY, note TEXT)")
        while not self.ended.is_set():
            begun = time.monotonic()
            database.execute("BEGIN IMMEDIATE")
            self.waits.append(time.monotonic() - begun)
            database.execute("INSERT INTO company_visits (note) VALUES ('seen')")
            database.execute("COMMIT")
            time.sleep(0.005)

    def finish(self):
        self.ended.set()
        self.thread.join()
        return sorted(self.waits)


def run(folder, stop_after=None):
    """Runs the job; returns status, resource use, seconds to the end after an interrupt, and its lines."""
    errors = open(f"{folder}/errors.txt", "w")
    locks = {"LD_PRELOAD": os.environ["LOCK_TIMES_LIBRARY"], "LOCK_TIMES": f"{folder}/locks"}
    process = subprocess.Popen(
        [os.environ["TRUEUP"], "run", "backfill"], cwd=folder, stdout=subprocess.DEVNULL, stderr=errors,
        env={**os.environ, **locks})
    stopped = None
    if stop_after is not None:
        time.sleep(stop_after)
        stopped = time.monotonic()
        # send_signal of subprocess would reap a process that has ended, and its use of resources with it.
        os.kill(process.pid, signal.SIGINT)
    _, status, usage = os.wait4(process.pid, 0)
    took = None if stopped is None else time.monotonic() - stopped
    return os.waitstatus_to_exitcode(status), usage, took, open(f"{folder}/errors.txt").read()


def lock_times(folder):
    """Milliseconds of processor time for which each transaction held the write lock, the longest last."""
    names = [name for name in os.listdir(folder) if name.startswith("locks.")]
    return sorted(float(line.split()[0]) for name in names for line in open(f"{folder}/{name}"))


def folder_bytes(folder):
    return sum(os.path.getsize(f"{folder}/{name}") for name in os.listdir(folder))


def measure(folder, wanted):
    table = write_settings(folder)
    ids = write_ids(table, folder, wanted)

    def prepare():
        subprocess.run([os.environ["TRUEUP"], "init", "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([os.environ["TRUEUP"], "import", "ids.csv"], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    prepare()
    service = Service(f"{folder}/trueup.sqlite")
    begun = time.monotonic()
    status, usage, _, errors = run(folder)
    finished, took = time.time(), time.monotonic() - begun
    waits, locks = service.finish(), lock_times(folder)
    report = os.path.realpath(f"{folder}/reports/latest")
    summary = json.load(open(f"{report}/summary.json"))
    ended = datetime.datetime.fromisoformat(summary["ended"].replace("Z", "+00:00")).timestamp()
    periods = sqlite3.connect(f"{folder}/trueup.sqlite").execute("SELECT count(*) FROM transactions").fetchone()[0]
    result = {
        "ids": ids, "periods": periods, "status": status, "seconds": round(took, 1),
        "cpu_ms_per_id": round(1000 * (usage.ru_utime + usage.ru_stime) / ids, 3),
        "memory_mb": round(usage.ru_maxrss / 1024, 1),
        "wait_p999_ms": round(1000 * waits[min(len(waits) - 1, int(len(waits) * 0.999))], 1),
        "wait_max_ms": round(1000 * waits[-1], 1), "writes": len(waits),
        "lock_p99_ms": locks[int(len(locks) * 0.99)], "lock_max_ms": locks[-1], "transactions": len(locks),
        "report_bytes_per_id": round(folder_bytes(report) / ids),
        "database_bytes_per_id": round(os.path.getsize(f"{folder}/trueup.sqlite") / ids),
        "ended_before_end_s": round(finished - ended, 1),
        "stages": sorted(set(re.findall(r"^trueup: (\w+): \d+ of \d+", errors, re.M))),
    }
    # Once more from the ids, stopped at random moments until it is done.
    for name in ("trueup.sqlite", "trueup.sqlite-wal", "trueup.sqlite-shm", "reports"):
        subprocess.run(["rm", "-rf", f"{folder}/{name}"], check=True)
    prepare()
    stops, stages, chance = [], [], random.Random(7)
    while True:
        status, _, stop, errors = run(folder, chance.uniform(0.05, 0.9) * took if len(stops) < 4 else None)
        if stop is not None and status != 0:
            stops.append(round(stop, 2))
            stages.append((re.findall(r"^trueup: (\w+): ", errors, re.M) or ["start"])[-1])
            continue
        break
    left = sqlite3.connect(f"{folder}/trueup.sqlite").execute(
        "SELECT count(*) FROM subscriptions WHERE status IS NULL").fetchone()[0]
    result.update(stops_s=stops, stopped_in=stages, status_after_stops=status, left_after_stops=left)
    print(json.dumps(result), flush=True)


def hold_against_aims(lines):
    missed = []
    for line in lines:
        checks = {
            "CPU": line["cpu_ms_per_id"] <= CPU_MS, "wait": line["wait_p999_ms"] <= WAIT_MS,
            "report": line["report_bytes_per_id"] <= REPORT_BYTES, "end": line["ended_before_end_s"] <= ENDED_S,
            "stops": all(stop <= STOP_S for stop in line["stops_s"]), "place": line["left_after_stops"] == 0,
            "status": line["status"] == 0 and line["status_after_stops"] == 0,
        }
        missed += [f"{line['ids']} ids: {name}" for name, holds in checks.items() if not holds]
    cpu = [line["cpu_ms_per_id"] for line in lines]
    memory = [line["memory_mb"] for line in lines]
    if max(cpu) > min(cpu) * (1 + SPREAD):
        missed.append(f"CPU an id differs by more than {SPREAD:.0%}: {cpu}")
    if max(memory) > memory[0] + MEMORY_MB:
        missed.append(f"memory grows by more than {MEMORY_MB} MB: {memory}")
    print("all aims are met" if not missed else "missed: " + "; ".join(missed))
    sys.exit(1 if missed else 0)


if sys.argv[1] == "--aims":
    hold_against_aims([json.loads(line) for line in open(sys.argv[2])])
else:
    measure(sys.argv[1], int(sys.argv[2]))
