package import Subscriptions

/// A command of the company's: one process per event, which reads it from standard input and
/// ends with 0 once it has it.
package struct CommandDestination: EventDestination {
    package let timeout: Duration
    /// A script rarely expects a second one of itself.
    package let concurrency = 1
    private let arguments: [String]
    private let environment: [String: String]
    private let shows: @Sendable (String) -> Void

    /// Variables that a command may need to find its way; none of them is ours.
    private static let inherited: Set<String> = ["HOME", "LANG", "PATH", "TMPDIR", "TZ", "USER"]
    private static let standardPath = "/usr/local/bin:/usr/bin:/bin"

    /// - Parameters:
    ///   - arguments: the program's path and its arguments; no shell reads them.
    ///   - environment: of this process; only a handful of harmless variables is handed on.
    ///   - timeout: after it, the command and all that it started is ended.
    ///   - shows: is handed the beginning of what a command prints.
    package init(
        arguments: [String], environment: [String: String], timeout: Duration,
        shows: @escaping @Sendable (String) -> Void
    ) {
        self.arguments = arguments
        self.environment = Self.handedOn(environment)
        self.timeout = timeout
        self.shows = shows
    }

    /// The variables of this process that a program of the company's gets; it always finds its way.
    static func handedOn(_ environment: [String: String]) -> [String: String] {
        var handedOn = environment.filter { inherited.contains($0.key) }
        handedOn["PATH"] = handedOn["PATH"] ?? standardPath
        return handedOn
    }

    package func deliver(_ event: OutboxEvent) async -> DeliveryAnswer {
        var environment = environment
        environment["TRUEUP_EVENT"] = event.event
        environment["TRUEUP_IDEMPOTENCY_KEY"] = event.idempotencyKey
        let child = ChildProcess(
            arguments: arguments, environment: environment,
            input: Array((event.body + "\n").utf8), timeout: timeout)
        let result = await child.run()
        if !result.output.isEmpty { shows(result.output) }
        switch result.end {
        case .exited(0): return .accepted
        case .exited(let status): return .failed("the command ended with status \(status)")
        case .signalled(let number): return .failed("the command was ended by signal \(number)")
        case .timedOut:
            return .failed(
                "the command took longer than \(timeout.components.seconds) s and was ended")
        case .notStarted(let reason):
            return .failed("the command could not be started: \(reason)")
        }
    }
}
