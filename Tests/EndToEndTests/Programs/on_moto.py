"""Runs a command beside an imitation of DynamoDB, with its tables: `on_moto.py TABLE COMMAND…`."""
import os
import subprocess
import sys

import boto3
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
os.environ.update(STORE_ENDPOINT=f"http://{host}:{port}", AWS_ACCESS_KEY_ID="imitated",
                  AWS_SECRET_ACCESS_KEY="imitated", AWS_DEFAULT_REGION="eu-west-1")
client = boto3.client("dynamodb", endpoint_url=os.environ["STORE_ENDPOINT"])
table = sys.argv[1]
for name, keys in [(table, [("id", "S", "HASH")]),
                   (table + "-trueup", [("ledger", "S", "HASH"), ("number", "N", "RANGE")])]:
    client.create_table(
        TableName=name, BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": key, "KeyType": kind} for key, _, kind in keys],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": type} for key, type, _ in keys])
status = subprocess.run(sys.argv[2:]).returncode
server.stop()
os._exit(status)
