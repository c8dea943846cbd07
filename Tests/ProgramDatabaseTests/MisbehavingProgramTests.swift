import Foundation
import ProgramDatabase
import Subscriptions
import Synchronization
import TestSupport
import Testing

/// A store program that breaks the protocol, dies, lies or is silent.
@Suite(
    .enabled(if: ProgramFolder.pythonIsHere, "needs python3"), .timeLimit(.minutes(5))
) struct `A store program that misbehaves` {
    /// What becomes of one correction that is tried by such a program.
    enum Ending: Hashable, Sendable {
        case committed, stale, refused
        /// The program was lost over the write, and its entries show that it had committed.
        case found
        /// The same, and they show that it had not.
        case lost
        case unavailable, busy, schema, inconsistent
    }

    struct Way: Sendable, CustomTestStringConvertible {
        let name: String
        let ending: Ending
        /// A part of the message.
        let words: String

        init(_ name: String, _ ending: Ending, _ words: String = "") {
            self.name = name
            self.ending = ending
            self.words = words
        }

        var testDescription: String { name }
    }

    static let ways: [Way] = [
        Way("none", .committed),
        Way("start:exit", .unavailable, "ended with status 3"),
        Way("start:chatter", .schema),
        Way("start:flood", .committed),
        Way("hello:dies", .unavailable, "was ended by signal 9"),
        Way("hello:exits", .unavailable, "ended with status 3"),
        Way("hello:silent", .unavailable, "store.timeout"),
        Way("hello:closes", .unavailable, "closed its standard output"),
        Way("hello:garbage", .schema, "not JSON"),
        Way("hello:empty", .schema, "not JSON"),
        Way("hello:list", .schema, "not a JSON object"),
        Way("hello:half", .unavailable, "ended with status 0"),
        Way("hello:two-lines", .schema, "more than one line"),
        Way("hello:twice-member", .schema, "one member twice"),
        Way("hello:latin-1", .schema, "not JSON in UTF-8"),
        Way("hello:mark", .schema, "not JSON"),
        Way("hello:long", .schema, "16 MiB"),
        Way("hello:endless", .schema, "16 MiB"),
        Way("hello:deep", .schema, "nested too deeply"),
        Way("hello:number", .schema, "not JSON"),
        Way("hello:no-id", .schema, "without the id"),
        Way("hello:other-id", .schema, "answered the request 77"),
        Way("hello:text-id", .schema, "without the id"),
        Way("hello:protocol-2", .schema, "protocol 1"),
        Way("hello:no-columns", .schema, "list as columns"),
        Way("hello:columns-text", .schema, "list as columns"),
        Way("hello:column-unknown", .schema, "colour"),
        Way("hello:column-twice", .schema, "status twice"),
        Way("hello:no-status", .schema, "column status"),
        Way("hello:name-control", .schema, "control characters"),
        Way("hello:name-long", .schema, "longer than 200 bytes"),
        Way("hello:unit-0", .schema, "unit"),
        Way("hello:unit-text", .schema, "unit"),
        Way("hello:time-unit", .schema, "time_unit"),
        Way("hello:inserts-text", .schema, "inserts"),
        Way("hello:error-word", .schema, "not unavailable, busy, config or internal"),
        Way("hello:error-unavailable", .unavailable, "error unavailable"),
        Way("hello:error-busy", .busy, "error busy"),
        Way("hello:error-config", .schema, "error config"),
        Way("hello:error-internal", .inconsistent, "The fault is in that program"),
        Way("page:dies", .unavailable, "`page`"),
        Way("page:silent", .unavailable, "store.timeout"),
        Way("page:late", .unavailable, "store.timeout"),
        Way("page:garbage", .unavailable, "not JSON"),
        Way("page:half", .unavailable, "ended with status 0"),
        Way("page:two-lines", .unavailable, "more than one line"),
        Way("page:latin-1", .unavailable, "UTF-8"),
        Way("page:endless", .unavailable, "16 MiB"),
        Way("page:other-id", .unavailable, "answered the request"),
        Way("page:same-cursor", .unavailable, "same cursor twice"),
        Way("page:empty-pages", .unavailable, "pages without a row"),
        Way("page:too-many", .unavailable, "were asked for"),
        Way("page:row-twice", .unavailable, "twice in one answer"),
        Way("page:no-key", .unavailable, "without a key"),
        Way("page:key-number", .unavailable, "original_transaction_id"),
        Way("page:key-nul", .unavailable, "NUL"),
        Way("page:key-empty", .unavailable, "empty text"),
        Way("page:row-text", .unavailable, "a row that is not a JSON object"),
        Way("page:column-unknown", .unavailable, "colour"),
        Way("page:unreadable-unknown", .unavailable, "colour"),
        Way("page:no-version", .unavailable, "as version"),
        Way("page:values-list", .unavailable, "values of a row"),
        Way("page:next-number", .unavailable, "next"),
        Way("page:no-rows", .unavailable, "list as rows"),
        Way("page:odd-values", .committed),
        Way("page:error-busy", .busy, "error busy"),
        Way("page:error-internal", .inconsistent, "The fault is in that program"),
        Way("entries:dies", .unavailable, "`entries`"),
        Way("entries:disorder", .unavailable, "order of their numbers"),
        Way("entries:too-many", .unavailable, "were asked for"),
        Way("entries:below", .unavailable, "from 1 as number"),
        Way("entries:other-text", .unavailable, "not the entry it was given"),
        Way("entries:text-list", .unavailable, "without a text as text"),
        Way("entries:no-list", .unavailable, "list as entries"),
        Way("write:dies-before", .lost),
        Way("write:dies-after", .found),
        Way("write:half", .found),
        Way("write:silent", .found),
        Way("write:garbage", .found),
        Way("write:garbage-before", .lost),
        Way("write:two-lines", .found),
        Way("write:unknown-there", .found),
        Way("write:unknown-lost", .lost),
        Way("write:lie", .unavailable, "its entries lack it"),
        Way("write:stale", .stale),
        Way("write:refused", .refused),
        Way("write:error-busy", .busy, "error busy"),
        Way("write:not-committed", .found),
        Way("write:committed-maybe", .found),
        Way("write:no-committed", .found),
        Way("write:no-fates", .found),
        Way("write:two-fates", .found),
        Way("write:no-fate", .found),
        Way("write:fate-both", .found),
        Way("write:fate-odd", .found),
        Way("write:fate-text", .found),
        Way("again:dies", .unavailable, "ended with status 4"),
        Way("again:other", .schema, "something else of itself"),
    ]

    @Test(arguments: ways)
    func `ends with a clear error, and no correction counts that is not committed`(
        way: Way
    ) throws {
        let folder = try ProgramFolder()
        let (ending, message) = folder.correction(by: way.name)
        #expect(ending == way.ending, "\(way.name): \(message)")
        #expect(way.words.isEmpty || message.contains(way.words), "\(way.name): \(message)")
        #expect(message.isEmpty || message.contains("python3"), "\(message)")
        let written = try folder.entriesWritten()
        switch ending {
        case .committed, .found: #expect(written == [1], "\(way.name)")
        case .stale, .refused, .lost: #expect(written.isEmpty, "\(way.name)")
        case .unavailable, .busy, .schema, .inconsistent: break
        }
    }

    @Test func `that is silent over a write does not get a second one`() throws {
        let folder = try ProgramFolder()
        let company = try ProgramCompany(folder.command("write:silent"), writes: true)
        #expect(try folder.tryCorrection(in: company) == .found)
        #expect(throws: StoreError.self) { try company.begin() }
    }

    @Test func `that is not there is named`() throws {
        #expect {
            _ = try ProgramCompany(ProgramCommand(url: "program:./no-such-program"))
        } throws: { error in
            guard case StoreError.unavailable(let words) = error else { return false }
            return words.contains("`./no-such-program` could not be started: No such file")
        }
    }

    @Test func `writes at most a thousand lines of a kilobyte into a log`() throws {
        let folder = try ProgramFolder()
        let lines = Mutex<[String]>([])
        let company = try ProgramCompany(folder.command("start:flood"), writes: true)
        company.hear { line in lines.withLock { $0.append(line) } }
        _ = try company.rows(after: nil, limit: 10)
        company.end()
        let heard = lines.withLock(\.self)
        #expect(heard.first == "started")
        #expect((900...1001).contains(heard.count))
        #expect(heard.allSatisfy { $0.utf8.count <= 1024 })
    }

    @Test func `has values without their form as unreadable ones`() throws {
        let folder = try ProgramFolder()
        let company = try ProgramCompany(folder.command("page:odd-values"))
        let row = try #require(try company.rows(after: nil, limit: 10).rows.first)
        #expect(row.unreadable == [.status: "one", .expiresDate: "1.5"])
        #expect(row.values.isEmpty)
    }
}

