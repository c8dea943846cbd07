"""Writes a company's table and Apple-shaped signed answers about it, for a server of files.

Usage: answers.py FOLDER ACCOUNTS HISTORIES
FOLDER gets: apple-root.pem, leaf.pem (its key signs every answer), SubscriptionKey.p8, rows.csv (every
tenth row drifted), some.csv (the first HISTORIES rows), ids.txt, www/inApps/v1/subscriptions/ID (two
signed payloads) and www/inApps/v2/history/ID (20 signed payloads each). The certificates have the
sizes, keys and extensions of Apple's.
"""

import base64
import datetime
import json
import os
import sys
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.x509.oid import NameOID

DAY = 86_400_000
BUNDLE = "com.example.app"
PERIODS_A_PAGE = 20

folder, accounts, histories = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
now = int(time.time() * 1000)


def certificate(name, key, issuer, issuer_key, marker, is_authority):
    def full(common):
        return x509.Name(
            [
                x509.NameAttribute(NameOID.COMMON_NAME, common),
                x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "Benchmark Certification Authority"),
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Benchmark Inc."),
                x509.NameAttribute(NameOID.COUNTRY_NAME, "US"),
            ]
        )

    start = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=400)
    builder = (
        x509.CertificateBuilder()
        .subject_name(full(name))
        .issuer_name(full(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=800))
        .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False
        )
        .add_extension(
            x509.KeyUsage(not is_authority, False, False, False, False, is_authority, is_authority, False, False),
            critical=True,
        )
    )
    if marker:
        oid = x509.ObjectIdentifier(marker)
        builder = builder.add_extension(x509.UnrecognizedExtension(oid, b"\x05\x00"), critical=False)
    return builder.sign(issuer_key, hashes.SHA384())


def pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


root_key, intermediate_key = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP384R1())
leaf_key, api_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
root = certificate("Benchmark Root", root_key, "Benchmark Root", root_key, None, True)
intermediate = certificate(
    "Benchmark Intermediate", intermediate_key, "Benchmark Root", root_key, "1.2.840.113635.100.6.2.1", True
)
leaf = certificate(
    "Benchmark Leaf", leaf_key, "Benchmark Intermediate", intermediate_key, "1.2.840.113635.100.6.11.1", False
)

chain = [base64.b64encode(c.public_bytes(serialization.Encoding.DER)).decode() for c in (leaf, intermediate, root)]


def unpadded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


header = unpadded(json.dumps({"alg": "ES256", "x5c": chain}, separators=(",", ":")).encode())


def sign(payload):
    text = header + b"." + unpadded(json.dumps(payload, separators=(",", ":")).encode())
    r, s = decode_dss_signature(leaf_key.sign(text, ec.ECDSA(hashes.SHA256())))
    return (text + b"." + unpadded(r.to_bytes(32, "big") + s.to_bytes(32, "big"))).decode()


def original(number):
    return str(2_000_000_000_000_000 + number)


def period_id(number, period, kind=0):
    """No two periods share one, of whatever subscription: the table would take them for the same."""
    return str(20_000_000_000_000_000 + number * 1000 + kind * 500 + PERIODS_A_PAGE - period)


def transaction(number, period):
    expires = now + (5 + number % 20) * DAY - period * 30 * DAY
    return {
        "transactionId": period_id(number, period),
        "originalTransactionId": original(number),
        "webOrderLineItemId": period_id(number, period, kind=1),
        "bundleId": BUNDLE,
        "productId": "com.example.monthly",
        "subscriptionGroupIdentifier": "20001",
        "purchaseDate": expires - 30 * DAY,
        "originalPurchaseDate": now - 700 * DAY,
        "expiresDate": expires,
        "quantity": 1,
        "type": "Auto-Renewable Subscription",
        "inAppOwnershipType": "PURCHASED",
        "signedDate": now - 1000,
        "environment": "Production",
        "transactionReason": "RENEWAL",
        "storefront": "USA",
        "storefrontId": "143441",
        "price": 9990,
        "currency": "USD",
        "appTransactionId": str(704_000_000_000_000 + number),
    }


def renewal(number):
    latest = transaction(number, 0)
    return {
        "originalTransactionId": original(number),
        "autoRenewProductId": "com.example.monthly",
        "productId": "com.example.monthly",
        "autoRenewStatus": 1,
        "signedDate": now - 1000,
        "environment": "Production",
        "recentSubscriptionStartDate": now - 700 * DAY,
        "renewalDate": latest["expiresDate"],
        "renewalPrice": 9990,
        "currency": "USD",
        "appTransactionId": latest["appTransactionId"],
    }


def write(path, data):
    with open(os.path.join(folder, path), "wb") as file:
        file.write(data)


def answer(members):
    members |= {"bundleId": BUNDLE, "appAppleId": 1234567890, "environment": "Production"}
    return json.dumps(members, separators=(",", ":")).encode()


statuses, pages = "www/inApps/v1/subscriptions/", "www/inApps/v2/history/"
for path in (statuses, pages):
    os.makedirs(os.path.join(folder, path), exist_ok=True)
write("apple-root.pem", root.public_bytes(serialization.Encoding.PEM))
write("leaf.pem", leaf.public_bytes(serialization.Encoding.PEM))
write("SubscriptionKey.p8", pem(api_key))
os.chmod(os.path.join(folder, "SubscriptionKey.p8"), 0o600)

# Not exactly the day before: a drift of whole days is no clock's fault.
DRIFTS = [{"status": "2"}, {"expires": -30 * DAY - 7_000}, {"renew": "0"}]
columns = (
    "original_transaction_id,environment,bundle_id,customer_id,product_id,status,expires_date,"
    "auto_renew_status,auto_renew_product_id,in_app_ownership_type,latest_transaction_id,"
    "web_order_line_item_id,signed_date\n"
)


def date(milliseconds):
    seconds, rest = divmod(milliseconds, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:03d}Z"


def row(number):
    latest = transaction(number, 0)
    drift = DRIFTS[number // 10 % len(DRIFTS)] if number % 10 == 7 else {}
    return ",".join(
        [
            original(number), "Production", BUNDLE, f"customer-{number}", "com.example.monthly",
            drift.get("status", "1"), date(latest["expiresDate"] + drift.get("expires", 0)),
            drift.get("renew", "1"), "com.example.monthly", "PURCHASED", latest["transactionId"],
            latest["webOrderLineItemId"], date(now - 3 * DAY),
        ]
    ) + "\n"


lines = [row(number) for number in range(accounts)]
write("rows.csv", (columns + "".join(lines)).encode())
write("some.csv", (columns + "".join(lines[:histories])).encode())
write("ids.txt", "".join(original(number) + "\n" for number in range(accounts)).encode())
for number in range(accounts):
    last = {
        "originalTransactionId": original(number),
        "status": 1,
        "signedTransactionInfo": sign(transaction(number, 0)),
        "signedRenewalInfo": sign(renewal(number)),
    }
    group = {"subscriptionGroupIdentifier": "20001", "lastTransactions": [last]}
    write(statuses + original(number), answer({"data": [group]}))
for number in range(histories):
    signed = [sign(transaction(number, period)) for period in reversed(range(PERIODS_A_PAGE))]
    page = {"signedTransactions": signed, "revision": f"revision-{number}", "hasMore": False}
    write(pages + original(number), answer(page))
