import Foundation
import GRDB
import TestSupport
import Testing

/// What makes a run end before it begins, or right after.
enum RunFault: String, CaseIterable, CustomTestStringConvertible {
    case reportsAreAFile = "the report folder is a file"
    case reportsLeadNowhere = "the report folder is a link that leads nowhere"
    case dayIsAFile = "the folder of today's reports is a file"
    case latestIsInTheWay = "a folder stands where the link to the newest run should"
    case reportLockIsAFolder = "a folder stands where the lock of the reports should"
    case lockIsAFolder = "a folder stands where the lock of the database should"
    case databaseIsLocked = "another program keeps a transaction open"
    case runGoesOn = "another run holds the lock"
    case reportsAreLocked = "another run writes into the report folder"
    case quotaIsRefused = "Apple wants no calls for an hour"
    case keyIsOpen = "others may read the key"
    case keyIsNone = "the key file holds something else"
    case keyIsRefused = "Apple refuses the key"
    case bundleIsWrong = "the settings name an app that is not the key's and has no rows"
    case clockIsAhead = "the clock is an hour ahead of Apple's"
    case clockIsBehind = "the clock is two hours behind Apple's"
    case settingIsUnknown = "the settings have an unknown key"
    case settingsAreOpen = "everybody may write the settings"
    case jobIsUnknown = "the job has an unknown key"
    case jobsAreMissing = "there is no folder of jobs"
    case databaseIsForeign = "the database is another program's"
    case reportsAreAnothers = "the report folder is another database's"
    case rowsAreUnconfigured = "half of the rows are of no configured app"
    case hookIsMissing = "a hook names a program that does not exist"

    var testDescription: String { rawValue }

    /// What a run ends with.
    var status: Int32 {
        switch self {
        case .rowsAreUnconfigured, .hookIsMissing: 4
        case .reportsAreAFile, .reportsLeadNowhere, .dayIsAFile, .latestIsInTheWay,
            .reportLockIsAFolder:
            73
        case .lockIsAFolder: 74
        case .databaseIsLocked, .runGoesOn, .reportsAreLocked, .quotaIsRefused: 75
        case .keyIsOpen, .keyIsNone, .keyIsRefused, .bundleIsWrong, .clockIsAhead,
            .clockIsBehind:
            77
        case .settingIsUnknown, .settingsAreOpen, .jobIsUnknown, .jobsAreMissing,
            .databaseIsForeign, .reportsAreAnothers:
            78
        }
    }

    /// Which line of `doctor` names it.
    var check: String {
        switch self {
        case .rowsAreUnconfigured: "rows"
        case .hookIsMissing: "hooks"
        case .reportsAreAFile, .reportsLeadNowhere, .dayIsAFile, .latestIsInTheWay,
            .reportLockIsAFolder, .reportsAreLocked, .reportsAreAnothers:
            "reports"
        case .lockIsAFolder, .runGoesOn: "lock"
        case .databaseIsLocked, .databaseIsForeign: "database"
        case .quotaIsRefused: "quota"
        case .keyIsOpen, .keyIsNone: "key"
        case .keyIsRefused, .bundleIsWrong: "apple"
        case .clockIsAhead, .clockIsBehind: "clock"
        case .settingIsUnknown, .settingsAreOpen: "settings"
        case .jobIsUnknown, .jobsAreMissing: "jobs"
        }
    }
}

