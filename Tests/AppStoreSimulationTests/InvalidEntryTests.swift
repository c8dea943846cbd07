import AppStoreSimulation
import Foundation
import Testing

/// Invalid input is refused with its name and line; nothing is silently ignored.
@Suite struct `An invalid entry` {
    private static let head = "customers:\n  - name: anna\n    life:\n"

    @Test(arguments: [
        ("{at: -20d, buy: news.monthly}|{at: -5d, refund: 100, period: 99}", 5, "period 99"),
        (
            "{at: -20d, buy: video.premium.monthly}|{at: -5d, upgrade: video.basic.monthly}", 5,
            "higher"
        ),
        (
            "{at: -20d, buy: video.basic.monthly}|{at: -5d, downgrade: video.premium.monthly}", 5,
            "lower"
        ),
        (
            "{at: -20d, buy: video.basic.monthly}|{at: -5d, crossgrade: video.premium.monthly}", 5,
            "same level"
        ),
        (
            "{at: -20d, buy: video.basic.monthly}|{at: -5d, upgrade: news.monthly}", 5,
            "another subscription group"
        ),
        (
            "{at: -20d, buy: news.monthly}|{at: -5d, refund_reversed: true}", 5,
            "Nothing is refunded"
        ),
        ("{at: -20d, buy: news.monthly}|{at: -5d, cancel: false}", 5, "written as true"),
        ("{at: -20d, buy: news.monthly}|{at: -5d, reenable: true}", 5, "on already"),
        (
            "{at: -20d, buy: news.monthly}|{at: -9d, cancel: true}|{at: -5d, cancel: true}", 6,
            "off already"
        ),
        (
            "{at: -90d, buy: news.monthly}|{at: -80d, cancel: true}|{at: -5d, extend: 3}", 6,
            "status 1"
        ),
        ("{at: -20d, buy: news.monthly}|{at: -5d, resubscribe: news.monthly}", 5, "status 2 or 5"),
        (
            "{at: -20d, buy: news.monthly}|{at: -5d, accept_price_increase: true}", 5,
            "No price increase"
        ),
        ("{at: -20d, buy: news.monthly}|{at: -5d, billing_recovers: true}", 5, "No charge fails"),
        ("{at: -20d, buy: news.monthly}|{at: -5d, stop_sharing: true}", 5, "shared with nobody"),
        ("{at: -20d, buy: news.monthly}|{at: -5d, share_with: nobody}", 5, "nobody"),
        ("{at: -20d, buy: news.monthly}|{at: -5d, share_with: anna}", 5, "themselves"),
        ("{at: -20d, buy: themes}|{at: -5d, cancel: true}", 5, "subscriptions only"),
        (
            "{at: -20d, buy: news.monthly}|{at: -9d, delete_account: true}|{at: -5d, cancel: true}",
            6, "deleted"
        ),
        ("{at: -20d, buy: news.monthly}|{at: -5d, refund: 100, percent: 50}", 5, "percent"),
        ("{at: -20d, buy: news.monthly}|{at: -5d, refund: 100, reason: 7}", 5, "from 0 to 1"),
        (
            "{at: -20d, buy: news.monthly}|{at: -5d, cancel: true, offer: win_back}", 5,
            "does not belong"
        ),
        (
            "{at: -20d, buy: news.monthly}|{at: 1969-12-31T00:00:00Z, cancel: true}", 5,
            "must be like"
        ),
        ("{at: -20d, buy: news.monthly}|{at: '', cancel: true}", 5, "must be like"),
        // The future is refused when the file is read, not when it comes.
        ("{at: -20d, buy: news.monthly}|{at: +90d, refund: 100, period: 77}", 5, "period 77"),
        // Apple extends at most twice within 365 days, and none that is in a free offer.
        (
            "{at: -20d, buy: news.monthly}|{at: -9d, extend: 3}|{at: -8d, extend: 3}|"
                + "{at: -7d, extend: 3}", 7, "An extension is refused"
        ),
        (
            "{at: -2d, buy: video.basic.monthly, offer: introductory_trial}|{at: -1d, extend: 3}",
            5,
            "An extension is refused"
        ),
    ])
    func `in a customer's life is refused with its line`(steps: String, line: Int, reason: String)
        throws
    {
        let lines = steps.split(separator: "|").map { "      - \($0)\n" }.joined()
        let error = #expect(throws: SimulatorError.self) {
            try SimulatorClient(scenario: Self.head + lines)
        }
        let text = error?.description ?? ""
        #expect(text.contains("line \(line)") && text.contains(reason), "\(text)")
    }

    @Test(arguments: [
        ("", "The whole must be a mapping"), ("customers: {}", "\"customers\" must be a list"),
        ("customers:\n  - name: anna\n    life: 7", "\"customers.0.life\" must be a list"),
    ])
    func `of another form is told what belongs there`(scenario: String, reason: String) throws {
        let error = #expect(throws: SimulatorError.self) { try SimulatorClient(scenario: scenario) }
        let said = error?.description ?? ""
        #expect(said.contains(reason), "\(said)")
        #expect(!said.contains("decode"), "\(said)")
    }

    @Test(arguments: [
        ("{status: 2}", "should have status 2, has 1"), ("{status: 9}", "from 1 to 5"),
        ("{of: nothing, status: 1}", "labelled \"nothing\""),
        ("{notifications: [SUBSCRIBED]}", "No notification is named"),
        ("{notifications: [DID_RENEW]}", "should be told"), ("{of: x}", "names a \"status\""),
        ("{stats: 1}", "unknown"),
    ])
    func `in an expectation is refused with its line`(expected: String, reason: String) throws {
        let text = """
            \(Self.head)      - {at: -20d, buy: news.monthly}
                expect:
                  - \(expected)
            """
        let error = #expect(throws: SimulatorError.self) { try SimulatorClient(scenario: text) }
        let said = error?.description ?? ""
        #expect(said.contains("line 6") && said.contains(reason), "\(said)")
    }

    @Test(arguments: [
        ("faults: [{fault: html, share: 7}]", "share"),
        ("faults: [{fault: html, share: -0.5}]", "share"),
        ("faults: [{fault: html, after_seconds: -3}]", "after_seconds"),
        ("faults: [{fault: html, for_seconds: -3}]", "for_seconds"),
        ("faults: [{fault: html, code: 5000000}]", "code"),
        ("faults: [{fault: delay}]", "delay_ms"),
        ("faults:\n  - {fault: html}\n  - {fault: nonsense}", "line 3"),
    ])
    func `in a plan of faults is refused by name`(plan: String, reason: String) throws {
        let error = #expect(throws: SimulatorError.self) {
            try SimulatorClient(customers: 1) { $0.faults = plan }
        }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }

    @Test(arguments: [
        ("advance", #"{"day": 3}"#, "day"), ("advance", #"{"days": -3}"#, "days"),
        ("advance", #"{"days": 5, "hours": -1}"#, "hours"), ("advance", "{}", "none of"),
        ("app", #"{"relesed": true}"#, "relesed"),
        ("notifications", #"{"adress": "http://127.0.0.1:1/"}"#, "adress"),
        ("notifications", "{}", "address"), ("limits", #"{"statuses": -5}"#, "statuses"),
        ("limits", #"{"status": 5}"#, "status"), ("advance?fast=1", #"{"days": 1}"#, "fast"),
        ("faults", #"{"faults": [], "x": 1}"#, "x"),
        ("reset", #"{"environment": "production"}"#, "no body"),
    ])
    func `in a control call is refused by name`(call: String, body: String, name: String) throws {
        let client = try SimulatorClient(customers: 1)
        let answer = client.simulator.answerControl(
            ServiceRequest(method: "POST", target: "/_simulator/" + call, body: Array(body.utf8)))
        #expect(answer.status == 400)
        let said = String(decoding: answer.body, as: UTF8.self)
        #expect(said.contains(name), "\(said)")
    }
}
