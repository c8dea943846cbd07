#!/usr/bin/env python3
"""What jobs/test-workers reads from request logs and reports; each check is a command of its own."""

import glob
import json
import sys
from datetime import datetime

# Apple's limit of each endpoint that a run asks, by the second.
APPLE = 50


def arrivals(name):
    """The times at which requests came, by endpoint, with their statuses."""
    with open(name) as file:
        log = json.load(file)
    if log["count"] != len(log["requests"]):
        sys.exit(f"error: {name} keeps {len(log['requests'])} of {log['count']} requests")
    calls = {}
    for request in log["requests"]:
        ended = datetime.fromisoformat(request["at"].replace("Z", "+00:00")).timestamp()
        came = ended - request["milliseconds"] / 1000
        calls.setdefault(request["endpoint"], []).append((came, request["status"]))
    for times in calls.values():
        times.sort()
    return calls


def busiest(times, seconds):
    """The most requests in any span of so many seconds."""
    most = first = 0
    for last, time in enumerate(times):
        while time - times[first] >= seconds:
            first += 1
        most = max(most, last - first + 1)
    return most


def share(share, *names):
    """Fails where an app's calls of an endpoint are more than its share, or one is refused."""
    rate = APPLE * float(share)
    wrong = most = 0
    for name in names:
        for endpoint, calls in arrivals(name).items():
            refused = sum(status not in (200, 404) for _, status in calls)
            if refused:
                wrong += 1
                print(f"error: {name}: {refused} calls of {endpoint} were refused", file=sys.stderr)
            times = [came for came, _ in calls]
            most = max(most, busiest(times, 1))
            # After an idle time the calls of one second may start at once, so that ten seconds have
            # those of eleven; a tenth more, because on a busy machine calls arrive closer together
            # than they were made. The hour has no exception.
            for seconds, limit in ((1, 2.2 * rate), (10, 12.1 * rate), (3600, 3600 * rate)):
                found = busiest(times, seconds)
                if found > limit:
                    wrong += 1
                    print(f"error: {name}: {found} calls of {endpoint} in {seconds} s; {limit:g} "
                          "are allowed", file=sys.stderr)
    print(f"   at most {most} calls of an endpoint of one app in a second; its share is {rate:g}")
    return wrong == 0


def asked(*names):
    """Prints how often each id of each app was asked about."""
    for name in names:
        with open(name) as file:
            for endpoint, counts in sorted(json.load(file)["endpoints"].items()):
                print(name.rsplit("-", 1)[1], endpoint, counts["total"], sorted(counts["ids"].items()))
    return True


def found(*places):
    """Prints the findings and corrections of all reports, without what names run, time and place."""
    lines = []
    for place in places:
        for path in glob.glob(place + "/reports/2*/*/corrections.jsonl"):
            with open(path) as file:
                for line in map(json.loads, file):
                    # When Apple signed its answer is another moment each night.
                    for side in ("before", "after"):
                        line[side].pop("signed_date", None)
                    lines.append(["correction"] + [line.get(key) for key in (
                        "original_transaction_id", "action", "kinds", "before", "after")])
        for path in glob.glob(place + "/reports/2*/*/discrepancies.jsonl"):
            with open(path) as file:
                lines += [["finding"] + [line.get(key) for key in (
                    "app", "original_transaction_id", "kind", "severity", "state")]
                    for line in map(json.loads, file)]
    for text in sorted(json.dumps(line, sort_keys=True) for line in lines):
        print(text)
    return True


def speed(one, four, corrections, *names):
    """Prints the throughput as a ratio; fails where four workers are not twice as fast as one."""
    one, four = float(one), float(four)
    calls = 0
    for name in names:
        with open(name) as file:
            calls += json.load(file)["count"]
    print(f"   {calls} calls and {corrections} corrections: {one:.1f} s with one worker "
          f"({calls / one:.1f} calls a second), {four:.1f} s with four ({calls / four:.1f}): "
          f"{one / four:.2f} to 1")
    return one / four >= 2


def refused(name, resumption):
    """Fails where anybody asked between the first 429 and Apple's time, but for calls that were booked."""
    calls = arrivals(name).get("statuses", [])
    first = min((came for came, status in calls if status == 429), default=None)
    if first is None:
        return False
    later = [came - first for came, _ in calls if came > first]
    print(f"   {sum(status == 429 for _, status in calls)} calls were answered 429; the last one came "
          f"{max(later, default=0):.1f} s after the first, and Apple's time {float(resumption) - first:.0f} s")
    # What is booked is made within its bucket of five seconds.
    return all(seconds <= 6 for seconds in later)


if __name__ == "__main__":
    checks = {check.__name__: check for check in (share, asked, found, speed, refused)}
    sys.exit(0 if checks[sys.argv[1]](*sys.argv[2:]) else 1)
