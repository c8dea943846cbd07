/// Learns by OCSP whether the certificates of a path are revoked, once for each certificate.
///
/// It is asked only about paths that already lead to a trusted root, so the addresses that it has
/// called were written by an authority that is trusted anyway. A verified answer counts until its
/// nextUpdate, in this run and, through the shelf, in the next ones. A round that brought nothing is
/// remembered too: the same responder is asked again after a pause that grows, and at most
/// `RevocationLimits.failedRounds` times.
package actor RevocationCheck {
    package nonisolated let mode: RevocationMode
    private let responder: any RevocationResponder
    private let shelf: (any RevocationAnswerShelf)?
    private let now: @Sendable () -> Int64
    private var standings: [RevocationAnswerKey: Standing] = [:]
    private var asking: [RevocationAnswerKey: Task<Standing, Never>] = [:]

    /// What is known of one certificate, and until when without asking again.
    private struct Standing: Sendable {
        enum Verdict: Sendable {
            case good
            case revoked(String)
            case undetermined(String)
        }

        var verdict: Verdict
        /// UNIX milliseconds.
        var until: Int64
        var failedRounds = 0
    }

    /// - Parameters:
    ///   - mode: What callers do with `undetermined`; it changes nothing here.
    ///   - responder: The way to the network.
    ///   - shelf: Answers of earlier runs; `nil` for commands that keep nothing.
    ///   - now: The wall clock in UNIX milliseconds: revocation is a question about the present.
    package init(
        mode: RevocationMode, responder: any RevocationResponder,
        shelf: (any RevocationAnswerShelf)?, now: @escaping @Sendable () -> Int64
    ) {
        self.mode = mode
        self.responder = responder
        self.shelf = shelf
        self.now = now
    }

    /// What both certificates below the root are worth together.
    ///
    /// One that is revoked outweighs one that could not be determined.
    func verdict(on path: TrustedPath) async -> RevocationVerdict {
        if let objection = await OCSPAnswer.objection(to: path) {
            return .undetermined(Self.shortened(objection), until: .max)
        }
        async let leaf = standing(of: .leaf, in: path)
        async let intermediate = standing(of: .intermediate, in: path)
        let standings = await [leaf, intermediate]
        let until = standings.map(\.until).min() ?? 0
        for case .revoked(let detail) in standings.map(\.verdict) { return .revoked(detail) }
        for case .undetermined(let detail) in standings.map(\.verdict) {
            return .undetermined(detail, until: until)
        }
        return .good(until: until)
    }

    private func standing(
        of role: OCSPQuestion.Role, in path: TrustedPath
    ) async -> Standing {
        let question: OCSPQuestion
        do {
            question = try OCSPQuestion(about: role, of: path)
        } catch {
            let detail = "no OCSP request can be made about the \(role) certificate"
            return Standing(verdict: .undetermined(detail), until: .max)
        }
        let known = standings[question.key]
        if let known, now() < known.until { return known }
        // Payloads that meet the same new certificate at once share one question.
        let task =
            asking[question.key]
            ?? Task { await learn(question, in: path, failedRounds: known?.failedRounds ?? 0) }
        asking[question.key] = task
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    private func learn(
        _ question: OCSPQuestion, in path: TrustedPath, failedRounds: Int
    ) async -> Standing {
        let standing = await ask(question, in: path, failedRounds: failedRounds)
        asking[question.key] = nil
        // A cancelled question says nothing about the responder.
        if !Task.isCancelled { remember(standing, of: question.key) }
        return standing
    }

    private func ask(
        _ question: OCSPQuestion, in path: TrustedPath, failedRounds: Int
    ) async -> Standing {
        if let kept = await shelf?.answer(for: question.key) {
            let verdict = await OCSPAnswer(bytes: kept).verdict(on: question, in: path, at: now())
            if let standing = Self.standing(verdict, question) { return standing }
        }
        guard let address = question.address else {
            return Standing(
                verdict: .undetermined("\(question.subject) names no OCSP responder"), until: .max)
        }
        let fault: String
        switch await responder.answer(to: question.request, at: address) {
        case .failure(let failure): fault = failure.detail
        case .success(let bytes):
            let verdict = await OCSPAnswer(bytes: bytes).verdict(on: question, in: path, at: now())
            if let standing = Self.standing(verdict, question) {
                await shelf?.keep(bytes, for: question.key, until: standing.until)
                return standing
            }
            fault = if case .unusable(let why) = verdict { why } else { "its answer was lost" }
        }
        return Standing(
            verdict: .undetermined(
                "whether \(question.subject) is revoked could not be learned from \(address): "
                    + Self.shortened(fault)),
            until: retryTime(afterRound: failedRounds + 1), failedRounds: failedRounds + 1)
    }

    /// `nil` for an answer that proves nothing.
    private static func standing(
        _ verdict: OCSPAnswer.Verdict, _ question: OCSPQuestion
    ) -> Standing? {
        switch verdict {
        case .good(let until): Standing(verdict: .good, until: until)
        case .revoked(let until):
            Standing(
                verdict: .revoked(
                    "\(question.subject) is revoked, by a signed answer of "
                        + question.key.responder),
                until: until)
        case .unusable: nil
        }
    }

    private func retryTime(afterRound round: Int) -> Int64 {
        guard round < RevocationLimits.failedRounds else { return .max }
        let doubled = RevocationLimits.firstPauseMilliseconds << min(round - 1, 16)
        return now() + min(doubled, RevocationLimits.longestPauseMilliseconds)
    }

    private func remember(_ standing: Standing, of key: RevocationAnswerKey) {
        if standings[key] == nil, standings.count >= RevocationLimits.rememberedCertificates,
            let oldest = standings.min(by: { $0.value.until < $1.value.until })?.key
        {
            standings[oldest] = nil
        }
        standings[key] = standing
    }

    private static func shortened(_ text: String) -> String {
        let limit = RevocationLimits.reasonCharacters
        return text.count <= limit ? text : String(text.prefix(limit)) + "…"
    }
}

/// What is known of the revocation of a whole path.
enum RevocationVerdict: Hashable, Sendable {
    /// Until when without asking again, in UNIX milliseconds.
    case good(until: Int64)
    /// The text names the certificate.
    case revoked(String)
    /// Why nothing is known, and when to ask again, in UNIX milliseconds.
    case undetermined(String, until: Int64)
}
