import JSONWebSignature
package import Subscriptions

/// The App Store Server API of one app: builds calls, decodes answers and verifies their signed
/// parts.
///
/// The sender does pacing, authorization and retries. An answer is checked in this order: it can be
/// decoded, its envelope names this app, each signed part is valid, and the parts agree with each
/// other and with the unsigned ids around them. An entry that fails becomes a `RejectedStatement`;
/// the other entries of the answer are used.
package struct AppStoreServerClient: Sendable {
    private let sender: any APISending
    private let verifier: SignedDataVerifier

    package var app: AppIdentity { verifier.app }

    package init(sender: any APISending, verifier: SignedDataVerifier) {
        self.sender = sender
        self.verifier = verifier
    }

    package func callCounts() -> [CallCount] { sender.callCounts() }

    package func outage() -> String? { sender.givenUp(.subscriptionStatuses) }

    package func remarks() -> [String] { sender.remarks() + verifier.remarks }

    package func subscriptionStatuses(
        of id: TransactionID
    ) async throws(RunStop) -> Lookup<StatusAnswer> {
        try await ask(.subscriptionStatuses(of: id)) { (response: StatusResponse) in
            if let rejected = envelopeRejection(of: response) { return .unverified(rejected) }
            guard let groups = response.data else {
                return undecodable("the status answer has no data", .subscriptionStatuses)
            }
            var answer = StatusAnswer(subscriptions: [], unknowns: response.unknowns)
            for group in groups {
                for item in group.lastTransactions {
                    do throws(RejectedStatement) {
                        answer.subscriptions.append(
                            try await verifier.statement(
                                of: item, groupID: group.subscriptionGroupIdentifier))
                    } catch {
                        answer.rejected.append(error)
                    }
                }
            }
            return .answered(answer)
        }
    }

    package func transactionInfo(
        of id: TransactionID
    ) async throws(RunStop) -> Lookup<SignedTransaction> {
        try await ask(.transactionInfo(of: id)) { (response: TransactionInfoResponse) in
            guard let jws = response.signedTransactionInfo else {
                return undecodable("the answer has no signedTransactionInfo", .transactionInfo)
            }
            var transaction: SignedTransaction
            do throws(RejectedStatement) {
                transaction = try await verifier.transactionStatement(jws)
            } catch {
                return .unverified(error)
            }
            let ids = [
                transaction.transactionID, transaction.originalTransactionID,
                transaction.previousOriginalTransactionID,
            ]
            // A proxy may return the answer to another request.
            guard ids.contains(id.text) else {
                return undecodable("the answer is about another transaction", .transactionInfo)
            }
            transaction.unknowns += response.unknowns
            return .answered(transaction)
        }
    }

    package func transactionHistory(
        of id: TransactionID, after revision: String?
    ) async throws(RunStop) -> Lookup<HistoryPage> {
        try await page(.transactionHistory(of: id, after: revision))
    }

    package func refundHistory(
        of id: TransactionID, after revision: String?
    ) async throws(RunStop) -> Lookup<HistoryPage> {
        try await page(.refundHistory(of: id, after: revision))
    }

    /// A page of transactions; that of refunds states no app, so only its transactions do.
    private func page(_ request: APIRequest) async throws(RunStop) -> Lookup<HistoryPage> {
        try await ask(request) { (response: HistoryResponse) in
            if request.endpoint == .transactionHistory,
                let rejected = envelopeRejection(of: response)
            {
                return .unverified(rejected)
            }
            // Without these two members the reading could end early without notice.
            guard let newRevision = response.revision, let hasMore = response.hasMore else {
                return undecodable(
                    "the history page lacks revision or hasMore", request.endpoint)
            }
            var page = HistoryPage(
                transactions: [], revision: newRevision, hasMore: hasMore,
                unknowns: response.unknowns)
            for jws in response.signedTransactions ?? [] {
                do throws(RejectedStatement) {
                    page.transactions.append(try await verifier.transactionStatement(jws))
                } catch {
                    page.rejected.append(error)
                }
            }
            return .answered(page)
        }
    }

    package func notificationHistory(
        in window: NotificationWindow, paginationToken: String?
    ) async throws(RunStop) -> Lookup<NotificationPage> {
        let request = APIRequest.notificationHistory(in: window, paginationToken: paginationToken)
        return try await ask(request) { (response: NotificationHistoryResponse) in
            guard let hasMore = response.hasMore else {
                return undecodable("the notification page lacks hasMore", .notificationHistory)
            }
            var page = NotificationPage(
                notifications: [], hasMore: hasMore, paginationToken: response.paginationToken,
                unknowns: response.unknowns)
            for item in response.notificationHistory ?? [] {
                do throws(RejectedStatement) {
                    page.notifications.append(try await verifier.statement(of: item))
                } catch {
                    page.rejected.append(error)
                }
            }
            return .answered(page)
        }
    }

    /// Sends a call and decodes its answer.
    ///
    /// - Parameters:
    ///   - request: The call.
    ///   - read: Compares and verifies what the answer holds.
    /// - Returns: The result of `read`, or why there is no answer to read.
    /// - Throws: The reason when the run must end.
    private func ask<Response: AppStoreModel, Answer>(
        _ request: APIRequest, read: (Response) async -> Lookup<Answer>
    ) async throws(RunStop) -> Lookup<Answer> {
        let outcome = try await sender.send(request)
        guard case .answered(let body) = outcome else { return Self.refusal(outcome) }
        let response: Response
        do {
            response = try Response(json: body)
        } catch {
            return undecodable(error.description, request.endpoint)
        }
        return await read(response)
    }

    private func envelopeRejection(of envelope: some AnswerEnvelope) -> RejectedStatement? {
        verifier.envelopeFailure(of: envelope).map {
            RejectedStatement(originalTransactionID: nil, failure: $0, payload: nil)
        }
    }

    private func undecodable<Answer>(_ text: String, _ endpoint: Endpoint) -> Lookup<Answer> {
        sender.countUndecodable(endpoint)
        return .undecodable(text)
    }

    /// Apple's refusals by their codes.
    ///
    /// Source: App Store Server API, error codes.
    private static func refusal<Answer>(_ outcome: APIOutcome) -> Lookup<Answer> {
        switch outcome {
        case .answered: .undecodable("the answer is not a refusal")
        case .rateLimited: .rateLimited
        case .unavailable(let text): .unavailable(text)
        case .undecodable(let text): .undecodable(text)
        case .refused(let httpStatus, let code, let message):
            switch code {
            case 4_040_010: .transactionNotFound
            case 4_040_001: .accountNotFound
            case 4_000_006, 4_000_008: .invalidID
            case 4_000_005, 4_000_014, 4_000_017: .restart
            case 5_000_000: .internalFault
            default: .refused(code: code, httpStatus: httpStatus, message: message)
            }
        }
    }
}
