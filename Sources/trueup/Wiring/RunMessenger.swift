import EventDelivery
import Glibc
import HTTPTransport
import ReconciliationRun
import Reports
import SubscriptionStore
import Subscriptions

/// Sends the message of a run, once it has ended.
///
/// None of it changes a run: each receiver has a few seconds and is tried once, and what could not
/// be reached is said in a warning. In a rehearsal only this machine gets it: by a webhook on it,
/// or by a program that the settings name in place of the usual sendmail.
struct RunMessenger {
    private let settings: MessageSettings
    private let isRehearsal: Bool
    private let invocation: Invocation

    /// How long a receiver may take; both get it at once.
    private static let limit = Duration.seconds(5)

    /// - Parameters:
    ///   - settings: The receivers, and whether an app is rehearsed with.
    ///   - invocation: Variables and clock.
    init(_ settings: Settings, in invocation: Invocation) {
        self.settings = settings.message
        isRehearsal = settings.apps.contains { $0.endpoint.isLoopback }
        self.invocation = invocation
    }

    /// Whether a run that needs attention, or one that does not, sends a message.
    private func isSent(isWell: Bool) -> Bool {
        switch settings.occasion {
        case .problems: !isWell
        case .always: true
        case .never: false
        }
    }

    /// Sends the message to every receiver.
    ///
    /// - Parameters:
    ///   - message: Of the run.
    ///   - isWell: Whether the run needs no attention.
    /// - Returns: Who could not be told, in sentences.
    func send(_ message: RunMessage, isWell: Bool) async -> [String] {
        guard isSent(isWell: isWell) else { return [] }
        let (now, environment) = (invocation.now(), invocation.environment)
        let (settings, program) = (settings, mailProgram)
        var problems = keptFromRehearsal
        var post: Post?
        do {
            post = try self.post()
        } catch {
            problems.append(
                "The message about this run was not posted: \(ErrorReport(error).message)")
        }
        async let posted = Self.send(message, by: post, at: now)
        async let mailed = Self.send(message, by: program, environment, settings, at: now)
        problems += [await posted, await mailed].compactMap(\.self)
        return problems
    }

    /// Finds what would prevent a delivery, and delivers nothing.
    ///
    /// - Throws: 77 or 78, with what to do.
    func check() throws {
        _ = try post()
        guard let mailProgram else { return }
        try FileSystemFacts.refuseWhatCannotRun(mailProgram, key: "message.sendmail")
    }

    /// The receivers in a few words.
    var description: String {
        let url = (try? post()).flatMap { $0?.url.description }
        let receivers = [url, mailProgram.map { "mail to \(settings.recipients.count) by \($0)" }]
            .compactMap(\.self)
        return receivers.isEmpty ? "no receiver" : receivers.joined(separator: ", ")
    }

    /// The receivers that a rehearsal leaves out, in sentences.
    private var keptFromRehearsal: [String] {
        guard isRehearsal else { return [] }
        var sentences: [String] = []
        if let url = try? url(), !url.isLoopback {
            sentences.append(
                "The message about this run was not posted to \(url). An app uses a server on this "
                    + "machine, so this is a rehearsal: it calls only a webhook on this machine."
            )
        }
        if !settings.recipients.isEmpty, mailProgram == nil {
            sentences.append(
                "The message about this run was not mailed. An app uses a server on this machine, so "
                    + "this is a rehearsal: it sends mail only by a program that message.sendmail names."
            )
        }
        return sentences
    }

    // MARK: The webhook

    private typealias Post = (url: WebhookURL, signature: WebhookSignature?)

    /// `nil` where none is configured.
    private func url() throws(ConfigurationError) -> WebhookURL? {
        guard let name = settings.webhookVariable else { return settings.webhook }
        guard let text = invocation.environment[name], !text.isEmpty else {
            throw ConfigurationError(
                file: "environment", key: name,
                problem: "is not set, but message.webhook_env names it",
                suggestion: "set it to the address of the webhook")
        }
        return try WebhookURL(SettingsValue(text, ofVariable: name))
    }

