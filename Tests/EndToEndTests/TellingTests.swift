import Foundation
import TestSupport
import Testing

/// Corrections are told to others: at least once, signed, and never at the cost of the run.
@Suite struct `Telling others` {
    static let secret = "a secret of the tests, 32 bytes."
    static let environment = ["TELL_SECRET": secret]
    /// Runs of the same table on several nights.
    static let nights = ["2026-12-01T03:17:00Z", "2026-12-01T03:37:00Z"]

    func workplace(tell: String, customers: Int = 120) throws -> Workplace {
        let simulator = try RunningSimulator([
            "--customers", "\(customers)", "--drift", "0.2", "--seed", "11",
        ])
        let place = try Workplace(on: simulator)
        let settings = try place.folder.text("trueup.yaml")
        try place.folder.write(settings + "tell:\n" + tell, to: "trueup.yaml")
        try #require(place.run("init").status == 0)
        let imported = try place.run("import", try #require(simulator.ready.tableFile))
        try #require(imported.status == 0, "\(imported.errors)")
        return place
    }

    func webhook(_ url: String, timeout: String = "10s") -> String {
        "  url: \(url)\n  secret_env: TELL_SECRET\n  timeout: \(timeout)\n"
    }

    func run(_ place: Workplace, now: String? = nil) throws -> BuiltExecutable.Result {
        guard let now else {
            return try place.run("run", "nightly", environment: Self.environment)
        }
        return try place.run("run", "nightly", "--now", now, environment: Self.environment)
    }

    private func tell(_ place: Workplace, _ arguments: String...) throws -> BuiltExecutable.Result {
        try BuiltExecutable("trueup").run(
            ["tell"] + arguments, in: place.folder.url, environment: Self.environment)
    }

    func outbox(_ place: Workplace) throws -> [String: Any] {
        let status = try place.run("status", "--json")
        let object = try JSONSerialization.jsonObject(with: Data(status.output.utf8))
        return try #require((object as? [String: Any])?["outbox"] as? [String: Any])
    }

    @Test(.timeLimit(.minutes(30)))
    func `a night tells each correction exactly once, the next night none`() throws {
        let receiver = try EventReceiver()
        let place = try workplace(tell: webhook(receiver.url))
        let first = try run(place)
        #expect(first.status == 2, "\(first.errors)")
        let corrections = try place.reportLines("corrections.jsonl")
        try #require(corrections.count > 10)
        #expect(
            first.errors.contains("delivered \(corrections.count) of \(corrections.count) events"))
        let messages = try receiver.received.map { try $0.message() }
        let told = messages.compactMap { $0["ledger_entry"] as? Int }
        #expect(told.sorted() == corrections.compactMap { $0["ledger_entry"] as? Int })
        let byEntry = Dictionary(grouping: messages) { $0["ledger_entry"] as? Int ?? 0 }
        for correction in corrections {
            let message = try #require(byEntry[correction["ledger_entry"] as? Int ?? 0]?.first)
            for member in ["ledger_hash", "evidence", "original_transaction_id", "run_id"] {
                #expect(message[member] as? String == correction[member] as? String)
            }
            #expect(message["after"] as? NSDictionary == correction["after"] as? NSDictionary)
            #expect(message["before"] as? NSDictionary == correction["before"] as? NSDictionary)
        }
        let names = Set(messages.compactMap { $0["event"] as? String })
        #expect(names.isSuperset(of: ["renewal", "expiration", "refund", "transfer"]))
        let keys = receiver.received.compactMap { $0.headers["idempotency-key"] }
        #expect(Set(keys).count == told.count)

        receiver.forget()
        let second = try run(place)
        #expect(second.status == 2, "\(second.errors)")
        #expect(receiver.received.isEmpty)
        #expect(!second.errors.contains("told"))
        #expect(try outbox(place)["told"] as? Int == corrections.count)
    }

