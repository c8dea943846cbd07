"""The SQLite example with one promise broken: `careless_store.py FILE HOW`."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/stores"))
import sqlite_store  # noqa: E402

path, how = sys.argv[1:3]
Store = sqlite_store.Store
plain = {name: getattr(Store, name) for name in ("change", "page", "rows", "write", "entries", "hello")}


def change(self, item):
    if how == "compares-nothing":
        item = {**item, "before": {}, "version": None}
    if how == "ignores-version":
        item = {**item, "version": None}
    if how == "ignores-case":
        there = self.one(item["key"])
        values = dict(zip(sqlite_store.COLUMNS, there[3:])) if there else {}
        item = {**item, "before": {
            name: values[name] if str(old).lower() == str(values.get(name)).lower() else old
            for name, old in item["before"].items()}}
    if how == "trims":
        item = {**item, "after": {name: new.strip() if isinstance(new, str) else new
                                  for name, new in item["after"].items()}}
    if how == "makes-rows" and item["action"] == "update" and not self.one(item["key"]):
        return plain["change"](self, {**item, "action": "insert", "before": {}})
    if how == "seconds":
        item = {**item, "after": {name: new // 1000 * 1000 if name == "expires_date" and new else new
                                  for name, new in item["after"].items()}}
    return plain["change"](self, item)


def page(self, ask):
    if how == "offset":
        # By the time of the last change: rows move while they are read.
        first = int(ask.get("after") or 0)
        found = self.db.execute(f"SELECT {sqlite_store.SELECTED} FROM subscriptions ORDER BY version, "
                                "original_transaction_id LIMIT ? OFFSET ?", [ask["limit"], first]).fetchall()
        more = {"next": str(first + len(found))} if len(found) == ask["limit"] else {}
        return {"rows": [sqlite_store.row(values) for values in found], **more}
    answer = plain["page"](self, ask)
    if how == "forgets-last" and "next" not in answer:
        answer["rows"] = answer["rows"][:-1]
    return answer


def rows(self, ask):
    answer = plain["rows"](self, ask)
    if how == "invents" and not answer["rows"]:
        answer["rows"] = [{"key": ask["keys"][0], "values": {}, "version": 1}]
    return answer


def write(self, ask):
    if how == "replaces-entries":
        for item in ask["unit"]:
            self.db.execute("DELETE FROM trueup_entries WHERE number = ?", [item["entry"]["number"]])
    if how == "all-or-nothing":
        self.db.execute("BEGIN IMMEDIATE")
        fates = [self.item(item) for item in ask["unit"]]
        if any("applied" not in fate for fate in fates):
            self.db.execute("ROLLBACK")
            return {"committed": False, "fates": [
                fate if "applied" not in fate else {"refused": "another row"} for fate in fates]}
        self.db.execute("COMMIT")
        return {"committed": True, "fates": fates}
    if how == "two-transactions":
        fates = []
        for item in ask["unit"]:
            fate = self.change(item)
            # A kill falls between the two.
            time.sleep(0.005)
            if "applied" in fate:
                self.db.execute("INSERT INTO trueup_entries VALUES (?, ?, ?)",
                                [item["entry"][name] for name in ("number", "hash", "text")])
            fates.append(fate)
        return {"committed": True, "fates": fates}
    if how == "lies":
        return {"committed": True, "fates": [{"applied": 2} for _ in ask["unit"]]}
    return plain["write"](self, ask)


def entries(self, ask):
    answer = plain["entries"](self, ask)
    if how == "shortens-entries":
        for entry in answer["entries"]:
            entry["text"] = entry["text"].replace("\\n", "")
    return answer


def hello(self, ask):
    return {**plain["hello"](self, ask), "scratch": how != "real-table"}


for name, method in list(globals().items()):
    if name in plain:
        setattr(Store, name, method)
sqlite_store.serve(Store(path, True), sys.stdin, sys.stdout)
