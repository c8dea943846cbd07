import Synchronization

/// The verified leaves of late, found by the exact bytes of their header segment.
///
/// Bounded; the least recently learned one makes room. Failures are never kept: a refused chain is
/// looked at afresh each time.
final class TrustedLeafCache: Sendable {
    private let leaves = Mutex<[TrustedLeaf]>([])

    func leaf(forHeader header: ArraySlice<UInt8>) -> TrustedLeaf? {
        let known = leaves.withLock { $0 }
        return known.first { ByteScan.areEqual(header, $0.header) }
    }

    func insert(_ leaf: TrustedLeaf) {
        leaves.withLock { leaves in
            // What was learned last counts: its revocation may have been asked anew.
            leaves.removeAll { $0.header == leaf.header }
            if leaves.count >= JWSLimits.cachedLeaves { leaves.removeFirst() }
            leaves.append(leaf)
        }
    }

    var count: Int { leaves.withLock { $0.count } }
}
