"""Apple's asynchronous client and its verifier on the same answers: fetch and verify, nothing else.

Usage: peer.py FOLDER URL COUNT IN_FLIGHT statuses|history shipped|cached
"cached" is its best case: HTTP/2, and chains that were verified once are known (the library keeps that
only for online checks). Online checks are off, as is X509_STRICT, which spares it work.
"""

import asyncio
import sys

import httpx
from appstoreserverlibrary.api_client import AsyncAppStoreServerAPIClient, GetTransactionHistoryVersion
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.TransactionHistoryRequest import TransactionHistoryRequest
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

folder, url, count, in_flight, what, case = sys.argv[1:7]
count, in_flight, is_cached = int(count), int(in_flight), case == "cached"

with open(folder + "/SubscriptionKey.p8", "rb") as file:
    key = file.read()
with open(folder + "/apple-root.pem", "rb") as file:
    root = x509.load_pem_x509_certificate(file.read()).public_bytes(Encoding.DER)
with open(folder + "/ids.txt", encoding="ascii") as file:
    ids = file.read().split()[:count]

client = AsyncAppStoreServerAPIClient(
    key, "2X9R4HXF34", "57246542-96fe-1a63-e053-0824d011072a", "com.example.app", Environment.PRODUCTION
)
client._base_url = url
client.http_client = httpx.AsyncClient(http2=is_cached, verify=folder + "/tls-root.pem")
verifier = SignedDataVerifier([root], False, Environment.PRODUCTION, "com.example.app", 1234567890)
verifier._chain_verifier.enable_strict_checks = False
if is_cached:
    chain, known = verifier._chain_verifier, {}
    verify = chain.verify_chain

    def verify_chain(certificates, perform_online_checks, effective_date):
        name = tuple(certificates)
        if name not in known:
            known[name] = verify(certificates, perform_online_checks, effective_date)
        return known[name]

    chain.verify_chain = verify_chain

signatures = 0


async def status(id):
    global signatures
    answer = await client.get_all_subscription_statuses(id)
    for group in answer.data:
        for last in group.lastTransactions:
            verifier.verify_and_decode_signed_transaction(last.signedTransactionInfo)
            verifier.verify_and_decode_renewal_info(last.signedRenewalInfo)
            signatures += 2


async def history(id):
    global signatures
    page = await client.get_transaction_history(
        id, None, TransactionHistoryRequest(), GetTransactionHistoryVersion.V2
    )
    for signed in page.signedTransactions:
        verifier.verify_and_decode_signed_transaction(signed)
        signatures += 1


async def main():
    ask = status if what == "statuses" else history
    waiting = iter(ids)

    async def work():
        for id in waiting:
            await ask(id)

    await asyncio.gather(*(work() for _ in range(in_flight)))
    print("answers", count, "signatures", signatures)


asyncio.run(main())
