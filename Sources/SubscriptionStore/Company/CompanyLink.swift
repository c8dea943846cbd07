package import Subscriptions
import Synchronization

/// The company's own table behind the copy that the books hold.
package struct CompanyLink: Sendable {
    package let database: any CompanyDatabase
    package let mapping: TableMapping
    let refusals = CompanyRefusals()

    package init(_ database: any CompanyDatabase, mapping: TableMapping) {
        self.database = database
        self.mapping = mapping
    }

    /// What a person should know of changes that the company's database refused, in sentences.
    package var remarks: [String] { refusals.remarks }
}

/// Why changes were refused, each reason once.
final class CompanyRefusals: Sendable {
    private static let reasonsListed = 5

    private let reasons = Mutex<[String: Int]>([:])

    func note(_ reason: String) {
        reasons.withLock { counts in
            guard counts[reason] != nil || counts.count < Self.reasonsListed else { return }
            counts[reason, default: 0] &+= 1
        }
    }

    var remarks: [String] {
        reasons.withLock(\.self).sorted { $0.key < $1.key }.map { reason, count in
            "Your database refused \(count == 1 ? "a correction" : "\(count) corrections"), and "
                + "nothing of \(count == 1 ? "it" : "them") was written: \(reason)."
        }
    }
}
