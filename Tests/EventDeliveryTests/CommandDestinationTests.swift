import EventDelivery
import Foundation
import Subscriptions
import Synchronization
import TestSupport
import Testing

@Suite struct `A command` {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        signal(SIGPIPE, SIG_IGN)
    }

    private func event(body: String = "{\"event\":\"renewal\"}") -> OutboxEvent {
        OutboxEvent(
            ledgerEntry: 7, idempotencyKey: "0a1b", event: "renewal",
            subscription: SubscriptionKey(
                bundleID: "app", environment: "Production", originalTransactionID: "1"),
            body: body, attempts: 0)
    }

    /// Tells an event to a shell script that stands in a file.
    private func tell(
        _ script: String, arguments: [String] = [], environment: [String: String] = [:],
        timeout: Duration = .seconds(20), body: String = "{\"event\":\"renewal\"}",
        shows: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> DeliveryAnswer {
        let path = try folder.write("#!/bin/sh\n" + script + "\n", to: "on-correction")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        return await CommandDestination(
            arguments: [path] + arguments, environment: environment, timeout: timeout,
            shows: shows
        ).deliver(event(body: body))
    }

    private func text(_ name: String) throws -> String { try folder.text(name) }

    private var path: String { folder.url.path }

    @Test func `reads the event, as it is, with its arguments as they are`() async throws {
        let answer = try await tell(
            "cat > \(path)/body; printf '%s|' \"$@\" > \(path)/arguments",
            arguments: ["--flag", "two words; $(touch x) *"])
        #expect(answer == .accepted)
        #expect(try text("body") == "{\"event\":\"renewal\"}\n")
        #expect(try text("arguments") == "--flag|two words; $(touch x) *|")
    }

    @Test func `has two seconds to end once the delivery is cancelled`() async throws {
        let begun = ContinuousClock.now
        let telling = Task {
            try await tell(
                "trap 'sleep 0.5; echo tidied > \(path)/end; exit 1' TERM; touch \(path)/begun; "
                    + "while :; do sleep 0.1; done")
        }
        while !FileManager.default.fileExists(atPath: path + "/begun"), begun.isRecent {
            try await Task.sleep(for: .milliseconds(20))
        }
        telling.cancel()
        #expect(try await telling.value != .accepted)
        #expect(begun.isRecent)
        #expect(try text("end") == "tidied\n")
    }

    @Test func `reads a message larger than any pipe holds`() async throws {
        let body = String(repeating: "x", count: 1_000_000)
        #expect(try await tell("wc -c > \(path)/count", body: body) == .accepted)
        #expect(try text("count").filter(\.isNumber) == "1000001")
    }

    @Test func `may leave the event unread`() async throws {
        let body = String(repeating: "x", count: 1_000_000)
        let answer = try await tell("exit 0", body: body)
        #expect(answer == .accepted)
    }

    @Test func `has not got the event when it ends with anything but 0`() async throws {
        #expect(try await tell("exit 7") == .failed("the command ended with status 7"))
        #expect(try await tell("kill -9 $$") == .failed("the command was ended by signal 9"))
    }

    @Test func `gets few variables, and none of ours`() async throws {
        let answer = try await tell(
            "env > \(path)/env",
            environment: [
                "TRUEUP_TELL_SECRET": "s3cret", "APP_STORE_KEY": "-----BEGIN", "HOME": "/home/x",
                "LD_PRELOAD": "/tmp/x.so",
            ])
        #expect(answer == .accepted)
        let variables = try text("env").split(separator: "\n").map {
            String($0.prefix { $0 != "=" })
        }
        // The shell adds the last ones itself.
        #expect(
            Set(variables).subtracting(["PWD", "SHLVL", "_", "OLDPWD"]) == [
                "HOME", "PATH", "TRUEUP_EVENT", "TRUEUP_IDEMPOTENCY_KEY",
            ])
        #expect(try text("env").contains("TRUEUP_IDEMPOTENCY_KEY=0a1b\n"))
    }

    @Test func `is ended with all that it started when its time is up`() async throws {
        let answer = try await tell(
            "trap '' TERM; sh -c 'echo $$ > \(path)/child; trap \"\" TERM; sleep 600' & sleep 600; "
                + "sleep 600",
            timeout: .seconds(1))
        #expect(answer == .failed("the command took longer than 1 s and was ended"))
        let child = try #require(Int32(try text("child").filter(\.isNumber)))
        // The rest of the group is taken over, and up, by the system's first process.
        for _ in 0..<500 where Self.isRunning(child) { usleep(10_000) }
        #expect(!Self.isRunning(child))
    }

    @Test func `leaves nothing of its group behind, whoever of it ended first`() async throws {
        // The shell ends when it is asked to; what it started does not.
        let answer = try await tell(
            "sh -c 'trap \"\" TERM; echo $$ > \(path)/child; sleep 600' & sleep 600",
            timeout: .seconds(2))
        #expect(answer == .failed("the command took longer than 2 s and was ended"))
        let child = try #require(Int32(try text("child").filter(\.isNumber)))
        for _ in 0..<500 where Self.isRunning(child) { usleep(10_000) }
        #expect(!Self.isRunning(child))
    }

    @Test func `is ended when its time is up after it closed its streams`() async throws {
        let answer = try await tell("exec <&- >&- 2>&-; sleep 600", timeout: .seconds(1))
        #expect(answer == .failed("the command took longer than 1 s and was ended"))
    }

    @Test(arguments: ["sleep 600", "yes"])
    func `is not waited for by what it left running`(command: String) async throws {
        let began = ContinuousClock.now
        let answer = try await tell(
            "\(command) & echo $! > \(path)/child; exit 0", timeout: .seconds(300))
        let child = Int32(try text("child").filter(\.isNumber))
        if let child { kill(child, SIGKILL) }
        #expect(answer == .accepted)
        #expect(ContinuousClock.now - began < .seconds(300))
    }

    @Test func `inherits no descriptor but its three streams`() async throws {
        // As a library may have left one open: it is not marked to be closed.
        let descriptor = fcntl(STDERR_FILENO, F_DUPFD, 100)
        try #require(descriptor >= 100)
        defer { close(descriptor) }
        #expect(try await tell("test ! -e /proc/self/fd/\(descriptor)") == .accepted)
    }

    @Test func `that ends when asked to is not told that it has the event`() async throws {
        let answer = try await tell(
            "trap 'echo asked > \(path)/asked; exit 0' TERM; sleep 600 & wait",
            timeout: .seconds(1))
        #expect(answer == .failed("the command took longer than 1 s and was ended"))
        #expect(try text("asked") == "asked\n")
    }

    @Test func `may print without end, and only its beginning is kept`() async throws {
        let shown = Mutex("")
        let answer = try await tell(
            "echo first; i=0; while [ $i -lt 20000 ]; do echo 'more and more'; i=$((i+1)); done",
            shows: { text in shown.withLock { $0 += text } })
        #expect(answer == .accepted)
        let text = shown.withLock { $0 }
        #expect(text.hasPrefix("first\n"))
        #expect(text.utf8.count == 1024)
    }

    @Test func `hears signals as every program does`() async throws {
        signal(SIGINT, SIG_IGN)
        defer { signal(SIGINT, SIG_DFL) }
        let answer = try await tell("kill -INT $$; sleep 1; exit 0")
        #expect(answer == .failed("the command was ended by signal 2"))
    }

    @Test func `that cannot be started says why`() async throws {
        let answer = await CommandDestination(
            arguments: [path + "/nothing"], environment: [:], timeout: .seconds(5),
            shows: { _ in }
        ).deliver(event())
        #expect(
            answer == .failed("the command could not be started: No such file or directory"))
    }

    private static func isRunning(_ process: Int32) -> Bool {
        // A zombie is not running any more.
        guard
            let status = try? String(
                contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        else { return false }
        return !status.contains(") Z ")
    }
}

extension ContinuousClock.Instant {
    /// Whether it was long before a command's time is up.
    fileprivate var isRecent: Bool { duration(to: .now) < .seconds(15) }
}