    /// `nil` where none is configured, or a rehearsal may not use it.
    private func post() throws(ConfigurationError) -> Post? {
        guard let url = try url(), url.isLoopback || !isRehearsal else { return nil }
        let signature = try settings.secret.map { source throws(ConfigurationError) in
            try source.signature(ofSection: "message", invocation.environment)
        }
        return (url, signature)
    }

    private static func send(
        _ message: RunMessage, by post: Post?, at now: Timestamp
    ) async -> String? {
        guard let post else { return nil }
        // Its path is a secret: only the origin is shown.
        let failed = "The webhook \(post.url) did not accept the message about this run: "
        let body = Array(message.json.rendered.utf8)
        var request = HTTPRequest(
            method: "POST", url: post.url.text,
            headers: [("Content-Type", "application/json")], body: body)
        if let signature = post.signature {
            request.headers.append(
                (
                    "Trueup-Signature",
                    signature.header(for: body, unixSeconds: now.unixMilliseconds / 1000)
                ))
        }
        guard let transport = try? CurlTransport(toReceiverWithin: limit) else {
            return failed + "no connection could be prepared"
        }
        var problem: String?
        do throws(HTTPTransportError) {
            let status = try await transport.send(request).status
            if !(200..<300).contains(status) { problem = failed + "it answered \(status)" }
        } catch {
            problem = failed + "\(error)"
        }
        await transport.shutdown()
        return problem
    }

    // MARK: The mail

    /// The program that mails; `nil` where no address gets mail, or a rehearsal would send it by the
    /// usual way.
    private var mailProgram: String? {
        guard !settings.recipients.isEmpty else { return nil }
        return settings.sendmail ?? (isRehearsal ? nil : MessageSettings.usualSendmail)
    }

    private static func send(
        _ message: RunMessage, by program: String?, _ environment: [String: String],
        _ settings: MessageSettings, at now: Timestamp
    ) async -> String? {
        guard let program else { return nil }
        let sendmail = Sendmail(path: program, environment: environment, timeout: limit)
        let problem = await sendmail.send(
            Mail(
                sender: settings.sender, recipients: settings.recipients,
                subject: message.subject, text: message.text, date: now))
        return problem.map { "The message about this run was not mailed by \(program): \($0)" }
    }
}

extension CurlTransport {
    /// For a receiver of whose answer only the status is read.
    fileprivate convenience init(toReceiverWithin limit: Duration) throws(CommandFailure) {
        try self.init(caFile: nil, proxy: nil, concerning: "message") { limits in
            limits.totalTimeoutMilliseconds = Int(limit / .milliseconds(1))
            limits.connectTimeoutMilliseconds = limits.totalTimeoutMilliseconds
            limits.bodyLimitBytes = 1 << 20
        }
    }
}

extension RunSession {
    /// Returns the message to people about the run, also where it left no report.
    func message(
        of ending: Result<FinishedReport, any Error>, writtenIn ledger: SQLiteStore?
    ) -> RunMessage {
        switch ending {
        case .success(let report):
            return RunMessage(
                report.summary, reportPath: FileSystemFacts.realPath(report.path),
                link: run.settings.message.link)
        case .failure(let error):
            let report = ErrorReport(error)
            return RunMessage(
                ofJob: run.header.job, on: run.header.host, endedWith: report.status,
                reason: report.message,
                apps: run.isWholeRun ? run.header.appsAlone : [],
                unfinished: ledger.map(unfinished),
                nextCommand: common.command("doctor"))
        }
    }

