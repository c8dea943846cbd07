import Crypto
import FoundationEssentials
import Subscriptions
import Synchronization

/// The leaves of the signing chain: each signs for a while, then the next one does, and later it ends.
///
/// A payload is signed by the leaf that signed at its `signedDate`. Apple's leaves last about two years,
/// and the next one begins about three weeks before the end of the one before (2023-09-12 to 2025-10-11,
/// then 2025-09-19 to 2027-10-13).
final class LeafRotation: Sendable {
    /// From the beginning of the next leaf to the end of the one before.
    private static let longestOverlap = 22 * CivilCalendar.millisecondsPerDay

    private let intermediates: IntermediateRotation
    private let first: SigningChain
    /// The beginning of the first leaf.
    private let begin: Timestamp
    private let lifetimeMilliseconds: Int64
    private let made: Mutex<[Int64: PayloadSigner]>

    /// `first`: the leaf that signs at the start; `days`: how long a leaf lasts.
    init(
        first: SigningChain, intermediates: IntermediateRotation, start: Timestamp, days: Int64
    ) {
        self.first = first
        self.intermediates = intermediates
        begin = SigningChain.Authority.firstBegins(before: start, days: days)
        lifetimeMilliseconds = days * CivilCalendar.millisecondsPerDay
        made = Mutex([0: PayloadSigner(chain: first)])
    }

    private var overlap: Int64 { min(Self.longestOverlap, lifetimeMilliseconds / 10) }

    /// The signer of payloads with this `signedDate`.
    func signer(at moment: Timestamp) throws -> PayloadSigner {
        // A new leaf is used from the middle of the overlap on.
        let elapsed = moment.milliseconds(since: begin) - overlap / 2
        let step = lifetimeMilliseconds - overlap
        let number = elapsed >= 0 ? elapsed / step : (elapsed + 1) / step - 1
        if let signer = made.withLock({ $0[number] }) { return signer }
        let from = begin.adding(milliseconds: number * step)
        let chain = try intermediates.authority(at: from).issue(
            key: key(of: number), from: from,
            to: from.adding(milliseconds: lifetimeMilliseconds))
        let signer = PayloadSigner(chain: chain)
        return made.withLock { made in
            // Another request may have been faster; all answers must show the same certificate.
            if let other = made[number] { return other }
            made[number] = signer
            return signer
        }
    }

    /// The key of a later or earlier leaf, derived so that a restart needs to keep the first one only.
    private func key(of number: Int64) throws -> P256.Signing.PrivateKey {
        let code = HMAC<SHA256>.authenticationCode(
            for: Data("leaf \(number)".utf8),
            using: SymmetricKey(data: first.leafKey.rawRepresentation))
        return try P256.Signing.PrivateKey(rawRepresentation: Data(code))
    }
}
