/// A subscription whose corrections were written ahead of the others, to be looked at again.
package struct CanaryRow: Hashable, Sendable {
    package var key: SubscriptionKey
    /// The kinds of findings that the first look at it brought.
    package var kindsBefore: Set<FindingKind>

    package init(key: SubscriptionKey, kindsBefore: Set<FindingKind>) {
        self.key = key
        self.kindsBefore = kindsBefore
    }
}
