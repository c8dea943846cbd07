"""The SQLite example with a disturbance: `disturbed_store.py FILE WHAT LINE WHEN`.

At the line LINE of all that trueup sends (counted over all starts, in FILE.lines), it kills itself
(`program`), kills trueup (`trueup`), cannot tell whether it committed (`unknown`), or lets another
program write (`writer`): before it does what the line asks (`before`), after that and before it
answers (`after`), or behind the answer (`behind`).
"""
import json
import os
import signal
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/stores"))
import sqlite_store  # noqa: E402

path, what, at, when = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
store = sqlite_store.Store(path, False)
print("started \x1b[31m with", os.environ.get("SHOP_SECRET"), os.environ.get("OTHER_SECRET"),
      os.path.basename(os.getcwd()), file=sys.stderr, flush=True)


def number():
    try:
        with open(path + ".lines") as file:
            lines = file.read().split()
    except FileNotFoundError:
        lines = []
    return len(lines) + 1


def note(ask):
    with open(path + ".lines", "a") as file:
        file.write(ask["op"] + "\n")


def disturb(ask):
    if what == "program":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "trueup":
        os.kill(os.getppid(), signal.SIGKILL)
        sys.exit(0)
    if what == "writer" and ask["op"] == "write":
        other = sqlite3.connect(path)
        for item in ask["unit"]:
            other.execute("UPDATE subscriptions SET status = 3, product_id = 'written by another' "
                          "WHERE bundle_id || environment || original_transaction_id = ?",
                          ["".join(item["key"][name] for name in sqlite_store.KEY)])
        other.commit()


for ask in map(json.loads, sys.stdin):
    here = number()
    note(ask)
    isHere = here == at or (what in ("writer", "unknown") and at == 0 and ask["op"] == "write")
    if isHere and when == "before":
        disturb(ask)
    answer = getattr(store, ask["op"])(ask)
    if isHere and when == "after":
        disturb(ask)
    if isHere and what == "unknown":
        answer = {"committed": "unknown"}
    if what == "internal" and ask["op"] == "page":
        answer = {"error": "internal", "message": "a bug of the shop"}
    sys.stdout.write(json.dumps({"id": ask["id"], **answer}) + "\n")
    sys.stdout.flush()
    if isHere and when == "behind":
        disturb(ask)
    if ask["op"] == "bye":
        break
