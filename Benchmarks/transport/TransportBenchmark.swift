import Glibc
import HTTPTransport
import Synchronization

/// Fetches one document many times through the transport, and says how long the pauses between two
/// answers were.
///
/// A pause is a stall: the server of `measure` answers at once.
@main struct TransportBenchmark {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 4, let answers = Int(arguments[2]),
            let inFlight = Int(arguments[3])
        else {
            print("usage: transport-benchmark URL CA_FILE ANSWERS IN_FLIGHT [LONGEST_WAIT_MS]")
            exit(64)
        }
        var settings = CurlTransport.Settings()
        settings.caFile = arguments[1]
        if arguments.count > 4, let wait = Int(arguments[4]) {
            settings.longestWaitInFlightMilliseconds = wait
        }
        let transport = try CurlTransport(settings)
        let pauses = PauseWatch()
        let cpuBefore = processorSeconds()
        let start = ContinuousClock.now
        let failures = try await fetch(
            arguments[0], answers: answers, inFlight: inFlight, through: transport, pauses)
        let seconds = start.duration(to: .now) / .seconds(1)
        let cpu = processorSeconds() - cpuBefore
        print(
            "answers \(answers) failures \(failures) seconds \(rounded(seconds))"
                + " processor_us_per_answer \(rounded(cpu * 1e6 / Double(answers)))"
                + " looks \(transport.lookCount) longest_pause_ms \(pauses.longestMilliseconds)"
                + " pauses_over_1_s \(pauses.overOneSecond)")
        await transport.shutdown()
    }

    /// Page by page, as a run asks: at the end of each page few requests are left in flight.
    private static func fetch(
        _ url: String, answers: Int, inFlight: Int, through transport: CurlTransport,
        _ pauses: PauseWatch
    ) async throws -> Int {
        let page = 256
        var failures = 0
        for start in stride(from: 0, to: answers, by: page) {
            let count = min(page, answers - start)
            failures += await withTaskGroup(of: Bool.self) { group in
                var failed = 0
                for number in 0..<count {
                    if number >= inFlight, await group.next() == false { failed += 1 }
                    group.addTask {
                        let response = try? await transport.send(
                            HTTPRequest(method: "GET", url: url))
                        pauses.answerCame()
                        return response?.status == 200
                    }
                }
                for await isGood in group where !isGood { failed += 1 }
                return failed
            }
        }
        return failures
    }

    private static func processorSeconds() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func rounded(_ value: Double) -> Double { (value * 10).rounded() / 10 }
}

/// Remembers the longest time between two answers.
final class PauseWatch: Sendable {
    private struct State {
        var last: ContinuousClock.Instant = .now
        var longest: Duration = .zero
        var overOneSecond = 0
    }

    private let state = Mutex(State())

    func answerCame() {
        let now = ContinuousClock.now
        state.withLock { state in
            let pause = state.last.duration(to: now)
            state.last = now
            state.longest = max(state.longest, pause)
            if pause > .seconds(1) { state.overOneSecond += 1 }
        }
    }

    var longestMilliseconds: Int { state.withLock { Int($0.longest / .milliseconds(1)) } }

    var overOneSecond: Int { state.withLock { $0.overOneSecond } }
}
