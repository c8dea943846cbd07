"""A store program that misbehaves in one way: `misbehaving.py STATE WAY`.

Its rows and entries are in the file STATE, so that they survive its death.
"""
import json
import os
import signal
import sys
import time

path, way = sys.argv[1:3]
KEY = ["bundle_id", "environment", "original_transaction_id"]


def key(number):
    return dict(zip(KEY, ["com.example.app", "Production", str(number)]))


def load():
    if not os.path.exists(path):
        return {"rows": [{"key": key(n), "values": {"status": 1, "expires_date": 1000 * n},
                          "version": 1} for n in range(1, 6)], "entries": [], "starts": 0}
    with open(path) as file:
        return json.load(file)


def save():
    with open(path + ".new", "w") as file:
        json.dump(state, file)
    os.replace(path + ".new", path)


def send(text):
    data = text if isinstance(text, bytes) else text.encode()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def hello(ask):
    return {"protocol": 1, "name": "a store", "columns": ["status", "expires_date"], "inserts": False,
            "version": True, "time_unit": "ms", "unit": 1}


def page(ask):
    first = 0 if ask["after"] in (None, "again") else int(ask["after"])
    rows = state["rows"][first:first + 2]
    return {"rows": rows, "next": str(first + 2)} if first + 2 < len(state["rows"]) else {"rows": rows}


def rows(ask):
    return {"rows": [row for row in state["rows"] if row["key"] in ask["keys"]]}


def write(ask, commits=True):
    item = ask["unit"][0]
    for row in state["rows"]:
        if row["key"] == item["key"] and commits:
            row["values"].update(item["after"])
            row["version"] += 1
            state["entries"].append(item["entry"])
            save()
            return {"committed": True, "fates": [{"applied": row["version"]}]}
    return {"committed": True, "fates": [{"stale": True}]}


def entries(ask):
    found = [entry for entry in state["entries"] if entry["number"] > ask["after"]]
    return {"entries": found[:ask["limit"]]}


def bye(ask):
    return {}


# What each way changes of an answer that is otherwise right: by the request, then by its name.
CHANGED = {
    "hello": {
        "no-id": lambda a: a.pop("id"),
        "other-id": lambda a: a.update(id=77),
        "text-id": lambda a: a.update(id="1"),
        "protocol-2": lambda a: a.update(protocol=2),
        "no-columns": lambda a: a.pop("columns"),
        "columns-text": lambda a: a.update(columns="status"),
        "column-unknown": lambda a: a.update(columns=["status", "colour"]),
        "column-twice": lambda a: a.update(columns=["status", "status"]),
        "no-status": lambda a: a.update(columns=["expires_date"]),
        "name-control": lambda a: a.update(name="a\u001b[31m"),
        "name-long": lambda a: a.update(name="a" * 300),
        "unit-0": lambda a: a.update(unit=0),
        "unit-text": lambda a: a.update(unit="25"),
        "time-unit": lambda a: a.update(time_unit="minutes"),
        "inserts-text": lambda a: a.update(inserts="yes"),
        "error-word": lambda a: a.update(error="tired"),
    },
    "page": {
        "other-id": lambda a: a.update(id=a["id"] - 1),
        "same-cursor": lambda a: a.update(next="again"),
        "too-many": lambda a: a.update(rows=a["rows"] * 600),
        "row-twice": lambda a: a.update(rows=a["rows"][:1] * 2),
        "no-key": lambda a: a["rows"][0].pop("key"),
        "key-number": lambda a: a["rows"][0]["key"].update(original_transaction_id=7),
        "key-nul": lambda a: a["rows"][0]["key"].update(original_transaction_id="7\0"),
        "key-empty": lambda a: a["rows"][0]["key"].update(bundle_id=""),
        "row-text": lambda a: a.update(rows=["row"]),
        "column-unknown": lambda a: a["rows"][0]["values"].update(colour="red"),
        "unreadable-unknown": lambda a: a["rows"][0].update(unreadable={"colour": "red"}),
        "no-version": lambda a: a["rows"][0].pop("version"),
        "values-list": lambda a: a["rows"][0].update(values=[1]),
        "next-number": lambda a: a.update(next=2),
        "no-rows": lambda a: a.pop("rows"),
        "odd-values": lambda a: a["rows"][0].update(values={"status": "one", "expires_date": 1.5}),
    },
    "entries": {
        "disorder": lambda a: a.update(entries=[entry(3), entry(2)]),
        "too-many": lambda a: a.update(entries=[entry(n) for n in range(1, 9)]),
        "below": lambda a: a.update(entries=[entry(0)]),
        "other-text": lambda a: a.update(entries=[dict(entry(1), text="{}")]),
        "text-list": lambda a: a.update(entries=[dict(entry(1), text=[])]),
        "no-list": lambda a: a.pop("entries"),
    },
    "write": {
        "not-committed": lambda a: a.update(committed=False),
        "committed-maybe": lambda a: a.update(committed="maybe"),
        "no-committed": lambda a: a.pop("committed"),
        "no-fates": lambda a: a.pop("fates"),
        "two-fates": lambda a: a.update(fates=a["fates"] * 2),
        "no-fate": lambda a: a.update(fates=[]),
        "fate-both": lambda a: a.update(fates=[{"applied": 2, "stale": True}]),
        "fate-odd": lambda a: a.update(fates=[{"done": True}]),
        "fate-text": lambda a: a.update(fates=["applied"]),
    },
}


