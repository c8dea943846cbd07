package import Subscriptions
import Synchronization

/// The company's own table behind the copy that the books hold.
package struct CompanyLink: Sendable {
    package let database: any CompanyDatabase
    package let mapping: TableMapping
    let refusals = CompanyRefusals()
    let committed = CommittedEntries()

    package init(_ database: any CompanyDatabase, mapping: TableMapping) {
        self.database = database
        self.mapping = mapping
    }

    /// What a person should know of changes that the company's database refused, in sentences.
    package var remarks: [String] { refusals.remarks }
}

/// The entries that the company's database has committed in the transaction at hand, before the
/// books commit them.
final class CommittedEntries: Sendable {
    private let noted = Mutex<ClosedRange<Int64>?>(nil)

    /// `nil` until it has.
    var range: ClosedRange<Int64>? {
        get { noted.withLock(\.self) }
        set { noted.withLock { $0 = newValue } }
    }
}

/// Why changes were refused, each reason once.
final class CompanyRefusals: Sendable {
    private static let reasonsListed = 5

    private struct Refused {
        var count = 0
        /// The first row of which that was said.
        let first: SubscriptionKey
    }

    private let reasons = Mutex<[String: Refused]>([:])

    func note(_ reason: String, of key: SubscriptionKey) {
        reasons.withLock { noted in
            guard noted[reason] != nil || noted.count < Self.reasonsListed else { return }
            noted[reason, default: Refused(first: key)].count &+= 1
        }
    }

    var remarks: [String] {
        reasons.withLock(\.self).sorted { $0.key < $1.key }.map { reason, refused in
            let id = refused.first.originalTransactionID
            return refused.count == 1
                ? "Your database refused the correction of \(id), and nothing of it was written: "
                    + "\(reason)."
                : "Your database refused \(refused.count) corrections, for example of \(id), and "
                    + "nothing of them was written: \(reason)."
        }
    }
}