    /// The account of a run that may have written to rows, and leaves no report.
    ///
    /// A correction in a table of the company's own may be committed there before the ledger has
    /// it, so their number is not known then.
    private func unfinished(ledger: SQLiteStore) -> RunMessage.Unfinished {
        let runID = run.header.runID
        let isOwnTable = run.settings.company.table != nil
        return RunMessage.Unfinished(
            header: run.header,
            corrections: isOwnTable ? nil : try? ledger.corrections(writtenByRun: runID),
            inspection: common.command("undo", runID))
    }

    /// Tells people of a whole run, of all apps or of a worker's; a person who starts another run
    /// sees how it ends.
    func send(_ message: RunMessage) async {
        guard run.isWholeRun else { return }
        let messenger = RunMessenger(run.settings, in: invocation)
        for problem in await messenger.send(message, isWell: run.isWell(message.status)) {
            warn(problem)
        }
    }
}

/// Delivers events to the receiver that the settings name.
struct EventNotifier {
    /// The longest time that a run spends on it: its report is published already, and people wait
    /// for its end.
    static let budgetOfRun = Duration.seconds(60)

    private let destination: any EventDestination
    private let transport: CurlTransport?

    /// - Parameters:
    ///   - settings: the receiver.
    ///   - isVerbose: whether what a command prints is shown.
    ///   - invocation: variables of this process, and the clock by which a receiver checks the age
    ///     of a signature; never a rehearsal's.
    /// - Throws: 77 or 78 for a secret, a root or a command that cannot be used.
    init(_ settings: NotifySettings, isVerbose: Bool, in invocation: Invocation) throws {
        let timeout = Duration.milliseconds(settings.timeoutMilliseconds)
        guard let url = settings.url, let source = settings.secret else {
            let words = settings.command
            try FileSystemFacts.refuseWhatCannotRun(words[0], key: "tell.command")
            transport = nil
            destination = CommandDestination(
                arguments: words, environment: invocation.environment, timeout: timeout,
                shows: { text in
                    guard isVerbose else { return }
                    // A command may write several lines, and colours.
                    let end = text.hasSuffix("\n") ? "" : "\n"
                    writeToStandardError(PlainText.ofLines(text) + end)
                })
            return
        }
        let signature = try source.signature(ofSection: "tell", invocation.environment)
        let transport = try CurlTransport(
            caFile: settings.caFile, proxy: nil, concerning: "tell"
        ) { limits in
            limits.totalTimeoutMilliseconds = Int(settings.timeoutMilliseconds)
            limits.connectTimeoutMilliseconds = min(
                limits.connectTimeoutMilliseconds, limits.totalTimeoutMilliseconds)
            // What a receiver answers is not read, beyond its status.
            limits.bodyLimitBytes = 1 << 20
        }
        self.transport = transport
        destination = WebhookDestination(
            url: url.text, signature: signature, transport: transport, timeout: timeout,
            wallClock: invocation.now)
    }

    /// Delivers what is due; one process at a time does so for a database.
    ///
    /// - Parameters:
    ///   - store: what waits, and where the outcome is noted.
    ///   - path: the store's file.
    ///   - budget: how long it may take.
    ///   - now: by which clock events are due.
    ///   - lockPatienceMilliseconds: how long to wait for another process that delivers.
    /// - Returns: how many were delivered, and what waits.
    /// - Throws: `RunLockError.held` while another process delivers; `StoreError`.
    func deliver(
        from store: SQLiteStore, at path: String, budget: Duration,
        now: @escaping @Sendable () -> Timestamp, lockPatienceMilliseconds: Int
    ) async throws -> DeliverySummary {
        let lock = try RunLock.acquire(
            forDatabaseAt: path, purpose: .telling,
            holder: RunningUser.lockHolder(doing: "tell"), now: now(),
            waitMilliseconds: lockPatienceMilliseconds)
        let stop = StopRequest()
        let signals = SignalWatch(stop: stop) { _ in }
        defer { signals.end() }
        let delivery = OutboxDelivery(
            outbox: store, destination: destination, budget: budget, now: now)
        let summary = await stop.interruptible {
            do throws(StoreError) {
                return Result<_, StoreError>.success(try await delivery.run())
            } catch {
                return .failure(error)
            }
        }
        _ = consume lock
        return try summary.get()
    }