/// A folder in which `misbehaving.py` keeps its rows.
struct ProgramFolder {
    static let pythonIsHere = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", "1"]
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    private let folder: TemporaryFolder
    private static let program =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Programs/misbehaving.py").path

    init() throws { folder = try TemporaryFolder() }

    func command(_ way: String) throws -> ProgramCommand {
        var command = try ProgramCommand(url: "program:python3 '\(Self.program)' state.json \(way)")
        command.directory = folder.url.path
        command.environment = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin"]
        // Long enough for a program on a busy machine.
        let isWaitedFor = ["silent", "late", "closes"].contains { way.hasSuffix($0) }
        command.timeoutMilliseconds = isWaitedFor ? 2000 : 60_000
        return command
    }

    func entriesWritten() throws -> [Int] {
        guard let text = try? folder.text("state.json") else { return [] }
        let state = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        return (state?["entries"] as? [[String: Any]] ?? []).compactMap { $0["number"] as? Int }
    }

    /// Greets a program, reads all its rows and corrects one of them.
    func correction(
        by way: String
    ) -> (ending: `A store program that misbehaves`.Ending, message: String) {
        do throws(StoreError) {
            let command: ProgramCommand
            do { command = try self.command(way) } catch { return (.schema, "\(error)") }
            let company = try ProgramCompany(command, writes: true)
            defer { company.end() }
            var cursor: CompanyCursor?
            repeat {
                cursor = try company.rows(after: cursor, limit: 1000).next
            } while cursor != nil
            return (try tryCorrection(in: company), "")
        } catch {
            return switch error {
            case .unavailable(let words): (.unavailable, words)
            case .busy(let words): (.busy, words)
            case .schema(let words): (.schema, words)
            case .inconsistent(let words): (.inconsistent, words)
            case .notWritten(let words), .stopped(let words): (.inconsistent, words)
            }
        }
    }

    func tryCorrection(
        in company: ProgramCompany
    ) throws(StoreError) -> `A store program that misbehaves`.Ending {
        let key = SubscriptionKey(
            bundleID: "com.example.app", environment: "Production", originalTransactionID: "3")
        try company.begin()
        _ = try company.entries(after: 0, limit: 5)
        _ = try company.write(
            CompanyChange(
                action: .update, key: key, before: [.status: .integer(1)],
                after: [.status: .integer(2)], version: 1))
        try company.append(
            CompanyLedgerEntry(
                number: 1, digest: "abc", run: "run",
                content: #"{"ledger_entry":1,"ledger_hash":"abc"}"#,
                writtenAt: Timestamp(unixMilliseconds: 0)))
        switch try company.commit() {
        case .committed: return .committed
        case .stale: return .stale
        case .refused: return .refused
        case .unknown:
            return try company.entries(after: 0, limit: 1).first?.digest == "abc" ? .found : .lost
        }
    }
}
