import AppStoreSimulation
import Foundation
import Testing

/// The endpoints of Apple's documentation: methods, paths and limits.
@Suite struct `Endpoints` {
    /// Method, path, and requests per hour in production (Identifying rate limits).
    private static let documented: [(name: Endpoint, method: String, path: String, limit: Int)] = [
        (.statuses, "GET", "/inApps/v1/subscriptions/1", 180_000),
        (.history, "GET", "/inApps/v2/history/1", 180_000),
        (.historyV1, "GET", "/inApps/v1/history/1", 180_000),
        (.transactionInfo, "GET", "/inApps/v1/transactions/1", 180_000),
        (.appTransactionInfo, "GET", "/inApps/v1/transactions/appTransactions/1", 180_000),
        (.refundHistory, "GET", "/inApps/v2/refund/lookup/1", 36_000),
        (.refundHistoryV1, "GET", "/inApps/v1/refund/lookup/1", 36_000),
        (.orderLookup, "GET", "/inApps/v1/lookup/M1", 36_000),
        (.notificationHistory, "POST", "/inApps/v1/notifications/history", 180_000),
        (.testNotification, "POST", "/inApps/v1/notifications/test", 3600),
        (.testNotificationStatus, "GET", "/inApps/v1/notifications/test/1", 3600),
        (.extendRenewal, "PUT", "/inApps/v1/subscriptions/extend/1", 72_000),
        (.massExtension, "POST", "/inApps/v1/subscriptions/extend/mass", 3600),
        (.massExtensionStatus, "GET", "/inApps/v1/subscriptions/extend/mass/p/1", 3600),
        (.consumption, "PUT", "/inApps/v2/transactions/consumption/1", 180_000),
        (.consumptionV1, "PUT", "/inApps/v1/transactions/consumption/1", 180_000),
        (.appAccountToken, "PUT", "/inApps/v1/transactions/1/appAccountToken", 72_000),
        (.finishTransaction, "POST", "/inApps/v1/transactions/1/finish", 180_000),
        (.uploadImage, "PUT", "/inApps/v1/messaging/image/1", 3600),
        (.deleteImage, "DELETE", "/inApps/v1/messaging/image/1", 3600),
        (.imageList, "GET", "/inApps/v1/messaging/image/list", 3600),
        (.uploadMessage, "PUT", "/inApps/v1/messaging/message/1", 3600),
        (.deleteMessage, "DELETE", "/inApps/v1/messaging/message/1", 3600),
        (.messageList, "GET", "/inApps/v1/messaging/message/list", 3600),
        (.configureDefaultMessage, "PUT", "/inApps/v1/messaging/default/p/en", 36_000),
        (.deleteDefaultMessage, "DELETE", "/inApps/v1/messaging/default/p/en", 3600),
        (.defaultMessage, "GET", "/inApps/v1/messaging/default/p/en", 3600),
        (.configureRealtimeURL, "PUT", "/inApps/v1/messaging/realtime/url", 3600),
        (.deleteRealtimeURL, "DELETE", "/inApps/v1/messaging/realtime/url", 3600),
        (.realtimeURL, "GET", "/inApps/v1/messaging/realtime/url", 3600),
        (.performanceTest, "POST", "/inApps/v1/messaging/performanceTest", 3600),
        (.performanceTestResult, "GET", "/inApps/v1/messaging/performanceTest/result/1", 3600),
        (.salesReports, "GET", "/v1/salesReports", 3600),
        // Their limits are not documented.
        (.customerGroups, "GET", "/groups/v1/currentGroups/1", 36_000),
        (.groupMembers, "GET", "/groups/v1/group/1", 36_000),
        (.claimSeat, "POST", "/groups/v1/transactions/1/seats", 36_000),
        (.seatInfo, "GET", "/groups/v1/transactions/1/seats", 36_000),
        (.unclaimSeat, "DELETE", "/groups/v1/transactions/1/seats/1", 36_000),
        (.associateSeat, "POST", "/groups/v1/transactions/1/seats/1/associate", 36_000),
    ]

    @Test func `are the documented ones, with their limits`() {
        #expect(
            Self.documented.map(\.name.rawValue).sorted()
                == Endpoint.allCases.map(\.rawValue).sorted())
        for (name, method, _, limit) in Self.documented {
            #expect(name.method == method && name.requestsPerHour == limit, "\(name)")
        }
    }

    @Test func `check the token before anything else, and the method before that`() throws {
        let client = try SimulatorClient(customers: 3)
        func status(
            _ method: String, _ path: String, token: String,
            in environment: SimulatedEnvironment = .production
        ) -> Int {
            client.simulator.answer(
                ServiceRequest(
                    method: method, target: path, authorization: "Bearer " + token,
                    contentType: "text/plain", body: Array("no JSON".utf8)), in: environment
            ).status
        }
        // Sales reports have keys of their own.
        for (name, method, path, _) in Self.documented where name != .salesReports {
            let place: SimulatedEnvironment = name.isOfSandboxAlone ? .sandbox : .production
            #expect(status(method, path, token: "wrong", in: place) == 401, "\(name)")
            #expect(status(method, path, token: try client.token(), in: place) == 415, "\(name)")
            #expect(status("PATCH", path, token: "wrong", in: place) == 405, "\(name)")
            if name.isOfSandboxAlone {
                #expect(status(method, path, token: try client.token()) == 404, "\(name)")
            }
        }
        let log = try client.control("GET", "/_simulator/faults")
        #expect(log.status == 200)
    }

    @Test func `are all described in the documentation`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(
            contentsOf: root.appendingPathComponent("docs/simulator.md"), encoding: .utf8)
        let described = page.split(separator: "\n").filter {
            $0.contains(" /inApps/") || $0.contains(" /v1/") || $0.contains(" /groups/")
        }
        for endpoint in Endpoint.allCases {
            #expect(
                described.contains { $0.hasPrefix("| `\(endpoint.rawValue)` |") }, "\(endpoint)")
        }
    }
}
