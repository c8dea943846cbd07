import Reports
import Subscriptions
import Testing

@Suite struct `The summary for machines` {
    @Test func `holds every member of the contract`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.report()
        #expect(
            try folder.text("latest/summary.json") == """
                {
                  "acknowledged": [],
                  "apps": [
                    {
                      "app": "com.example.app",
                      "environment": "Production"
                    }
                  ],
                  "business": {
                    "apps": [
                      {
                        "app": "com.example.app",
                        "day_read": "whole",
                        "environment": "Production",
                        "events": {
                          "renewal": 41
                        }
                      }
                    ],
                    "day": "2026-11-19",
                    "falls": []
                  },
                  "call_effort": null,
                  "calls": {
                    "notification_history": {
                      "ok": 12
                    },
                    "subscription_statuses": {
                      "ok": 1987,
                      "rate_limited": 6
                    }
                  },
                  "causes": [],
                  "control_totals": null,
                  "corrections": {
                    "applied": 31,
                    "held_back": 0,
                    "planned": 0,
                    "rejected": 0,
                    "stale": 1,
                    "unproven": 0
                  },
                  "corrections_reported_before": 0,
                  "coverage": null,
                  "database_pauses": null,
                  "ended": "2026-11-20T03:19:40.250Z",
                  "evidence": {
                    "bytes_received": 0,
                    "bytes_stored": 0,
                    "statements": 0
                  },
                  "excluded_reasons": {
                    "in_flight": 10
                  },
                  "finding_states": {
                    "access_missing": {
                      "corrected": 1200,
                      "new": 8
                    },
                    "not_found": {
                      "open": 3
                    },
                    "product": {
                      "recurring": 1
                    }
                  },
                  "findings": {
                    "access_missing": {
                      "critical": 1208
                    },
                    "not_found": {
                      "high": 3
                    },
                    "product": {
                      "high": 1
                    }
                  },
                  "job": "nightly",
                  "ledger_head": "\(String(repeating: "1e", count: 32))",
                  "lifted_guards": [],
                  "limits": [
                    "retry budget of subscription_statuses"
                  ],
                  "messages": [
                    "Apple answered 429 for 12 s; the rate was halved."
                  ],
                  "mode": "apply",
                  "money": [
                    {
                      "amount": 9990,
                      "currency": "EUR",
                      "direction": "customer_loses",
                      "findings": 1
                    },
                    {
                      "amount": 1234560,
                      "currency": "USD",
                      "direction": "company_loses",
                      "findings": 12
                    }
                  ],
                  "notification_delays": null,
                  "outcome": {
                    "exit_status": 3,
                    "flags": [
                      "incomplete",
                      "findings"
                    ],
                    "name": "incomplete"
                  },
                  "plan": null,
                  "purchases": null,
                  "resumed_from": null,
                  "run_id": "20261120T031704Z-7f3c9a",
                  "scope": null,
                  "settings_digest": "\(String(repeating: "5e", count: 32))",
                  "started": "2026-11-20T03:17:04.000Z",
                  "tool_version": "1.0.0",
                  "totals": {
                    "discrepant": 37,
                    "excluded": 10,
                    "filled": 0,
                    "in_scope": 2000,
                    "matched": 1950,
                    "undecided": 3
                  },
                  "undecided_reasons": {
                    "in_flight": 1,
                    "rate_limited": 2
                  },
                  "undo_of": null,
                  "unowned": null
                }

                """)
    }

    @Test func `states the filter and the run that it continues`() throws {
        var run = try Samples.run()
        run.runSummary = Situations.interrupted
        let folder = try TemporaryFolder()
        _ = try folder.report(run)
        let text = try folder.text("latest/summary.json")
        #expect(text.contains("\"scope\": [\n    \"limit 2,000\",\n    \"shard 1/4\"\n  ]"))
        #expect(text.contains("\"resumed_from\": \"20261119T031704Z-000001\""))
        #expect(text.contains("\"exit_status\": 130"))
        #expect(text.contains("\"flags\": [\n      \"signal\",\n      \"incomplete\"\n    ]"))
    }
}
