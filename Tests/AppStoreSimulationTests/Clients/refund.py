"""Sees a refund with Apple's Python client, which also verifies what it is told.

Usage: REQUESTS_CA_BUNDLE=<ca_file> python refund.py READY.json
With --unmodified the client goes to Apple's own hosts, which a hosts file leads to the simulator.
"""

import base64
import json
import sys
import urllib.request

from appstoreserverlibrary.api_client import AppStoreServerAPIClient
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier

with open(sys.argv[1], encoding="utf-8") as file:
    ready = json.load(file)
with open(ready["key_file"], "rb") as file:
    key = file.read()
with open(ready["root_file"], encoding="ascii") as file:
    root = base64.b64decode("".join(file.read().strip().split("\n")[1:-1]))

client = AppStoreServerAPIClient(
    key, ready["key_id"], ready["issuer_id"], ready["bundle_id"], Environment.PRODUCTION
)
if "--unmodified" not in sys.argv:
    client._base_url = ready["endpoint"]
verifier = SignedDataVerifier(
    [root], False, Environment.PRODUCTION, ready["bundle_id"], ready["app_apple_id"]
)


def control(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(ready["control"] + "/_simulator/" + path, data=data) as answer:
        return json.load(answer)


def look():
    entry = client.get_all_subscription_statuses(id).data[0].lastTransactions[0]
    transaction = verifier.verify_and_decode_signed_transaction(entry.signedTransactionInfo)
    print("status", entry.status.value, transaction.rawRevocationReason)


id = control("customers")["customers"][0]["purchases"][0]["original_transaction_id"]
look()
control("advance", {"days": 2})
look()
