package import Subscriptions
import Synchronization

/// The company's own table behind the copy that the books hold.
package struct CompanyLink: Sendable {
    package let database: any CompanyDatabase
    package let mapping: TableMapping
    let refusals = CompanyRefusals()
    let committed = CommittedEntries()
    let unread = UnreadApps()

    package init(_ database: any CompanyDatabase, mapping: TableMapping) {
        self.database = database
        self.mapping = mapping
    }

    /// What a person should know of changes that the company's database refused, in sentences.
    package var remarks: [String] { refusals.remarks }
}

/// The apps of the company's table whose rows the copy leaves out.
final class UnreadApps: Sendable {
    private struct Known {
        /// Whose rows the copy was made of; `nil` for all.
        var read: [AppIdentity]?
        /// What their columns hold; `nil` until somebody asks.
        var others: [[String?]]?
    }

    private let known = Mutex(Known())

    /// - Parameter apps: Whose rows the copy is made of; `nil` for all.
    func reading(_ apps: [AppIdentity]?) {
        known.withLock { $0 = Known(read: apps) }
    }

    /// The keys of rows with these original transaction ids under other apps.
    func keys(
        holding ids: [String], in database: any CompanyDatabase
    ) throws(StoreError) -> [SubscriptionKey] {
        let known = known.withLock(\.self)
        guard let read = known.read else { return [] }
        let others: [[String?]]
        if let found = known.others {
            others = found
        } else {
            others = try database.apps(besides: read)
            self.known.withLock { $0.others = others }
        }
        var keys: [SubscriptionKey] = []
        for id in ids { keys += try database.rows(holding: id, in: others).map(\.key) }
        return keys.filter { key in
            !read.contains {
                $0.bundleID == key.bundleID && $0.environment.rawValue == key.environment
            }
        }
    }
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
