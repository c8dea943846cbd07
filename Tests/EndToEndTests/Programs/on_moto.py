"""An imitation of DynamoDB whose tables a test fills and reads.

It prints its address. Then each line on standard input is a request, and gets one line of JSON:
`make TABLE [FILE]` makes the tables of `dynamodb_store.py`, with the rows of a SQLite file;
`rows TABLE` and `entries TABLE` list what is there. It ends with its input.
"""
import json
import os
import sqlite3
import sys

os.environ.update(AWS_ACCESS_KEY_ID="imitated", AWS_SECRET_ACCESS_KEY="imitated",
                  AWS_DEFAULT_REGION="eu-west-1")
from moto.server import ThreadedMotoServer  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/stores"))
import dynamodb_store  # noqa: E402


def make(table, file=None):
    store = dynamodb_store.Store(table, False)
    for name, keys in [(table, [("id", "S", "HASH")]),
                       (table + "-trueup", [("ledger", "S", "HASH"), ("number", "N", "RANGE")])]:
        store.client.create_table(
            TableName=name, BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": key, "KeyType": kind} for key, _, kind in keys],
            AttributeDefinitions=[
                {"AttributeName": key, "AttributeType": type} for key, type, _ in keys])
    if not file:
        return []
    db = sqlite3.connect(file)
    db.row_factory = sqlite3.Row
    with store.table.batch_writer() as batch:
        for found in db.execute("SELECT * FROM subscriptions"):
            item = {name: found[name] for name in found.keys() if found[name] is not None}
            batch.put_item(Item={**item, "id": dynamodb_store.identity(item)})
    return []


def rows(table):
    items = dynamodb_store.Store(table, False).table.scan(ConsistentRead=True)["Items"]
    lines = []
    for item in sorted(items, key=lambda item: [item[name] for name in dynamodb_store.KEY]):
        values = dynamodb_store.row(item)["values"]
        shown = [values.get(name) for name in dynamodb_store.COLUMNS]
        lines.append("|".join("" if value is None else str(value)
                              for value in [item["original_transaction_id"], *shown]))
    return lines


def entries(table):
    found = dynamodb_store.Store(table, False).entries({"after": 0, "limit": 100000})["entries"]
    return [f"{entry['number']}|{entry['hash']}" for entry in found]


server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
os.environ["STORE_ENDPOINT"] = "http://{}:{}".format(*server.get_host_and_port())
print(os.environ["STORE_ENDPOINT"], flush=True)
for name, *words in map(str.split, sys.stdin):
    answer = {"make": make, "rows": rows, "entries": entries}[name](*words)
    print(json.dumps(answer), flush=True)
os._exit(0)
