import Foundation
import HTTPTransport
import TestSupport
import Testing

/// What the transport promises, over both HTTP versions, against a real TLS server.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `The transport contract` {
    enum Version: String, CaseIterable {
        case http2 = "HTTP/2"
        case http1 = "HTTP/1.1"
    }

    private static let servers: [Version: RunningSimulator] = {
        var servers: [Version: RunningSimulator] = [:]
        servers[.http2] = try? RunningSimulator(["--customers", "20"])
        servers[.http1] = try? RunningSimulator(["--customers", "20", "--no-http2"])
        return servers
    }()

    private func server(_ version: Version) throws -> RunningSimulator {
        try #require(Self.servers[version])
    }

    private func transport(
        _ server: RunningSimulator, _ change: (inout CurlTransport.Settings) -> Void = { _ in }
    ) throws -> CurlTransport {
        var settings = CurlTransport.Settings()
        settings.caFile = server.ready.caFile
        change(&settings)
        return try CurlTransport(settings)
    }

    private func unauthorized(_ server: RunningSimulator) -> HTTPRequest {
        HTTPRequest(method: "GET", url: server.ready.endpoint + "/inApps/v1/subscriptions/1")
    }

    @Test(arguments: Version.allCases)
    func `a response arrives whole, with its headers and version`(version: Version) async throws {
        let server = try server(version)
        let transport = try transport(server)
        let response = try await transport.send(unauthorized(server))
        #expect(response.status == 401)
        #expect(response.version == version.rawValue)
        #expect(!response.headers.isEmpty)
        #expect(response.headers.allSatisfy { $0.name == $0.name.lowercased() })
        await transport.shutdown()
    }

    @Test(arguments: Version.allCases)
    func `a hundred requests at once are all answered`(version: Version) async throws {
        let server = try server(version)
        let transport = try transport(server)
        let request = unauthorized(server)
        let statuses = await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<100 {
                group.addTask { try? await transport.send(request).status }
            }
            return await group.reduce(into: [Int?]()) { $0.append($1) }
        }
        #expect(statuses.count == 100)
        #expect(statuses.allSatisfy { $0 == 401 })
        await transport.shutdown()
    }

    @Test(arguments: Version.allCases)
    func `a server whose root is unknown is refused`(version: Version) async throws {
        let server = try server(version)
        let transport = try transport(server) { $0.caFile = nil }
        await #expect {
            try await transport.send(unauthorized(server))
        } throws: { error in
            if case .untrustedServer? = error as? HTTPTransportError { true } else { false }
        }
        await transport.shutdown()
    }

    @Test(arguments: Version.allCases)
    func `a body over the limit is cut off and named`(version: Version) async throws {
        let server = try server(version)
        let transport = try transport(server) { $0.bodyLimitBytes = 1 }
        await #expect(throws: HTTPTransportError.bodyTooLarge(limitBytes: 1)) {
            try await transport.send(unauthorized(server))
        }
        await transport.shutdown()
    }

    @Test(arguments: Version.allCases)
    func `after the shutdown nothing is sent`(version: Version) async throws {
        let server = try server(version)
        let transport = try transport(server)
        await transport.shutdown()
        await #expect(throws: HTTPTransportError.cancelled) {
            try await transport.send(unauthorized(server))
        }
    }

    @Test func `nobody listening is a connection that failed`() async throws {
        let transport = try CurlTransport()
        await #expect {
            try await transport.send(HTTPRequest(method: "GET", url: "https://127.0.0.1:9/"))
        } throws: { error in
            if case .connectionFailed? = error as? HTTPTransportError { true } else { false }
        }
        await transport.shutdown()
    }
}