    @Test(.timeLimit(.minutes(30)), arguments: [SIGINT, SIGTERM])
    func `a signal ends a delivery that waits for a command, and the events stay`(
        signal: Int32
    ) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(
            "#!/bin/sh\ntouch \(folder.url.path)/begun\nexec sleep 100\n", to: "on-correction")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        let place = try workplace(
            tell: "  command: [\(path)]\n  timeout: 30s\n", customers: 40)
        let begun = folder.url.path + "/begun"
        for command in [["run", "nightly"], ["tell"]] {
            let running = try BuiltExecutable("trueup").start(command, in: place.folder.url)
            while !FileManager.default.fileExists(atPath: begun), running.process.isRunning {
                usleep(20_000)
            }
            let asked = ContinuousClock.now
            running.send(signal: signal)
            let result = running.wait()
            #expect(asked.duration(to: .now) < .seconds(4), "\(command)")
            // A run had ended before: its report is published.
            #expect(result.status == (command[0] == "run" ? 0 : 3), "\(result.errors)")
            let outbox = try outbox(place)
            #expect(try #require(outbox["waiting"] as? Int) > 0)
            #expect(outbox["last_error"] is NSNull, "\(outbox)")
            try? FileManager.default.removeItem(atPath: begun)
        }
    }

    @Test(.timeLimit(.minutes(30)), .enabled(if: Peer.isThere))
    func `what is sent is signed, as another implementation sees it`() throws {
        let receiver = try EventReceiver()
        let place = try workplace(tell: webhook(receiver.url), customers: 40)
        _ = try run(place)
        let received = try #require(receiver.received.first)
        let header = try #require(received.headers["trueup-signature"])
        let time = try #require(header.split(separator: ",").first?.dropFirst(2))
        let age = try Date().timeIntervalSince1970 - #require(Double(time))
        #expect(abs(age) < 300)
        let signature = try Peer.signature(of: "\(time).\(received.body)", secret: Self.secret)
        #expect(header == "t=\(time),v1=\(signature)")
    }

    @Test(.timeLimit(.minutes(30)))
    func `a check tells nobody and queues nothing`() throws {
        let receiver = try EventReceiver()
        let place = try workplace(tell: webhook(receiver.url), customers: 40)
        // Without the secret, too: a check does not need it.
        #expect(try place.run("check", "nightly").status == 2)
        #expect(receiver.received.isEmpty)
        #expect(try outbox(place)["waiting"] as? Int == 0)
        // A run without it corrects, says that nobody is told, and leaves the events waiting.
        let run = try place.run("run", "nightly")
        #expect([0, 2].contains(run.status), "\(run.errors)")
        #expect(run.errors.contains("TELL_SECRET"), "\(run.errors)")
        #expect(try place.report("summary.txt").contains("TELL_SECRET"))
        #expect(receiver.received.isEmpty)
        let waiting = try #require(try outbox(place)["waiting"] as? Int)
        #expect(try waiting > 0 && waiting == place.reportLines("corrections.jsonl").count)
        #expect(try place.run("tell").status == 78)
        #expect(try tell(place).status == 0)
        #expect(receiver.received.count == waiting)
    }

    @Test(.timeLimit(.minutes(30)))
    func `a receiver that is down in one run is told by the next one, once it is due`() throws {
        let receiver = try EventReceiver()
        receiver.answer("503 Out")
        let place = try workplace(tell: webhook(receiver.url))
        let first = try run(place, now: Self.nights[0])
        #expect(first.status == 2, "\(first.errors)")
        let corrections = try place.reportLines("corrections.jsonl").count
        let warning = "warning: \(corrections) events wait: the receiver answered 503"
        #expect(first.errors.contains(warning))
        #expect(first.errors.contains("next attempt after 03:2"))
        #expect(receiver.received.count < 8)
        #expect(try outbox(place)["waiting"] as? Int == corrections)
        #expect(try place.run("status").output.contains("\(corrections) waiting"))
        let keys = Set(receiver.received.compactMap { $0.headers["idempotency-key"] })

        receiver.answer("200 OK")
        receiver.forget()
        let early = try tell(place, "--now", "2026-12-01T03:20:00Z")
        #expect(early.status == 0)
        #expect(receiver.received.isEmpty)
        let second = try run(place, now: Self.nights[1])
        #expect(second.errors.contains("delivered \(corrections) of \(corrections) events"))
        #expect(receiver.received.count == corrections)
        #expect(
            Set(receiver.received.compactMap { $0.headers["idempotency-key"] }).isSuperset(of: keys)
        )
    }

    @Test(.timeLimit(.minutes(30)))
    func `an event is given up after its sixth failure, kept, and tried again on demand`() throws {
        let receiver = try EventReceiver()
        receiver.answer("500 Oops")
        let place = try workplace(tell: webhook(receiver.url), customers: 120)
        // One correction alone, so that its own schedule is seen.
        let ids = try place.folder.write(
            try #require(
                try Planted(of: place.simulator).kinds.filter { $0.value == ["access_missing"] }
                    .keys.min()) + "\n", to: "ids")
        let run = try place.run(
            "run", "nightly", "--ids-file", ids, "--now", "2026-12-01T03:00:00Z",
            environment: Self.environment)
        #expect(run.errors.contains("1 event waits: the receiver answered 500"), "\(run.errors)")
        var tried = [receiver.received.count]
        for minute in ["04", "06", "10", "17", "30", "38"] {
            let status = try tell(place, "--now", "2026-12-01T03:\(minute):00Z").status
            #expect([0, 3].contains(status))
            tried.append(receiver.received.count)
        }
        // Due again after 5, then 10, then 20 minutes, each counted from the failure before.
        #expect(tried == [1, 1, 2, 2, 3, 3, 4])
        #expect(try tell(place, "--now", "2026-12-01T04:30:00Z").status == 3)
        #expect(receiver.received.count == 5)
        let last = try tell(place, "--now", "2026-12-01T06:30:00Z")
        #expect(last.status == 3)
        #expect(last.output.contains("1 event given up after 6 attempts"))
        #expect(try outbox(place)["given_up"] as? Int == 1)
        #expect(try tell(place, "--now", "2026-12-02T06:30:00Z").status == 0)
        #expect(receiver.received.count == 6)
        #expect(Set(receiver.received.map(\.body)).count == 1)

        receiver.answer("200 OK")
        let again = try tell(place, "--retry-given-up")
        #expect(again.status == 0)
        #expect(again.output == "delivered 1 of 1 event\n")
        #expect(try outbox(place)["given_up"] as? Int == 0)
    }

    @Test(.timeLimit(.minutes(30)))
    func `a receiver that hangs costs the run seconds, not its result`() throws {
        let receiver = try EventReceiver()
        receiver.hang()
        let place = try workplace(tell: webhook(receiver.url, timeout: "2s"))
        let undisturbed = try Workplace(on: place.simulator)
        try #require(undisturbed.run("init").status == 0)
        let table = try #require(place.simulator.ready.tableFile)
        try #require(undisturbed.run("import", table).status == 0)
        let plain = try undisturbed.run("run", "nightly")
        let began = Date()
        let told = try run(place)
        #expect(Date().timeIntervalSince(began) < 60)
        #expect(told.status == plain.status)
        #expect(told.errors.contains("warning: "))
        #expect(told.errors.contains("within 2000 ms"))
        #expect(
            try place.rows(without: ["signed_date"]) == undisturbed.rows(without: ["signed_date"]))
        #expect(try place.report("summary.json").isEmpty == false)
    }

    @Test(.timeLimit(.minutes(30)))
    func `killed between telling and noting, it tells again under the same key`() throws {
        let receiver = try EventReceiver()
        receiver.hang()
        let place = try workplace(tell: webhook(receiver.url, timeout: "30s"))
        let running = try BuiltExecutable("trueup").start(
            ["run", "nightly"], in: place.folder.url, environment: Self.environment)
        for _ in 0..<6000 where receiver.received.isEmpty { usleep(10_000) }
        running.send(signal: SIGKILL)
        #expect(running.wait().status == 137)
        let first = try #require(receiver.received.first)
        receiver.hang(false)
        let again = try tell(place)
        #expect(again.status == 0, "\(again.errors)")
        let same = receiver.received.filter {
            $0.headers["idempotency-key"] == first.headers["idempotency-key"]
        }
        #expect(same.count == 2)
        #expect(same.allSatisfy { $0.body == first.body })
        let entries = try place.reportLines("corrections.jsonl").count
        #expect(Set(receiver.received.map(\.body)).count == entries)
        #expect(try outbox(place)["waiting"] as? Int == 0)
    }

    @Test(.timeLimit(.minutes(30)))
    func `a command is told, one process per event, with nothing of ours`() throws {
        let folder = try TemporaryFolder()
        let path = folder.url.path
        let script = try folder.write(
            "#!/bin/sh\ncat >> \(path)/events\nenv >> \(path)/env\n"
                + "ls -l /proc/$$/fd >> \(path)/descriptors\n", to: "on-correction")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
        let place = try workplace(tell: "  command: [\(script)]\n", customers: 60)
        let night = try run(place)
        let corrections = try place.reportLines("corrections.jsonl").count
        #expect(night.errors.contains("delivered \(corrections) of \(corrections) events"))
        let lines = try folder.text("events").split(separator: "\n")
        #expect(lines.count == corrections)
        #expect(!(try folder.text("env").contains("TELL_SECRET")))
        let descriptors = try folder.text("descriptors")
        for file in ["sqlite", "lock", "reports", "socket:", "anon_inode"] {
            #expect(!descriptors.contains(file), "\(file) was handed on")
        }
    }
}

/// `openssl`, which knows nothing of this project.
private enum Peer {
    private static let program = "/usr/bin/openssl"

    static var isThere: Bool { FileManager.default.isExecutableFile(atPath: program) }

    static func signature(of text: String, secret: String) throws -> String {
        let folder = try TemporaryFolder()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [
            "dgst", "-sha256", "-hmac", secret, try folder.write(text, to: "signed"),
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let words = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        return String(try #require(words.last))
    }
}
