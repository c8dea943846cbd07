import FoundationEssentials
import Synchronization
@_spi(FixedExpiryValidationTime) import X509

/// The body of an OCSP answer, from the network or from the shelf: nothing in it is believed yet.
struct OCSPAnswer: Sendable {
    let bytes: [UInt8]

    enum Verdict: Hashable, Sendable {
        /// Until when the answer counts, in UNIX milliseconds.
        case good(until: Int64)
        case revoked(until: Int64)
        /// The answer proves nothing; the text says why.
        case unusable(String)
    }

    /// Judges the answer by swift-certificates' policy: form, responder's signature and authority,
    /// dates, and status.
    ///
    /// The policy says only whether a path passes. Its soft mode fails for one reason alone, a
    /// verified "revoked"; its hard mode passes for one reason alone, a verified "good". Asked both
    /// ways about the same bytes, it gives the three verdicts apart.
    func verdict(
        on question: OCSPQuestion, in path: TrustedPath, at now: Int64
    ) async -> Verdict {
        let date = Date(timeIntervalSince1970: Double(now) / 1000)
        let inHand = AnswerInHand(identity: question.identity, answer: bytes)
        let refusal = await path.objection(
            by: OCSPVerifierPolicy(
                failureMode: .soft, requester: inHand, fixedExpiryValidationTime: date))
        let doubt = await path.objection(
            by: OCSPVerifierPolicy(
                failureMode: .hard, requester: inHand, fixedExpiryValidationTime: date))
        // A policy that never asked has judged nothing.
        guard inHand.timesGiven == 2 else {
            return .unusable("its answer could not be put to the question")
        }
        let dates = OCSPAnswerDates(of: bytes, identity: question.identity)
        if refusal == nil, let doubt {
            if let dates, now < dates.thisUpdate || dates.nextUpdate <= now {
                return .unusable("its answer is not one for now")
            }
            return .unusable(Self.plain(doubt))
        }
        guard let dates else { return .unusable("its answer does not say until when it counts") }
        // The policy forgives an hour and a quarter, for clocks that differ; what is kept and used
        // for every payload must not be forgiven its end.
        guard now < dates.nextUpdate else { return .unusable("its answer has ended") }
        let end = dates.nextUpdate
        return refusal == nil ? .good(until: end) : .revoked(until: end)
    }

    /// A library's reason without the values that it prints into it.
    private static func plain(_ reason: String) -> String {
        let words = reason.prefix { $0 != "(" && $0 != "[" }
        return "its answer is not accepted: " + words.prefix(RevocationLimits.reasonCharacters)
    }

    /// Whether the policy has something against the path itself, before any answer.
    static func objection(to path: TrustedPath) async -> String? {
        await path.objection(
            by: OCSPVerifierPolicy(
                failureMode: .soft, requester: AnswerInHand(identity: [], answer: nil)))
    }
}

/// Hands the policy the answer about one certificate, and says nothing of the others.
private final class AnswerInHand: OCSPRequester {
    private let identity: [UInt8]
    private let answer: [UInt8]?
    private let given = Atomic<Int>(0)

    init(identity: [UInt8], answer: [UInt8]?) {
        self.identity = identity
        self.answer = answer
    }

    var timesGiven: Int { given.load(ordering: .relaxed) }

    func query(request: [UInt8], uri: String) async -> OCSPRequesterQueryResult {
        guard let answer, request.contains(identity) else {
            return .nonTerminalError(RevocationFault("another certificate is asked about"))
        }
        given.add(1, ordering: .relaxed)
        return .response(answer)
    }
}
