import X509

/// Checks by OCSP whether the certificates of a path are revoked, once for each certificate.
///
/// It checks only paths that already lead to a trusted root, so the responders' addresses come from
/// a trusted authority. A verified response is used until its nextUpdate, in this run and, through
/// the cache, in later ones. After a failed request the same responder is asked again after growing
/// pauses, at most `RevocationLimits.failedRounds` times.
package actor RevocationCheck {
    package nonisolated let mode: RevocationMode
    private let responder: any OCSPResponder
    private let cache: (any OCSPResponseCache)?
    private let now: @Sendable () -> Int64
    private var standings: [OCSPResponseKey: RevocationStanding] = [:]
    private var asking: [OCSPResponseKey: Task<RevocationStanding, Never>] = [:]

    /// - Parameters:
    ///   - mode: What callers do with `undetermined`; it changes nothing here.
    ///   - responder: Sends the requests.
    ///   - cache: The responses of earlier runs; `nil` for commands that keep nothing.
    ///   - now: The wall clock in UNIX milliseconds: revocation is a question about the present.
    package init(
        mode: RevocationMode, responder: any OCSPResponder,
        cache: (any OCSPResponseCache)?, now: @escaping @Sendable () -> Int64
    ) {
        self.mode = mode
        self.responder = responder
        self.cache = cache
        self.now = now
    }

    /// The common standing of both certificates below the root.
    ///
    /// A revoked certificate outweighs one whose status could not be determined.
    func standing(of path: TrustedPath) async -> RevocationStanding {
        if let objection = await OCSPRequest.objection(to: path) {
            return RevocationStanding(
                verdict: .undetermined(Self.shortened(objection)), until: .max)
        }
        async let leaf = standing(
            of: path.leaf, named: "the leaf certificate", issuedBy: path.intermediate, in: path)
        async let intermediate = standing(
            of: path.intermediate, named: "the intermediate certificate", issuedBy: path.root,
            in: path)
        let both = await [leaf, intermediate]
        let worst =
            both.first { if case .revoked = $0.verdict { true } else { false } }
            ?? both.first { if case .undetermined = $0.verdict { true } else { false } }
        return RevocationStanding(
            verdict: worst?.verdict ?? .good, until: both.map(\.until).min() ?? 0)
    }

    private func standing(
        of certificate: Certificate, named name: String, issuedBy issuer: Certificate,
        in path: TrustedPath
    ) async -> RevocationStanding {
        let request: OCSPRequest
        do {
            request = try OCSPRequest(about: certificate, named: name, issuedBy: issuer)
        } catch {
            let detail = "no OCSP request can be made about \(name)"
            return RevocationStanding(verdict: .undetermined(detail), until: .max)
        }
        let known = standings[request.key]
        if let known, now() < known.until { return known }
        // Payloads with the same new certificate share one request.
        let task =
            asking[request.key]
            ?? Task { await learn(request, in: path, failedRounds: known?.failedRounds ?? 0) }
        asking[request.key] = task
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    private func learn(
        _ request: OCSPRequest, in path: TrustedPath, failedRounds: Int
    ) async -> RevocationStanding {
        let standing = await ask(request, in: path, failedRounds: failedRounds)
        asking[request.key] = nil
        // A cancelled request says nothing about the responder.
        if !Task.isCancelled { remember(standing, of: request.key) }
        return standing
    }

    private func ask(
        _ request: OCSPRequest, in path: TrustedPath, failedRounds: Int
    ) async -> RevocationStanding {
        if let kept = await cache?.response(for: request.key),
            let standing = try? await request.standing(by: kept, in: path, at: now())
        {
            return standing
        }
        guard let address = request.address else {
            return RevocationStanding(
                verdict: .undetermined("\(request.subject) names no OCSP responder"), until: .max)
        }
        do throws(OCSPFault) {
            let bytes = try await responder.response(to: request.encoded, at: address).get()
            let standing = try await request.standing(by: bytes, in: path, at: now())
            await cache?.keep(bytes, for: request.key, until: standing.until)
            return standing
        } catch {
            return RevocationStanding(
                verdict: .undetermined(
                    "whether \(request.subject) is revoked could not be determined by \(address): "
                        + Self.shortened(error.detail)),
                until: retryTime(afterRound: failedRounds + 1), failedRounds: failedRounds + 1)
        }
    }

    private func retryTime(afterRound round: Int) -> Int64 {
        guard round < RevocationLimits.failedRounds else { return .max }
        let doubled = RevocationLimits.firstPauseMilliseconds << min(round - 1, 16)
        return now() + min(doubled, RevocationLimits.longestPauseMilliseconds)
    }

    private func remember(_ standing: RevocationStanding, of key: OCSPResponseKey) {
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

/// The revocation of a certificate or of a whole path as far as it is known, and how long that is used
/// without another request.
struct RevocationStanding: Sendable {
    enum Verdict: Sendable {
        case good
        /// The text names the certificate.
        case revoked(String)
        /// The text says why it is not known.
        case undetermined(String)
    }

    var verdict: Verdict
    /// UNIX milliseconds.
    var until: Int64
    var failedRounds = 0
}

/// How to treat a payload when it could not be determined whether its certificates are revoked.
///
/// A certificate that is revoked by a signed response is refused in both modes.
package enum RevocationMode: String, Hashable, Sendable {
    /// It is accepted and counted.
    case soft
    /// It is not accepted, but not called invalid either.
    case hard
}

/// Counts the effects of revocation on payloads that are valid in every other respect.
package struct RevocationTally: Hashable, Sendable {
    /// Payloads whose revocation status is unknown: accepted in soft mode, not accepted in hard
    /// mode.
    package var undetermined = 0
    /// The reason, for the latest of these.
    package var doubt = ""
    /// Payloads refused because one of their certificates is revoked.
    package var revoked = 0
    /// Which certificate, and by which responder.
    package var revocation = ""

    package init() {}
}

/// Sends an OCSP request to the responder that a certificate names.
package protocol OCSPResponder: Sendable {
    /// Asks, within a bounded time and with a bounded number of attempts.
    ///
    /// - Parameters:
    ///   - request: An OCSP request in DER.
    ///   - address: The URL as the certificate spells it; the implementation decides whether it may
    ///     be called.
    /// - Returns: The body of the response, not verified.
    func response(
        to request: [UInt8], at address: String
    ) async -> Result<[UInt8], OCSPFault>
}

/// The reason why there is no response; a sentence for the person on call.
package struct OCSPFault: Error, Hashable, Sendable {
    package let detail: String

    package init(_ detail: String) {
        self.detail = detail
    }
}

/// Which certificate a response is about, and from which responder it came.
package struct OCSPResponseKey: Hashable, Sendable {
    /// SHA-256 of the certificate in DER, in lowercase hexadecimal.
    package let certificate: String
    /// The digest for the issuer's certificate.
    package let issuer: String
    /// The responder's URL; empty where the certificate names none.
    package let responder: String
}

/// Keeps responses from one run to the next.
///
/// Responses are signed and are verified again when they are read, so a cache that loses or
/// falsifies one costs a further request and nothing else.
package protocol OCSPResponseCache: Sendable {
    func response(for key: OCSPResponseKey) async -> [UInt8]?

    /// - Parameters:
    ///   - response: The signed bytes as received.
    ///   - key: What they are about.
    ///   - end: When they expire, in UNIX milliseconds.
    func keep(_ response: [UInt8], for key: OCSPResponseKey, until end: Int64) async
}
