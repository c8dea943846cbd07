import FoundationEssentials
import Subscriptions

/// Initiate Performance Test and Get Performance Test Results; in the sandbox only.
extension AppStoreService {
    /// Answers at once; the requests are sent meanwhile.
    func beginPerformanceTest(_ request: ServiceRequest) throws(APIFailure) -> ServiceAnswer {
        guard environment == .sandbox else { return .noSuchPath }
        let id = try request.decodedBody(PerformanceTestBody.self).originalTransactionID
        let subject = try withWorld { world, now throws(APIFailure) in
            let chain = try Self.chain(
                ofOriginal: id, in: world, malformed: .invalidTransactionID,
                otherwise: .transactionIDIsNotOriginal)
            guard !world.chains[chain].isFamilyShared else {
                throw .familyTransactionNotSupported
            }
            guard let subject = world.realtimeSubject(chain: chain) else {
                throw .invalidPerformanceTestRequest
            }
            return subject
        }
        guard let target = realtimeTarget else { throw .realtimeURLNotFound }
        let test = PerformanceTest(
            id: UUID().uuidString.lowercased(), target: target.configured)
        try retention.begin(test)
        Task { await run(test, subject: subject, at: target.url) }
        return .json { json in
            test.writeConfiguration(into: &json)
            json.field("requestId", test.id)
        }
    }

    func performanceTestResult(id: String) throws(APIFailure) -> ServiceAnswer {
        guard environment == .sandbox else { return .noSuchPath }
        guard let id = UUID(uuidString: id)?.uuidString.lowercased() else {
            throw .invalidRequestID
        }
        guard let test = retention.test, test.id == id else {
            throw .performanceTestRunNotFound
        }
        return .json { test.write(into: &$0) }
    }

    /// Sends the requests of a test, several at once, and records its result.
    private func run(_ test: PerformanceTest, subject: RealtimeSubject, at url: URL) async {
        var test = test
        await withTaskGroup(of: SessionPost.Answer.self) { group in
            for number in 0..<PerformanceTest.totalRequests {
                if number >= PerformanceTest.maxConcurrentRequests,
                    let answer = await group.next()
                {
                    test.record(answer)
                    retention.update(test)
                }
                group.addTask {
                    guard let call = try? realtimeCall(about: subject, locale: "en-US") else {
                        return SessionPost.Answer(failure: "OTHER")
                    }
                    return await SessionPost.send(
                        call.body, to: url,
                        timeout: .milliseconds(PerformanceTest.responseTimeThreshold))
                }
            }
            for await answer in group {
                test.record(answer)
                retention.update(test)
            }
        }
    }
}

/// Source: Retention Messaging API, `PerformanceTestRequest`.
private struct PerformanceTestBody: Decodable {
    let originalTransactionID: String

    init(from decoder: any Decoder) throws {
        originalTransactionID = try BodyMembers(decoder).required(
            String.self, "originalTransactionId", otherwise: .invalidPerformanceTestRequest)
    }
}
