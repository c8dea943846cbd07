import EventDelivery
import HTTPTransport
import Reports
import Subscriptions

/// Sends the message of a run, once it has ended.
///
/// None of it changes a run: each receiver has a few seconds and is tried once, and what could not be
/// reached is said in a warning. In a rehearsal only this machine is told: by a webhook on it, or by a
/// program that the settings name in place of the usual sendmail.
struct RunMessenger {
    private let settings: MessageSettings
    private let isRehearsal: Bool
    private let invocation: Invocation

    /// How long a receiver may take; both are told at once.
    private static let limit = Duration.seconds(5)

    /// - Parameters:
    ///   - settings: The receivers, and whether an app is rehearsed with.
    ///   - invocation: Variables and clock.
    init(_ settings: Settings, in invocation: Invocation) {
        self.settings = settings.message
        isRehearsal = settings.apps.contains { $0.endpoint.isLoopback }
        self.invocation = invocation
    }

    /// Whether anybody is told of a run that needs somebody, or nobody.
    private func isTold(isWell: Bool) -> Bool {
        switch settings.occasion {
        case .problems: !isWell
        case .always: true
        case .never: false
        }
    }

    /// Tells everybody.
    ///
    /// - Parameters:
    ///   - message: Of the run.
    ///   - isWell: Whether the run needs nobody.
    /// - Returns: Who could not be told, in sentences.
    func send(_ message: RunMessage, isWell: Bool) async -> [String] {
        guard isTold(isWell: isWell) else { return [] }
        let (now, mailer) = (invocation.now(), self.mailer)
        var problems = keptFromRehearsal
        var post: Post?
        do {
            post = try self.post()
        } catch {
            problems.append("the message of the run was not posted: \(ErrorReport(error).message)")
        }
        async let posted = Self.send(message, by: post, at: now)
        async let mailed = Self.send(message, by: mailer, at: now)
        problems += [await posted, await mailed].compactMap(\.self)
        return problems
    }

    /// Finds what would keep the receivers from being told, without telling them anything.
    ///
    /// - Throws: 77 or 78, with what to do.
    func check() throws {
        _ = try post()
        guard let mailer else { return }
        try ProgramFile.check(mailer.program, key: "message.sendmail")
    }

    /// The receivers in a few words.
    var description: String {
        let url = (try? post()).flatMap { $0?.url.description }
        let receivers = [url, mailer.map { "mail to \($0.recipients.count) by \($0.program)" }]
            .compactMap(\.self)
        return receivers.isEmpty ? "nobody is told" : receivers.joined(separator: ", ")
    }

    /// Whom a rehearsal leaves out, in sentences.
    private var keptFromRehearsal: [String] {
        guard isRehearsal else { return [] }
        var sentences: [String] = []
        if let url = try? url(), !url.isLoopback {
            sentences.append(
                "the message of the run was not posted to \(url): an app asks a server on this "
                    + "machine, so this is a rehearsal, and only a webhook on this machine is called"
            )
        }
        if !settings.recipients.isEmpty, mailer == nil {
            sentences.append(
                "the message of the run was not mailed: an app asks a server on this machine, so this "
                    + "is a rehearsal, and mail is sent only by a program that message.sendmail names"
            )
        }
        return sentences
    }

    // MARK: The webhook

    private struct Post: Sendable {
        let url: WebhookURL
        let signature: WebhookSignature?
    }

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
        let secret = try settings.secret.map { source throws(ConfigurationError) in
            try NotifySecret.load(
                source, minimumBytes: WebhookSignature.minimumSecretBytes, section: "message",
                environment: invocation.environment)
        }
        return Post(
            url: url,
            signature: secret.map { WebhookSignature(secret: Array($0.reveal().utf8)) })
    }

    private static func send(
        _ message: RunMessage, by post: Post?, at now: Timestamp
    ) async -> String? {
        guard let post else { return nil }
        // Its path is a secret: only the origin is shown.
        let failed = "the message of the run was not taken by \(post.url): "
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
        var options = CurlTransport.Settings()
        options.userAgent = "trueup/" + ToolVersion.current
        options.totalTimeoutMilliseconds = Int(limit / .milliseconds(1))
        options.connectTimeoutMilliseconds = options.totalTimeoutMilliseconds
        options.bodyLimitBytes = 1 << 20
        guard let transport = try? CurlTransport(options) else {
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

    private struct Mailer: Sendable {
        let program: String
        let sender: String
        let recipients: [String]
        let environment: [String: String]
    }

    /// `nil` where nobody gets mail, or a rehearsal would send it by the usual way.
    private var mailer: Mailer? {
        guard !settings.recipients.isEmpty, settings.sendmail != nil || !isRehearsal else {
            return nil
        }
        return Mailer(
            program: settings.sendmail ?? MessageSettings.usualSendmail, sender: settings.sender,
            recipients: settings.recipients, environment: invocation.environment)
    }

    private static func send(
        _ message: RunMessage, by mailer: Mailer?, at now: Timestamp
    ) async -> String? {
        guard let mailer else { return nil }
        let sendmail = Sendmail(
            path: mailer.program, environment: mailer.environment, timeout: limit)
        let problem = await sendmail.send(
            Mail(
                sender: mailer.sender, recipients: mailer.recipients, subject: message.subject,
                text: message.text, date: now))
        return problem.map { "the message of the run was not mailed by \(mailer.program): \($0)" }
    }
}
