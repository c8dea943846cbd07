"""Apple's SignedDataVerifier on the same payloads, online checks off.

Usage: peer.py FOLDER ROUNDS, a folder with payloads.txt and root.der.
Prints "name least median" in microseconds of processor time per payload. One verifier, made once and
warmed up. X509_STRICT is off, as in Apple's own tests, which spares it work. "apple_python_cached" is a
kindness that the library does not offer: its cache of verified chains, which it keeps for online checks,
is made to serve without them.
"""

import gc
import statistics
import sys
import time

from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier

folder, rounds = sys.argv[1], int(sys.argv[2])
with open(folder + "/payloads.txt", encoding="ascii") as file:
    payloads = file.read().split()
with open(folder + "/root.der", "rb") as file:
    root = file.read()


def make_verifier():
    verifier = SignedDataVerifier([root], False, Environment.PRODUCTION, "com.example.app", 1)
    verifier._chain_verifier.enable_strict_checks = False
    return verifier


def make_cached_verifier():
    verifier = make_verifier()
    chain, known = verifier._chain_verifier, {}
    verify = chain.verify_chain

    def verify_chain(certificates, perform_online_checks, effective_date):
        found = known.get(tuple(certificates))
        if found is None:
            found = verify(certificates, perform_online_checks, effective_date)
            known[tuple(certificates)] = found
        return found

    chain.verify_chain = verify_chain
    return verifier


def measure(name, verifier, some):
    for payload in some[:20]:
        verifier.verify_and_decode_signed_transaction(payload)
    gc.collect()
    gc.disable()
    figures = []
    for _ in range(rounds):
        before = time.process_time_ns()
        for payload in some:
            verifier.verify_and_decode_signed_transaction(payload)
        figures.append((time.process_time_ns() - before) / 1000 / len(some))
    gc.enable()
    print(f"{name} {min(figures):.2f} {statistics.median(figures):.2f}")


measure("apple_python", make_verifier(), payloads[:: max(1, len(payloads) // 200)])
measure("apple_python_cached", make_cached_verifier(), payloads[:: max(1, len(payloads) // 200)])
