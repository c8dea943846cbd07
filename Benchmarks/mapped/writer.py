"""A service of the company: one small write to its own table after another, and how long each took.

Usage: writer.py sqlite FILE ROWS | writer.py postgresql CONNECTION ROWS | writer.py mysql SOCKET ROWS
Ends when its standard input does, and prints one line of JSON. PostgreSQL and MariaDB are spoken to by their own
libraries, so that nothing need be installed; in PostgreSQL the longest transaction of trueup is looked for, too, every 5 ms.
"""

import ctypes
import json
import random
import sqlite3
import sys
import threading
import time

kind, place, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
FIRST = 2_000_000_000_000_000
generator = random.Random(16)


def of_sqlite():
    database = sqlite3.connect(place, timeout=60, isolation_level=None)

    def write(key, note):
        database.execute("BEGIN IMMEDIATE")
        database.execute("UPDATE subscriptions SET note = ? WHERE original_transaction_id = ?", (note, key))
        database.execute("COMMIT")

    return write


def of_postgresql():
    libpq = ctypes.CDLL("libpq.so.5")
    for name in ("PQconnectdb", "PQexec"):
        getattr(libpq, name).restype = ctypes.c_void_p
    libpq.PQexec.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    for name in ("PQstatus", "PQresultStatus", "PQclear"):
        getattr(libpq, name).argtypes = [ctypes.c_void_p]
    libpq.PQgetvalue.restype = ctypes.c_char_p
    libpq.PQgetvalue.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]

    def connect():
        connection = libpq.PQconnectdb(place.encode())
        if libpq.PQstatus(connection) != 0:
            sys.exit("the service could not connect")
        return connection

    connection = connect()

    def write(key, note):
        sql = f"UPDATE public.subscriptions SET note = '{note}' WHERE original_transaction_id = '{key}'"
        result = libpq.PQexec(connection, sql.encode())
        if libpq.PQresultStatus(result) != 1:
            sys.exit("the service could not write")
        libpq.PQclear(result)

    def watch():
        watcher = connect()
        sql = b"""SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start) * 1000), 0)
            FROM pg_stat_activity WHERE application_name = 'trueup'"""
        while not ended.is_set():
            result = libpq.PQexec(watcher, sql)
            longest.append(max(longest.pop(), float(libpq.PQgetvalue(result, 0, 0))))
            libpq.PQclear(result)
            time.sleep(0.005)

    threading.Thread(target=watch, daemon=True).start()
    return write


def of_mysql():
    library = ctypes.CDLL("libmariadb.so.3")
    library.mysql_init.restype = ctypes.c_void_p
    library.mysql_init.argtypes = [ctypes.c_void_p]
    library.mysql_real_connect.restype = ctypes.c_void_p
    library.mysql_real_connect.argtypes = [
        ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint,
        ctypes.c_char_p, ctypes.c_ulong,
    ]
    library.mysql_query.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    connection = library.mysql_init(None)
    if not library.mysql_real_connect(connection, None, b"trueup", None, b"shop", 0, place.encode(), 0):
        sys.exit("the service could not connect")

    def write(key, note):
        sql = f"UPDATE subscriptions SET note = '{note}' WHERE original_transaction_id = '{key}'"
        if library.mysql_query(connection, sql.encode()) != 0:
            sys.exit("the service could not write")

    return write


ended = threading.Event()
longest = [0.0]
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
write = {"sqlite": of_sqlite, "postgresql": of_postgresql, "mysql": of_mysql}[kind]()
waits = []
while not (ended.is_set() and waits):
    begun = time.monotonic()
    write(str(FIRST + generator.randrange(rows)), f"seen {len(waits)}")
    waits.append(time.monotonic() - begun)
    time.sleep(0.005)
waits.sort()


def milliseconds(share):
    return round(1000 * waits[min(len(waits) - 1, int(len(waits) * share))], 2)


figures = {"longest_transaction_ms": round(longest[0], 1)} if kind == "postgresql" else {}
print(json.dumps(figures | {
    "writes": len(waits), "p50_ms": milliseconds(0.5), "p99_ms": milliseconds(0.99),
    "p999_ms": milliseconds(0.999), "max_ms": milliseconds(1),
}))