    func shutdown() async {
        await transport?.shutdown()
    }
}

extension FileSystemFacts {
    /// Refuses a program of the company's that cannot be run.
    ///
    /// - Parameters:
    ///   - path: The program.
    ///   - key: The setting that names it.
    /// - Throws: 78 with what to do.
    static func refuseWhatCannotRun(
        _ path: String, key: String
    ) throws(ConfigurationError) {
        if isNoFile(path) {
            throw ConfigurationError(
                file: path, key: key, problem: "is not a program's file",
                suggestion: "name the program itself")
        }
        guard unsafe access(path, X_OK) != 0 else { return }
        let missing = errno == ENOENT || errno == ENOTDIR
        throw ConfigurationError(
            file: path, key: key,
            problem: missing ? "does not exist" : "cannot be run: \(SettingsFile.reason(errno))",
            suggestion: missing
                ? "put the program there, or correct the path" : "run: chmod +x \(path)")
    }
}

/// Calls the addresses of the settings when a run begins and when it has ended.
///
/// None of it changes a run or holds it up: each call has a few seconds, runs next to the work, and
/// is made once. What could not be reached is said in a warning at the end. In a rehearsal only
/// addresses of this machine are called: it must not be taken for a run.
struct RunPings: Sendable {
    private let settings: PingSettings
    private let job: String
    /// The text for `{apps}`.
    private let apps: String
    private let transport: CurlTransport?
    private let started: Task<String?, Never>?

    /// How long a call may take; the last one is the most that the end of a run is delayed.
    private static let limit = Duration.seconds(5)

    /// Says that a run has begun.
    ///
    /// - Parameter run: A whole run of a job, or of a worker's apps; others, such as a `check` by
    ///   hand, call nobody, or they would hide that a run is missing.
    init(of run: PreparedRun) {
        let isRehearsal = run.settings.apps.contains { $0.endpoint.isLoopback }
        var settings = isRehearsal ? run.settings.ping.onThisMachine : run.settings.ping
        if !run.isWholeRun { settings = PingSettings() }
        self.settings = settings
        job = run.header.job
        apps = MetricsFile.plain(appsAlone: run.header.appsAlone)
        guard settings != PingSettings() else {
            transport = nil
            started = nil
            return
        }
        let transport = try? CurlTransport(toReceiverWithin: Self.limit)
        self.transport = transport
        started = settings.start.map { [job, apps] url in
            Task { await Self.call(url, of: job, for: apps, over: transport) }
        }
    }

    /// Says how the run has ended.
    ///
    /// - Parameter isWell: Whether it needs no attention.
    /// - Returns: What could not be reached, in sentences.
    func end(isWell: Bool) async -> [String] {
        let last = isWell ? settings.success : settings.failure
        var problems = [await started?.value]
        if let last { problems.append(await Self.call(last, of: job, for: apps, over: transport)) }
        await transport?.shutdown()
        return problems.compactMap(\.self)
    }

    private static func call(
        _ url: WebhookURL, of job: String, for apps: String, over transport: CurlTransport?
    ) async -> String? {
        // Its path is a secret: only the origin is shown.
        let failed = "The ping to \(url) failed: "
        guard let transport else { return failed + "no connection could be prepared" }
        let request = HTTPRequest(
            method: "GET",
            url: url.text.replacing("{job}", with: MetricsFile.plain(job))
                .replacing("{apps}", with: apps))
        do throws(HTTPTransportError) {
            let response = try await transport.send(request)
            return (200..<300).contains(response.status)
                ? nil : failed + "it answered \(response.status)"
        } catch {
            return failed + "\(error)"
        }
    }
}