def entry(number):
    return {"number": number, "hash": f"h{number}",
            "text": json.dumps({"ledger_entry": number, "ledger_hash": f"h{number}"})}


state = load()
state["starts"] += 1
save()
operation, _, how = way.partition(":")
print("started", file=sys.stderr, flush=True)
if way == "start:chatter":
    send('{"id":1}\n')
if way == "start:exit":
    sys.exit(3)
if way == "start:flood":
    for number in range(20000):
        print("noise " * 20, file=sys.stderr)
count = 0
for line in sys.stdin:
    ask = json.loads(line)
    op = ask["op"]
    mine = op == operation
    first = mine and state["starts"] == 1
    # The checks of a write are not what is tried there.
    if op == "hello" and operation == "again" and state["starts"] > 1:
        if how == "dies":
            sys.exit(4)
        if how == "other":
            send(json.dumps({"id": ask["id"], **hello(ask), "name": "another"}) + "\n")
            continue
    if operation == "again" and op == "write":
        write(ask)
        os.kill(os.getpid(), signal.SIGKILL)
    if first and op == "write" and how in ("lie", "unknown-lost", "dies-before", "stale", "refused",
                                           "error-busy", "garbage-before"):
        answer = write(ask, commits=False)
    else:
        answer = globals()[op](ask)
    answer["id"] = ask["id"]
    if first:
        if how in CHANGED.get(op, {}):
            CHANGED[op][how](answer)
        text = json.dumps(answer)
        if how in ("dies", "dies-before", "dies-after"):
            os.kill(os.getpid(), signal.SIGKILL)
        elif how == "exits":
            sys.exit(3)
        elif how == "silent":
            time.sleep(60)
        elif how == "late":
            time.sleep(3)
        elif how == "closes":
            os.close(1)
            time.sleep(60)
        elif how == "garbage" or how == "garbage-before":
            send("hello there\n")
            continue
        elif how == "empty":
            text = ""
        elif how == "list":
            text = "[1]"
        elif how == "half":
            send(text[:len(text) // 2])
            sys.exit(0)
        elif how == "two-lines":
            text += "\n" + text
        elif how == "twice-member":
            text = text[:-1] + ', "id": %d}' % ask["id"]
        elif how == "latin-1":
            send(text.replace("}", ', "x": "\xe9"}', 1).encode("latin-1") + b"\n")
            continue
        elif how == "mark":
            text = "\ufeff" + text
        elif how == "long":
            text = text[:-1] + ', "x": "' + "x" * (17 << 20) + '"}'
        elif how == "endless":
            while True:
                send("x" * 65536)
        elif how == "deep":
            text = text[:-1] + ', "x": ' + "[" * 100 + "]" * 100 + "}"
        elif how == "number":
            text = text[:-1] + ', "x": 1.}'
        elif how == "empty-pages":
            count += 1
            text = json.dumps({"id": ask["id"], "rows": [], "next": str(count)})
        elif how.startswith("error-") and how != "error-word":
            text = json.dumps({"id": ask["id"], "error": how[6:], "message": "\u001b[31mno"})
        elif how == "lie":
            text = json.dumps({"id": ask["id"], "committed": True, "fates": [{"applied": 2}]})
        elif how in ("unknown-lost", "unknown-there"):
            text = json.dumps({"id": ask["id"], "committed": "unknown"})
        elif how == "refused":
            text = json.dumps({"id": ask["id"], "committed": False, "fates": [{"refused": "no"}]})
        send(text + "\n")
    else:
        send(json.dumps(answer) + "\n")
    if op == "bye":
        break
