"""An example with a disturbance: `disturbed_store.py SHOP WHAT LINE WHEN`.

SHOP is a file of SQLite (`….sqlite`) or a table of DynamoDB. At the line LINE of all that trueup
sends (counted over all starts, in SHOP.lines), it kills itself
(`program`), kills trueup (`trueup`), cannot tell whether it committed (`unknown`), or lets another
program write (`writer`): before it does what the line asks (`before`), after that and before it
answers (`after`), or behind the answer (`behind`).
"""
import importlib
import json
import os
import signal
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/stores"))

path, what, at, when = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
in_sqlite = path.endswith(".sqlite")
example = importlib.import_module("sqlite_store" if in_sqlite else "dynamodb_store")
store = example.Store(path, False)
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
        for item in ask["unit"]:
            write_as_another(item["key"])


def write_as_another(key):
    if in_sqlite:
        other = sqlite3.connect(path)
        other.execute("UPDATE subscriptions SET status = 3, product_id = 'written by another' "
                      "WHERE bundle_id || environment || original_transaction_id = ?",
                      ["".join(key[name] for name in example.KEY)])
        other.commit()
    elif store.rows({"keys": [key]})["rows"]:
        store.table.update_item(
            Key={"id": example.identity(key)}, ExpressionAttributeNames={"#s": "status"},
            UpdateExpression="SET #s = :s, product_id = :p",
            ExpressionAttributeValues={":s": 3, ":p": "written by another"})


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
