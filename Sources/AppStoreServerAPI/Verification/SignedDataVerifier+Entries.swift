import JSONWebSignature
import Subscriptions

/// A rejected entry as an `Error`, for `Result`.
struct Rejection: Error, Hashable, Sendable {
    let statement: RejectedStatement

    init(_ statement: RejectedStatement) {
        self.statement = statement
    }
}

/// Verifies the entries of answers, each on its own.
extension SignedDataVerifier {
    /// One entry of a status answer.
    ///
    /// The unsigned id, the transaction and the renewal info must name the same original
    /// transaction: a renewal info names no app, and the id around them is not signed.
    func statement(
        of item: LastTransactionsItem?, groupID: String?
    ) async -> Result<StatedSubscription, Rejection> {
        let id = item?.originalTransactionId
        guard let item, let status = item.status, let groupID, let id,
            let transactionJWS = item.signedTransactionInfo,
            let renewalJWS = item.signedRenewalInfo
        else {
            let failure = VerificationFailure(
                reason: .format,
                detail: "a status entry lacks its status, an id or a signed part")
            return .failure(Self.rejection(id, failure, nil))
        }
        let transaction: SignedTransaction
        do {
            transaction = try await signedTransaction(transactionJWS)
        } catch {
            return .failure(Self.rejection(id, error, transactionJWS))
        }
        let renewal: SignedRenewal
        do {
            renewal = try await signedRenewal(renewalJWS)
        } catch {
            return .failure(Self.rejection(id, error, renewalJWS))
        }
        guard transaction.originalTransactionID == id, renewal.originalTransactionID == id else {
            let failure = VerificationFailure(
                reason: .crossCheck,
                detail: "a status entry and its signed parts name different subscriptions")
            let culprit = transaction.originalTransactionID == id ? renewalJWS : transactionJWS
            return .failure(Self.rejection(id, failure, culprit))
        }
        return .success(
            StatedSubscription(
                status: SubscriptionStatus(rawValue: status), subscriptionGroupID: groupID,
                transaction: transaction, renewal: renewal))
    }

    /// One transaction of a history page or of a transaction answer.
    func transactionStatement(
        _ jws: ArraySlice<UInt8>?
    ) async -> Result<SignedTransaction, Rejection> {
        guard let jws else {
            let failure = VerificationFailure(
                reason: .format, detail: "an entry is not a signed transaction")
            return .failure(Self.rejection(nil, failure, nil))
        }
        do {
            return .success(try await signedTransaction(jws))
        } catch {
            return .failure(Self.rejection(nil, error, jws))
        }
    }

    /// One entry of a notification history page.
    func statement(
        of item: NotificationHistoryResponseItem?
    ) async -> Result<RecordedNotification, Rejection> {
        guard let item, let jws = item.signedPayload else {
            let failure = VerificationFailure(
                reason: .format, detail: "an entry has no signed notification")
            return .failure(Self.rejection(nil, failure, nil))
        }
        var attempts: [SendAttempt] = []
        for attempt in item.sendAttempts {
            guard let date = attempt.attemptDate, let result = attempt.sendAttemptResult else {
                let failure = VerificationFailure(
                    reason: .format, detail: "a send attempt lacks its date or result")
                return .failure(Self.rejection(nil, failure, jws))
            }
            attempts.append(SendAttempt(attemptDate: date, result: result))
        }
        do {
            var notification = try await recordedNotification(jws, sendAttempts: attempts)
            notification.unknowns += item.unknowns
            return .success(notification)
        } catch {
            return .failure(Self.rejection(nil, error, jws))
        }
    }

    private static func rejection(
        _ id: String?, _ failure: VerificationFailure, _ jws: ArraySlice<UInt8>?
    ) -> Rejection {
        let payload = jws.map {
            SignedPayload(
                digest: EvidenceDigest(hexadecimal: VerifiedJWS.digest(of: $0)),
                received: $0)
        }
        return Rejection(
            RejectedStatement(originalTransactionID: id, failure: failure, payload: payload))
    }
}
