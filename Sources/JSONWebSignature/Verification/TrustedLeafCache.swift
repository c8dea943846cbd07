import Crypto
import Synchronization

/// The leaf certificates that were verified last, by the exact bytes of their header segment.
///
/// Bounded; the oldest entry makes room. Failures are never cached: a refused chain is validated
/// again each time.
final class TrustedLeafCache: Sendable {
    private let leaves = Mutex<[TrustedLeaf]>([])

    func leaf(forHeader header: ArraySlice<UInt8>) -> TrustedLeaf? {
        let known = leaves.withLock { $0 }
        return known.first { ByteScan.areEqual(header, $0.header) }
    }

    func insert(_ leaf: TrustedLeaf) {
        leaves.withLock { leaves in
            // The newest entry counts: its revocation may have been checked again.
            leaves.removeAll { $0.header == leaf.header }
            if leaves.count >= JWSLimits.cachedLeaves { leaves.removeFirst() }
            leaves.append(leaf)
        }
    }

    var count: Int { leaves.withLock { $0.count } }
}

/// A leaf whose chain was verified, with everything that the next JWS with it needs.
struct TrustedLeaf: Sendable {
    /// The exact header segment, with algorithm and certificates, in which it was verified.
    let header: [UInt8]
    let key: P256.Signing.PublicKey
    /// The state of SHA-256 after the header segment and its dot, which are most of a JWS.
    let hashAfterHeader: SHA256
    let validity: ValidityPeriod
    /// Until when it may be used without checking revocation again, in UNIX milliseconds.
    var usableUntil = Int64.max
    /// Why its revocation could not be determined; `nil` when it was, or is not checked.
    var doubt: String?
}
