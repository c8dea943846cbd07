import Crypto
import Subscriptions

extension PeriodsDigest {
    /// Columns that stand there with their values.
    private static let compared: Set<TransactionField> = [.webOrderLineItemID, .price, .currency]

    /// Of rows in the order of their transaction ids; what a comparison looks at, and nothing else.
    ///
    /// The names of empty columns stand there only where there are any: digests of versions that
    /// did not fill them in hold good for complete periods.
    init(_ periods: [LocalTransaction]) {
        var digest = SHA256()
        for period in periods {
            let compared: [CanonicalJSON] = [
                .string(period.key.transactionID), .text(period.webOrderLineItemID),
                period.price.map(CanonicalJSON.integer) ?? .null, .text(period.currency),
            ]
            let empty = TransactionField.statedOfEveryPeriod
                .filter { !Self.compared.contains($0) && period.value(of: $0) == .null }
                .map { CanonicalJSON.string($0.rawValue) }
            let line = CanonicalJSON.array(compared + empty)
            digest.update(data: Array((line.rendered + "\n").utf8))
        }
        self.init(periods: periods.count, sha256: digest.finalize().hexadecimal)
    }
}
