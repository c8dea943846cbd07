"""A service of the company: one small write after another, and how long each waited for the lock.

Ends when its standard input does.
"""
import sqlite3
import sys
import threading
import time

ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
database = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
database.execute("CREATE TABLE IF NOT EXISTS company_visits (number INTEGER PRIMARY KEY, note TEXT)")
waits = []
while not (ended.is_set() and waits):
    begun = time.monotonic()
    database.execute("BEGIN IMMEDIATE")
    waits.append(time.monotonic() - begun)
    database.execute("INSERT INTO company_visits (note) VALUES ('seen')")
    database.execute("COMMIT")
    time.sleep(0.005)
waits.sort()


def milliseconds(share):
    return f"{1000 * waits[min(len(waits) - 1, int(len(waits) * share))]:.0f}"


print(f"writes {len(waits)} p50_ms {milliseconds(0.5)} p99_ms {milliseconds(0.99)} max_ms {milliseconds(1)}")