/// Nothing that ends a run passes `doctor`.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `What would stop a run` {
    private static let simulator = try? RunningSimulator([
        "--customers", "40", "--seed", "17", "--drift", "0",
    ])

    /// A folder with a night that nothing stopped, to be copied for each fault.
    private static let sound = Result { () throws -> TemporaryFolder in
        let place = try Workplace(on: #require(simulator))
        try place.writeJob("nightly", "max_duration: 10m", steps: "[walk]")
        try #require(place.run("init").status == 0)
        let table = try #require(place.simulator.ready.tableFile)
        try #require(place.run("import", table).status == 0)
        try #require(place.run("run", "nightly").status == 0)
        return place.folder
    }

    private let place: Workplace
    private let files = FileManager.default

    init() async throws {
        place = try Workplace(on: #require(Self.simulator), copyOf: Self.sound.get())
        try await setServerClock(aheadSeconds: 0)
    }

    /// By how much Apple's clock is ahead of this machine's.
    private func setServerClock(aheadSeconds: Int) async throws {
        try await place.simulator.control(
            "/_simulator/clock", method: "POST", body: #"{"skew_seconds": \#(aheadSeconds)}"#)
    }

    private func path(_ name: String) -> String {
        place.folder.url.appendingPathComponent(name).path
    }

    /// The checks that failed, by name.
    private func doctor() throws -> (status: Int32, failed: [String: String], all: String) {
        let result = try place.run("doctor", "--json")
        let object = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
        let checks = try #require((object as? [String: Any])?["checks"] as? [[String: Any]])
        var failed: [String: String] = [:]
        for check in checks where check["outcome"] as? String == "failed" {
            let text = [check["detail"], check["fix"]].compactMap { $0 as? String }
            failed[check["check"] as? String ?? ""] = text.joined(separator: ". ")
        }
        return (result.status, failed, result.output)
    }

    private func expectRefused(_ fault: RunFault) throws {
        let run = try place.run("run", "nightly")
        #expect(run.status == fault.status, "\(run.errors)\n\(run.output)")
        let before = files.contents(atPath: path("trueup.sqlite"))
        let found = try doctor()
        #expect(found.status == fault.status, "\(found.all)")
        #expect(found.failed[fault.check] != nil, "\(found.all)")
        #expect(files.contents(atPath: path("trueup.sqlite")) == before)
        if fault == .databaseIsLocked {
            let number = ProcessInfo.processInfo.processIdentifier
            #expect(found.failed["database"]?.contains("process \(number)") == true)
        }
    }

    @Test(arguments: RunFault.allCases)
    func `does not pass doctor`(fault: RunFault) async throws {
        #expect(try doctor().status == 0)
        switch fault {
        case .clockIsAhead: try await setServerClock(aheadSeconds: -3600)
        case .clockIsBehind: try await setServerClock(aheadSeconds: 7200)
        default: break
        }
        try expectRefused(provoking: fault)
        try await setServerClock(aheadSeconds: 0)
    }

    private func expectRefused(provoking fault: RunFault) throws {
        switch fault {
        case .databaseIsLocked:
            // Held here, while the run waits for it in vain.
            try DatabaseQueue(path: path("trueup.sqlite")).writeWithoutTransaction { db in
                try db.execute(sql: "BEGIN IMMEDIATE")
                defer { try? db.execute(sql: "ROLLBACK") }
                try expectRefused(fault)
            }
        case .runGoesOn: try whileLocked("trueup.sqlite-lock") { try expectRefused(fault) }
        case .reportsAreLocked: try whileLocked("reports/.lock") { try expectRefused(fault) }
        default:
            try provoke(fault)
            try expectRefused(fault)
        }
    }

    private func provoke(_ fault: RunFault) throws {
        switch fault {
        case .reportsAreAFile:
            try files.removeItem(atPath: path("reports"))
            try place.folder.write("in the way", to: "reports")
        case .reportsLeadNowhere:
            try files.removeItem(atPath: path("reports"))
            try files.createSymbolicLink(
                atPath: path("reports"), withDestinationPath: path("nowhere"))
        case .dayIsAFile:
            let names = try files.contentsOfDirectory(atPath: path("reports"))
            let day = try #require(names.first { $0.hasPrefix("20") })
            try files.removeItem(atPath: path("reports/" + day))
            try place.folder.write("in the way", to: "reports/" + day)
        case .latestIsInTheWay: try putFolder(at: "reports/latest")
        case .reportLockIsAFolder: try putFolder(at: "reports/.lock")
        case .lockIsAFolder: try putFolder(at: "trueup.sqlite-lock")
        case .quotaIsRefused:
            let soon = Int64(Date().timeIntervalSince1970 * 1000) + 3_600_000
            try place.sql(
                """
                INSERT OR REPLACE INTO trueup_quota_refusals
                VALUES ('\(place.simulator.ready.bundleID)', 'Production',
                    'subscription_statuses', \(soon), 0.5)
                """)
        case .keyIsOpen, .keyIsNone:
            let key = try String(contentsOfFile: place.simulator.ready.keyFile, encoding: .utf8)
            let copy = try place.folder.write(
                fault == .keyIsOpen ? key : "-----BEGIN PRIVATE KEY-----\nAAAA\n", to: "copy.p8")
            try files.setAttributes(
                [.posixPermissions: fault == .keyIsOpen ? 0o644 : 0o600], ofItemAtPath: copy)
            try writeApp(replacing: place.simulator.ready.keyFile, by: copy)
        case .keyIsRefused:
            try writeApp(
                replacing: place.simulator.ready.issuerID,
                by: "00000000-0000-0000-0000-000000000000")
        case .bundleIsWrong:
            try writeApp(replacing: place.simulator.ready.bundleID, by: "com.wrong")
            // No row is of that app: only the notification history is asked for.
            try place.writeJob("nightly", "max_duration: 10m")
        case .settingIsUnknown:
            try place.writeSettings(apps: [place.simulator.appYAML(extra: ["quota_shares: 1"])])
        case .settingsAreOpen:
            try files.setAttributes(
                [.posixPermissions: 0o666], ofItemAtPath: path("trueup.yaml"))
        case .jobIsUnknown: try place.writeJob("nightly", "max_duratoin: 4h")
        case .hookIsMissing:
            try place.writeJob(
                "nightly", "hooks: {before: [/nonexistent/may-run]}", steps: "[walk]")
        case .jobsAreMissing: try files.removeItem(atPath: path("jobs"))
        case .databaseIsForeign, .reportsAreAnothers:
            let settings = try place.folder.text("trueup.yaml")
            try place.folder.write(
                settings.replacingOccurrences(of: "trueup.sqlite", with: "other.sqlite"),
                to: "trueup.yaml")
            guard fault == .databaseIsForeign else {
                try #require(place.run("init", "--quiet").status == 0)
                return
            }
            try DatabaseQueue(path: path("other.sqlite")).write { db in
                try db.execute(sql: "CREATE TABLE theirs (id INTEGER)")
            }
        case .rowsAreUnconfigured:
            try place.sql(
                """
                UPDATE subscriptions SET bundle_id = 'com.example.stranger'
                WHERE original_transaction_id IN (
                    SELECT original_transaction_id FROM subscriptions
                    LIMIT (SELECT count(*) / 2 FROM subscriptions))
                """)
        case .databaseIsLocked, .runGoesOn, .reportsAreLocked, .clockIsAhead, .clockIsBehind: break
        }
    }

    private func putFolder(at name: String) throws {
        try? files.removeItem(atPath: path(name))
        try files.createDirectory(
            atPath: path(name) + "/something", withIntermediateDirectories: true)
    }

    private func writeApp(replacing text: String, by other: String) throws {
        try place.writeSettings(apps: [
            place.simulator.appYAML().replacingOccurrences(of: text, with: other)
        ])
    }

    private func whileLocked(_ name: String, _ body: () throws -> Void) throws {
        let descriptor = unsafe open(path(name), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        try #require(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        try body()
    }

    @Test func `leftovers of a killed run are no fault`() throws {
        let names = try files.contentsOfDirectory(atPath: path("reports"))
        let day = try #require(names.first { $0.hasPrefix("20") })
        try putFolder(at: "reports/\(day)/20261120T031704Z-7f3c9a.partial")
        try place.folder.write("", to: "reports/index.csv.partial")
        let found = try doctor()
        #expect(found.status == 0, "\(found.all)")
        #expect(try place.run("run", "nightly").status == 0)
    }

    @Test(arguments: [
        ("{command: [/nowhere/on-correction]}", Int32(78)),
        ("{command: [./jobs]}", 78),
        ("{command: [./trueup.yaml]}", 78),
        ("{url: \"http://127.0.0.1:9/x\", secret_env: NOT_SET}", 78),
        ("{url: \"http://127.0.0.1:9/x\", secret_file: trueup.yaml}", 77),
    ])
    func `nor does a receiver that could not be told`(tell: String, status: Int32) throws {
        let before = try place.folder.text("trueup.yaml")
        try place.folder.write(before + "tell: \(tell)\n", to: "trueup.yaml")
        let found = try doctor()
        #expect(found.status == status, "\(found.all)")
        #expect(found.failed["tell"] != nil, "\(found.all)")
    }

    @Test func `a folder for metrics that is not there is warned of`() throws {
        let before = try place.folder.text("trueup.yaml")
        try place.folder.write(before + "metrics: {directory: nowhere}\n", to: "trueup.yaml")
        let result = try place.run("doctor")
        #expect(result.status == 0, "\(result.output)")
        #expect(result.output.contains("nowhere takes no file"), "\(result.output)")
    }

    @Test func `local times among the rows are warned of`() throws {
        try place.sql(
            """
            UPDATE subscriptions SET expires_date = expires_date + 7200000;
            INSERT OR REPLACE INTO transactions (bundle_id, environment, transaction_id,
                original_transaction_id, expires_date)
            SELECT bundle_id, environment, latest_transaction_id, original_transaction_id,
                expires_date - 7200000
            FROM subscriptions WHERE latest_transaction_id IS NOT NULL;
            """)
        let result = try place.run("doctor", environment: ["TZ": "Africa/Cairo"])
        #expect(result.output.contains("is 2 h off the end"), "\(result.output)")
        #expect(result.output.contains("max_own_fault"), "\(result.output)")
    }
}
