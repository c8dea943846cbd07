import Foundation
import RowFiles
import Subscriptions
import TestSupport
import Testing

/// Reading App Store Connect's sales reports, with lines made by hand from Apple's pages.
@Suite struct `A sales report` {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Version 1_3 as Apple's page lists its columns.
    private static let subscription = [
        "App Name", "App Apple ID", "Subscription Name", "Subscription Apple ID",
        "Subscription Group ID", "Standard Subscription Duration", "Subscription Offer Name",
        "Promotional Offer ID", "Customer Price", "Customer Currency", "Developer Proceeds",
        "Proceeds Currency", "Preserved Pricing", "Proceeds Reason", "Client", "Device", "State",
        "Country", "Active Standard Price Subscriptions",
        "Active Free Trial Introductory Offer Subscriptions",
        "Active Pay Up Front Introductory Offer Subscriptions",
        "Active Pay as You Go Introductory Offer Subscriptions",
        "Free Trial Promotional Offer Subscriptions",
        "Pay Up Front Promotional Offer Subscriptions",
        "Pay As You Go Promotional Offer Subscriptions", "Marketing Opt-Ins", "Billing Retry",
        "Grace Period", "Free Trial Offer Code Subscriptions",
        "Pay Up Front Offer Code Subscriptions", "Pay As You Go Offer Code Subscriptions",
        "Subscribers", "Free Trial Win-Back Offers", "Pay Up Front Win-Back Offers",
        "Pay As You Go Win-Back Offers",
    ]

