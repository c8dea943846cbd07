"""A store program for trueup over DynamoDB, by TransactWriteItems (docs/store-programs.md).

    store.url: "program:python3 dynamodb_store.py shop"
    store.environment: [AWS_REGION, AWS_PROFILE]

Rows are in the table `shop` (key `id`: the three parts of a row's key), trueup's entries in the
table `shop-trueup` (partition key `ledger`, numeric sort key `number`).
"""
import decimal
import json
import os
import sys

import boto3
from botocore.exceptions import BotoCoreError, ClientError

KEY = ["bundle_id", "environment", "original_transaction_id"]
COLUMNS = ["status", "auto_renew_status", "expires_date", "grace_period_expires_date",
           "revocation_date", "customer_id", "product_id", "auto_renew_product_id",
           "latest_transaction_id", "in_app_ownership_type", "web_order_line_item_id"]
BUSY = {"TransactionInProgressException", "ThrottlingException", "RequestLimitExceeded",
        "ProvisionedThroughputExceededException", "TransactionConflictException"}
CONFIG = {"ResourceNotFoundException", "AccessDeniedException", "UnrecognizedClientException"}


def plain(value):
    """Numbers of DynamoDB are decimals; what is not a whole one becomes a text."""
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else str(value)
    return value if value is None or isinstance(value, str) else repr(value)


def row(item):
    return {"key": {name: item[name] for name in KEY}, "version": int(item.get("version", 0)),
            "values": {name: plain(item[name]) for name in COLUMNS if name in item}}


def identity(key):
    return "|".join(key[name] for name in KEY)


class Store:
    def __init__(self, table, scratch):
        self.scratch = scratch
        self.resource = boto3.resource("dynamodb", endpoint_url=os.environ.get("STORE_ENDPOINT"))
        self.client = self.resource.meta.client
        self.table, self.ledger = self.resource.Table(table), self.resource.Table(table + "-trueup")

    def hello(self, ask):
        for table in [self.table, self.ledger] if ask.get("writes") else [self.table]:
            table.load()
        return {"protocol": 1, "name": self.table.name + " on DynamoDB", "columns": COLUMNS,
                "inserts": True, "version": True, "time_unit": "ms", "unit": 1,
                "scratch": self.scratch}

    def page(self, ask):
        start = {"ExclusiveStartKey": {"id": ask["after"]}} if ask.get("after") else {}
        found = self.table.scan(Limit=ask["limit"], ConsistentRead=True, **start)
        more = found.get("LastEvaluatedKey")
        return {"rows": [row(item) for item in found["Items"]],
                **({"next": more["id"]} if more else {})}

    def rows(self, ask):
        """In consistent reads of 25 keys; DynamoDB itself allows 100."""
        found, keys = [], ask["keys"]
        for first in range(0, len(keys), 25):
            gets = [{"Get": {"TableName": self.table.name, "Key": {"id": identity(key)}}}
                    for key in keys[first:first + 25]]
            found += self.client.transact_get_items(TransactItems=gets)["Responses"]
        return {"rows": [row(answer["Item"]) for answer in found if answer.get("Item")]}

    def change(self, item):
        """The change of one row, under the condition that it is as trueup read it."""
        names, values, terms = {}, {}, ["attribute_exists(id)"]
        for number, (name, old) in enumerate(item["before"].items()):
            names[f"#b{number}"], values[f":b{number}"] = name, old
            terms.append(f"#b{number} = :b{number}" if old is not None else
                         f"(attribute_not_exists(#b{number}) OR #b{number} = :b{number})")
        common = {"TableName": self.table.name}
        if item["action"] == "insert":
            new = {name: value for name, value in item["after"].items() if value is not None}
            return {"Put": {**common, "ConditionExpression": "attribute_not_exists(id)", "Item": {
                **item["key"], **new, "id": identity(item["key"]), "version": 1}}}, 1
        version = item.get("version")
        if version is not None:
            names["#v"], values[":v"] = "version", version
            terms.append("#v = :v" if version else "(attribute_not_exists(#v) OR #v = :v)")
        common["Key"] = {"id": identity(item["key"])}
        common["ConditionExpression"] = " AND ".join(terms)
        if item["action"] == "delete":
            kind, applied = "Delete", True
        else:
            kind, applied = "Update", True if version is None else version + 1
            for number, (name, new) in enumerate(item["after"].items()):
                names[f"#a{number}"], values[f":a{number}"] = name, new
            names["#v"], values[":one"] = "version", 1
            sets = ", ".join(f"#a{number} = :a{number}" for number in range(len(item["after"])))
            common["UpdateExpression"] = f"SET {sets} ADD #v :one"
        return {kind: {**common, "ExpressionAttributeNames": names,
                       "ExpressionAttributeValues": values}}, applied

    def write(self, ask):
        return {"committed": True, "fates": [self.item(item) for item in ask["unit"]]}

    def item(self, item):
        """One row and its entry in one transaction."""
        change, version = self.change(item)
        entry = {"Put": {"TableName": self.ledger.name, "Item": {"ledger": "trueup", **item["entry"]},
                         "ConditionExpression": "attribute_not_exists(ledger)"}}
        try:
            self.client.transact_write_items(TransactItems=[change, entry])
            return {"applied": version}
        except self.client.exceptions.TransactionCanceledException as error:
            codes = [str(reason.get("Code")) for reason in error.response["CancellationReasons"]]
            if codes[1] == "None" and codes[0] == "ConditionalCheckFailed":
                return {"stale": True}
            return {"refused": "row: {}, entry: {}".format(*codes)}

    def entries(self, ask):
        found = self.ledger.query(
            KeyConditionExpression="ledger = :l AND #n > :n", ExpressionAttributeNames={"#n": "number"},
            ExpressionAttributeValues={":l": "trueup", ":n": ask["after"]}, Limit=ask["limit"],
            ConsistentRead=True)
        return {"entries": [{"number": int(item["number"]), "hash": item["hash"],
                             "text": item["text"]} for item in found["Items"]]}


def answer(store, ask):
    try:
        return getattr(store, ask["op"])(ask) if ask["op"] != "bye" else {}
    except ClientError as error:
        code = error.response["Error"]["Code"]
        kind = "busy" if code in BUSY else "config" if code in CONFIG else "unavailable"
        if ask["op"] == "write" and kind == "unavailable":
            return {"committed": "unknown"}
        return {"error": kind, "message": str(error)}
    except BotoCoreError as error:
        # The connection was lost before the answer: the transaction may have committed.
        if ask["op"] == "write":
            return {"committed": "unknown"}
        return {"error": "unavailable", "message": str(error)}


if __name__ == "__main__":
    store = Store(sys.argv[1], "--scratch" in sys.argv)
    for ask in map(json.loads, sys.stdin):
        print(json.dumps({"id": ask["id"], **answer(store, ask)}), flush=True)
        if ask["op"] == "bye":
            break
