import AppStoreServerAPI
import HTTPTransport
import JSONWebSignature
import Reports
import RowFiles
package import Subscriptions

/// Gets the sales reports that a comparison lacks from App Store Connect.
///
/// A report is written whole into the folder `sales-reports` of the report folder, and is never got
/// again.
package struct SalesFetch {
    let settings: Settings
    let invocation: Invocation
    let isQuiet: Bool

    static let folderName = "sales-reports"
    /// How many days are got at most: Apple's later entries come within 14.
    static let mostDays: Int64 = 30
    /// On how many days a report is asked for that the others of its day came without.
    private static let lateDays: Int64 = 7

    /// Reports of millions of payments are large.
    private static let bodyLimitBytes = 1 << 30
    private static let totalTimeoutMilliseconds = 600_000

    /// The files to compare, and what to say about them.
    typealias Fetched = (files: [String], notes: [String])

    /// The reports that are compared: yesterday's, and those before it that no earlier comparison has.
    ///
    /// - Parameters:
    ///   - now: The present.
    ///   - zone: The zone of the days.
    ///   - compared: The reports of earlier comparisons, by days such as `2026-11-20`.
    /// - Returns: Reports by days since 1970-01-01; without an earlier comparison only yesterday's.
    package static func reports(
        at now: Timestamp, in zone: SalesZone, compared: [String: Set<SalesReport>]
    ) -> [(day: Int64, reports: [SalesReport])] {
        var newest = now.dayNumber
        while zone.start(ofDay: newest + 1) > now { newest -= 1 }
        let range = newest - mostDays + 1...newest
        let known = { compared[CivilDate.text(ofDay: $0)] ?? [] }
        let first = range.first { !known($0).isEmpty } ?? newest
        return range.filter { $0 >= first }.compactMap { day in
            let had = day == newest ? [] : known(day)
            // A day without an event has no number in that report: it is not asked for on and on.
            guard had.isEmpty || day > newest - lateDays else { return nil }
            let lacking = SalesReport.allCases.filter { !had.contains($0) }
            return lacking.isEmpty ? nil : (day, lacking)
        }
    }

    /// Gets some reports.
    ///
    /// - Throws: 69, 73, 74, 76, 77 or 78; reports that were complete before stay.
    func perform(_ days: [(day: Int64, reports: [SalesReport])]) async throws -> Fetched {
        let sales = settings.sales
        let missing = sales.missingToFetch
        guard missing.isEmpty else {
            throw CommandFailure(
                .config,
                "\(settings.file): app_store_connect lacks \(missing.joined(separator: ", ")), which "
                    + "--fetch needs. Nothing was fetched or compared. docs/compare.md shows how to "
                    + "set them up.")
        }
        let key = try ES256PrivateKey(
            sales.keySource, concerning: "app_store_connect",
            environment: invocation.environment)
        let transport = try CurlTransport(
            caFile: sales.caFile, proxy: sales.proxy, concerning: "app_store_connect"
        ) { limits in
            limits.bodyLimitBytes = Self.bodyLimitBytes
            limits.totalTimeoutMilliseconds = Self.totalTimeoutMilliseconds
        }
        let terminal = invocation.progressLine(isQuiet: isQuiet)
        var requests = SalesReportRequests(
            baseURL: sales.endpoint.url, vendorNumber: sales.vendorNumber, keyID: sales.keyID,
            transport: transport,
            tokens: AppStoreServerTokens(
                issuerID: sales.issuerID, keyID: sales.keyID, bundleID: nil, key: key,
                now: invocation.now),
            clock: ContinuousClock(), wallClock: invocation.now,
            hear: { wait in
                terminal.wait(
                    "App Store Connect: \(wait.sentence)", for: "App Store Connect (\(wait.name))",
                    until: wait.until)
            })
        let result: Result<Fetched, any Error>
        do {
            result = .success(try await get(days, by: &requests))
        } catch {
            result = .failure(error)
        }
        terminal.clear()
        await transport.shutdown()
        return try result.get()
    }

    private func get(
        _ days: [(day: Int64, reports: [SalesReport])], by requests: inout SalesReportRequests
    ) async throws -> Fetched {
        let folder = settings.reportDirectory + "/" + Self.folderName
        var result: Fetched = ([], [])
        var fetched = 0
        for (day, reports) in days {
            for report in reports {
                let name = name(of: report, day)
                let path = folder + "/" + name
                if FileSystem.exists(path) {
                    result.files.append(path)
                    continue
                }
                switch try await Self.answer(of: &requests, report, day) {
                case .noData(let why):
                    result.notes.append(
                        "App Store Connect has no \(report.rawValue) report of "
                            + "\(CivilDate.text(ofDay: day)): \(why).")
                case .report(let bytes):
                    try Self.keep(bytes, named: name, in: folder)
                    result.files.append(path)
                    fetched += 1
                }
            }
        }
        let stored = result.files.count - fetched
        result.notes.insert(
            "\(fetched) \(fetched == 1 ? "report was" : "reports were") fetched from App Store Connect"
                + (stored > 0 ? ", and \(stored) had been fetched before" : "")
                + ", into \(folder).",
            at: 0)
        return result
    }

    /// As App Store Connect calls its files.
    private func name(of report: SalesReport, _ day: Int64) -> String {
        let prefix =
            switch report {
            case .subscription: "Subscription"
            case .event: "Subscription_Event"
            case .subscriber: "Subscriber"
            }
        let date = CivilDate.text(ofDay: day).replacing("-", with: "")
        return "\(prefix)_\(settings.sales.vendorNumber)_\(date).txt.gz"
    }

    private static func answer(
        of requests: inout SalesReportRequests, _ report: SalesReport, _ day: Int64
    ) async throws(CommandFailure) -> SalesReportRequests.Answer {
        do throws(SalesReportRequests.Failure) {
            return try await requests.get(report, ofDay: day)
        } catch {
            let rest = " Nothing was compared."
            throw switch error {
            case .denied(let text): CommandFailure(.denied, text + rest)
            case .misconfigured(let text): CommandFailure(.config, text + rest)
            case .unavailable(let text): CommandFailure(.unavailable, text + rest)
            case .undecodable(let text): CommandFailure(.protocol, text + rest)
            case .cancelled: CommandFailure(.unavailable, "The command was stopped." + rest)
            }
        }
    }

    /// Keeps a report, unless its gzip data is damaged or incomplete.
    private static func keep(_ bytes: [UInt8], named name: String, in folder: String) throws {
        try FileSystem.write(bytes, named: name, in: folder) { draft in
            do throws(RowFileError) {
                try checkPackedFile(draft)
            } catch {
                throw CommandFailure(
                    .protocol,
                    "App Store Connect's answer cannot be used: \(error). It was not kept. Run the "
                        + "command again.")
            }
        }
    }
}
