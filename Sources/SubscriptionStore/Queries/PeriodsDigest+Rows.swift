import Crypto
import Subscriptions

extension PeriodsDigest {
    /// Of rows in the order of their transaction ids; what a comparison looks at, and nothing else.
    init(_ periods: [LocalTransaction]) {
        var digest = SHA256()
        for period in periods {
            let line = CanonicalJSON.array([
                .string(period.key.transactionID), .text(period.webOrderLineItemID),
                period.price.map(CanonicalJSON.integer) ?? .null, .text(period.currency),
            ])
            digest.update(data: Array((line.rendered + "\n").utf8))
        }
        self.init(periods: periods.count, sha256: Hexadecimal.text(of: digest.finalize()))
    }
}