    private func path(_ name: String, _ lines: [[String]], separator: String = "\t") throws
        -> String
    {
        let path = folder.url.appendingPathComponent(name).path
        let text = lines.map { $0.joined(separator: separator) + "\n" }.joined()
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    private func read(
        _ path: String
    ) throws -> (lines: [SalesLine], bad: [BadLine], unknown: [String], report: SalesReport) {
        var reader = try SalesFileReader(salesAt: path)
        var lines: [SalesLine] = []
        var bad: [BadLine] = []
        while let next = try reader.next() {
            switch next {
            case .row(let line, _): if let line { lines.append(line) }
            case .bad(let line): bad.append(line)
            }
        }
        return (lines, bad, reader.unknownSalesColumns, reader.salesReport)
    }

    private static func day(_ text: String) throws -> Int64 {
        try #require(Timestamp(rfc3339: text + "T00:00:00Z")).dayNumber
    }

    @Test func `of subscriptions has its day from the file's name`() throws {
        var values = Dictionary(
            uniqueKeysWithValues: Self.subscription.map { ($0, "0") })
        values["App Name"] = "\"Quoted\" name"
        values["Subscription Apple ID"] = "6400000001"
        values["Promotional Offer ID"] = " "
        values["Active Standard Price Subscriptions"] = "120"
        values["Active Pay Up Front Introductory Offer Subscriptions"] = "2"
        values["Active Pay as You Go Introductory Offer Subscriptions"] = "3"
        values["Free Trial Win-Back Offers"] = ""
        values["Billing Retry"] = "4"
        let header = Self.subscription + ["A Column Of 1_4"]
        let line = header.map { values[$0] ?? "new" }
        let read = try read(path("Subscription_80012345_20261120.txt", [header, line, line]))
        #expect(read.bad == [])
        #expect(read.report == .subscription)
        #expect(read.unknown == ["A Column Of 1_4"])
        #expect(read.lines.count == 2)
        let first = try #require(read.lines.first)
        #expect(first.appleID == "6400000001")
        #expect(try first.day == Self.day("2026-11-20"))
        #expect(first.counts[.standard] == 120)
        #expect(first.counts[.introductoryPaid] == 5)
        #expect(first.counts[.winBackFree] == 0)
        #expect(first.counts[.billingRetry] == 4)
    }

    @Test(arguments: [
        ("Subscription_80012345_20261120.txt.gz", "2026-11-20"),
        ("reports/S-D-20261231-80012345.tsv", "2026-12-31"), ("S_D_2026-03-01.txt", "2026-03-01"),
        ("Subscription_80012345.txt", nil), ("-", nil), ("20261301.txt", nil),
        ("20260101/20260102_x.txt", "2026-01-02"),
    ]) func `has a day in its name, or none`(name: String, day: String?) throws {
        #expect(try SalesReport.day(inNameOf: name) == day.map(Self.day))
    }

    private static let eventHeader = [
        "event date", "EVENT", "Subscription Apple ID", "Country", "Cancellation Reason",
        "Days Before Canceling", "Quantity",
    ]

    @Test(arguments: [
        ("Subscribe", SalesMeasure.new), ("Start Introductory Offer", .new),
        ("Start Free Trial", .new), ("Renew", .renewed),
        ("Paid Subscription from Introductory Offer", .renewed),
        ("Renewal from Billing Retry", .recovered), ("Reactivate", .recovered),
        ("Reactivate with Upgrade", .recovered), ("Crossgrade from Billing Retry", .recovered),
        ("Upgrade", .changed), ("Downgrade from Introductory Offer", .changed),
        ("Cancel", .cancelled), ("Refund", .refunded),
        ("Billing Retry from Paid Subscription", nil),
        ("Canceled from Billing Retry", nil), ("Grace Period from Paid Subscription", nil),
        ("An Event of 1_4", nil),
    ]) func `of events counts what signed statements show`(
        name: String, measure: SalesMeasure?
    ) throws {
        let read = try read(
            path(
                "e.txt",
                [
                    Self.eventHeader,
                    ["2026-11-20", name, "6400000001", "US", "", "", "7"],
                    ["11/20/2026", name, "6400000001", "DE", " ", " ", "1"],
                ]))
        #expect(read.bad == [])
        #expect(read.report == .event)
        let wanted: [[SalesMeasure: Int64]] =
            measure.map { [[$0: 7], [$0: 1]] } ?? [[:], [:]]
        #expect(read.lines.map(\.counts) == wanted)
        #expect(try read.lines.allSatisfy { try $0.day == Self.day("2026-11-20") })
    }

    @Test func `of subscribers tells refunds from purchases`() throws {
        let header = [
            "Event Date", "Subscription Apple ID", "Subscriber ID", "Subscriber ID Reset",
            "Refund", "Purchase Date", "Units",
        ]
        let read = try read(
            path(
                "s.csv",
                [
                    header, ["2026-11-20", "64", "9", "", "", "", "1"],
                    ["2026-11-20", "64", "9", "", "Yes", "2026-11-01", "-1"],
                ], separator: ","))
        #expect(read.bad == [])
        #expect(read.report == .subscriber)
        #expect(read.lines.map(\.counts) == [[.purchased: 1], [.refundedUnits: 1]])
    }

    @Test func `is refused with what it lacks`() throws {
        func reason(_ name: String, _ header: [String]) throws -> String {
            let path = try path(name, [header])
            do {
                _ = try read(path)
                return ""
            } catch let error as RowFileError {
                return "\(error)"
            }
        }
        let lacking = Self.subscription.filter { $0 != "Billing Retry" }
        #expect(try reason("S_20261120.txt", lacking).contains("\"Billing Retry\" is missing"))
        #expect(try reason("S.txt", Self.subscription).contains("its day in the file's name"))
        #expect(
            try reason("e.txt", ["Event", "Quantity", "Event Date"])
                .contains("\"Subscription Apple ID\" is missing"))
        #expect(try reason("x.txt", ["SKU", "Developer"]).contains("none of the reports"))
    }

    @Test func `names lines with values that are none`() throws {
        let read = try read(
            path(
                "e.txt",
                [
                    Self.eventHeader, ["2026-02-30", "Renew", "64", "US", "", "", "1"],
                    ["2026-11-20", "Renew", "64", "US", "", "", "1.5"],
                    ["2026-11-20", "Renew", "sixty", "US", "", "", "1"],
                    ["2026-11-20", "", "64", "US", "", "", "1"],
                    ["2026-11-20", "Renew", "64", "US", "", "", ""],
                    ["2026-11-20", "Renew", "64", "US", "", "", "9999999999999999999"],
                    ["2026-11-20", "Renew", "64"],
                ]))
        #expect(read.lines == [])
        #expect(read.bad.map(\.line) == [2, 3, 4, 5, 6, 7, 8])
        #expect(read.bad.first?.reason.contains("is not a day") == true)
    }
}
