import JSONWebSignature
import SubscriptionStore
import Subscriptions
import Synchronization

/// The database as the shelf of OCSP answers, from the moment that it is open.
///
/// A database that fails here costs a further question to the responder; the run meets the failure
/// itself, in its own statements.
final class RevocationAnswers: RevocationAnswerShelf {
    private let store = Mutex<SQLiteStore?>(nil)
    private let now: @Sendable () -> Timestamp

    init(now: @escaping @Sendable () -> Timestamp) {
        self.now = now
    }

    func open(_ opened: SQLiteStore) {
        store.withLock { $0 = opened }
    }

    func answer(for key: RevocationAnswerKey) async -> [UInt8]? {
        guard let store = store.withLock({ $0 }) else { return nil }
        do throws(StoreError) {
            return try await store.revocationAnswer(to: RevocationQuestion(key), at: now())
        } catch {
            return nil
        }
    }

    func keep(_ answer: [UInt8], for key: RevocationAnswerKey, until end: Int64) async {
        guard let store = store.withLock({ $0 }) else { return }
        do throws(StoreError) {
            try await store.keepRevocationAnswer(
                answer, to: RevocationQuestion(key), until: Timestamp(unixMilliseconds: end),
                at: now())
        } catch {
            return
        }
    }
}

extension RevocationQuestion {
    fileprivate init(_ key: RevocationAnswerKey) {
        self.init(certificate: key.certificate, issuer: key.issuer, responder: key.responder)
    }
}
