"""A store program for trueup over one SQLite file: the reference for docs/store-programs.md.

    store.url: "program:python3 sqlite_store.py shop.sqlite"

trueup's entries are in the same file, so that a row and its entry are one transaction.
"""
import contextlib
import json
import sqlite3
import sys

KEY = ["bundle_id", "environment", "original_transaction_id"]
NUMBERS = ["status", "auto_renew_status", "expires_date", "grace_period_expires_date",
           "revocation_date"]
COLUMNS = NUMBERS + ["customer_id", "product_id", "auto_renew_product_id", "latest_transaction_id",
                     "in_app_ownership_type", "web_order_line_item_id"]
SCHEMA = f"""
CREATE TABLE IF NOT EXISTS subscriptions (
    {", ".join(name + " TEXT NOT NULL" for name in KEY)},
    {", ".join(name + (" INTEGER" if name in NUMBERS else " TEXT") for name in COLUMNS)},
    version INTEGER NOT NULL DEFAULT 1, PRIMARY KEY ({", ".join(KEY)}));
CREATE TRIGGER IF NOT EXISTS raise_version AFTER UPDATE ON subscriptions
WHEN new.version = old.version BEGIN
    UPDATE subscriptions SET version = old.version + 1 WHERE rowid = new.rowid;
END;"""
LEDGER = """CREATE TABLE IF NOT EXISTS trueup_entries (
    number INTEGER PRIMARY KEY, hash TEXT NOT NULL, text TEXT NOT NULL)"""
IS_KEY = " AND ".join(f"{name} = ?" for name in KEY)
SELECTED = ", ".join(KEY + COLUMNS + ["version"])


def row(found):
    return {"key": dict(zip(KEY, found)), "values": dict(zip(COLUMNS, found[len(KEY):])),
            "version": found[-1]}


class Store:
    def __init__(self, path, scratch):
        self.scratch = scratch
        self.db = sqlite3.connect(path, isolation_level=None, timeout=10)
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.executescript(SCHEMA)

    def hello(self, ask):
        if ask["protocol"] != 1:
            return {"error": "config", "message": "this program speaks protocol 1"}
        if ask.get("writes"):
            self.db.execute(LEDGER)
        return {"protocol": 1, "name": "subscriptions in SQLite", "columns": COLUMNS,
                "inserts": True, "version": True, "time_unit": "ms", "unit": 100,
                "scratch": self.scratch}

    def page(self, ask):
        after = json.loads(ask["after"]) if ask.get("after") else ["", "", ""]
        found = self.db.execute(
            f"SELECT {SELECTED} FROM subscriptions WHERE ({', '.join(KEY)}) > (?, ?, ?) "
            f"ORDER BY {', '.join(KEY)} LIMIT ?", after + [ask["limit"]]).fetchall()
        more = {"next": json.dumps(found[-1][:3])} if len(found) == ask["limit"] else {}
        return {"rows": [row(values) for values in found], **more}

    def one(self, key):
        return self.db.execute(f"SELECT {SELECTED} FROM subscriptions WHERE {IS_KEY}",
                               [key[name] for name in KEY]).fetchone()

    def rows(self, ask):
        with self.transaction("BEGIN"):
            return {"rows": [row(values) for values in map(self.one, ask["keys"]) if values]}

    def change(self, item):
        """Makes one change where its row is as trueup read it; says what became of it."""
        key = [item["key"][name] for name in KEY]
        there = self.one(item["key"])
        values = dict(zip(COLUMNS, there[len(KEY):])) if there else {}
        after = item["after"]
        if ((there is None) != (item["action"] == "insert")
                or there and any(values[name] != old for name, old in item["before"].items())
                or there and item.get("version") not in (None, there[-1])):
            return {"stale": True}
        if item["action"] == "delete":
            self.db.execute(f"DELETE FROM subscriptions WHERE {IS_KEY}", key)
            return {"applied": there[-1]}
        if item["action"] == "insert":
            names = KEY + list(after)
            self.db.execute(f"INSERT INTO subscriptions ({', '.join(names)}) VALUES "
                            f"({', '.join('?' * len(names))})", key + list(after.values()))
        else:
            sets = ", ".join(name + " = ?" for name in after)
            self.db.execute(f"UPDATE subscriptions SET {sets} WHERE {IS_KEY}",
                            list(after.values()) + key)
        return {"applied": self.one(item["key"])[-1]}

    @contextlib.contextmanager
    def transaction(self, begin):
        self.db.execute(begin)
        try:
            yield
            self.db.execute("COMMIT")
        finally:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")

    def write(self, ask):
        with self.transaction("BEGIN IMMEDIATE"):
            fates = [self.item(item) for item in ask["unit"]]
        return {"committed": True, "fates": fates}

    def item(self, item):
        """One row with its entry: both, or neither."""
        self.db.execute("SAVEPOINT item")
        try:
            fate = self.change(item)
            if "applied" in fate:
                # Its number is the primary key: no two units can both commit one.
                self.db.execute("INSERT INTO trueup_entries VALUES (?, ?, ?)",
                                [item["entry"][name] for name in ("number", "hash", "text")])
        except sqlite3.IntegrityError as error:
            self.db.execute("ROLLBACK TO item")
            fate = {"refused": str(error)}
        self.db.execute("RELEASE item")
        return fate

    def entries(self, ask):
        if not self.db.execute("PRAGMA table_info(trueup_entries)").fetchone():
            return {"entries": []}
        found = self.db.execute("SELECT number, hash, text FROM trueup_entries WHERE number > ? "
                                "ORDER BY number LIMIT ?", [ask["after"], ask["limit"]])
        return {"entries": [dict(zip(("number", "hash", "text"), values)) for values in found]}

    def bye(self, _):
        return {}


def serve(store, lines, output):
    """One line in, one line out, until trueup says goodbye or is gone."""
    for ask in map(json.loads, lines):
        try:
            answer = getattr(store, ask["op"])(ask)
        except sqlite3.OperationalError as error:
            answer = {"error": "busy" if "locked" in str(error) else "unavailable",
                      "message": str(error)}
        output.write(json.dumps({"id": ask["id"], **answer}) + "\n")
        output.flush()
        if ask["op"] == "bye":
            return


if __name__ == "__main__":
    # With --scratch its table may be filled and emptied.
    serve(Store(sys.argv[1], "--scratch" in sys.argv), sys.stdin, sys.stdout)
