import Synchronization

/// The digests of payloads whose signature was found to be valid, up to a number.
///
/// A payload's digest covers its header with the certificates, and its signature, so the same digest
/// is the same check. Full, it forgets all of them and begins anew.
final class RememberedSignatures: Sendable {
    private let limit: Int
    private let digests = Mutex(Set<SHA256Digest>())

    init(limit: Int) {
        self.limit = limit
    }

    func contains(_ digest: SHA256Digest) -> Bool { digests.withLock { $0.contains(digest) } }

    func insert(_ digest: SHA256Digest) {
        digests.withLock { digests in
            if digests.count >= limit { digests.removeAll(keepingCapacity: true) }
            digests.insert(digest)
        }
    }
}
