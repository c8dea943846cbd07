import AppStoreSimulation
import Crypto
import Foundation
import Testing

@Suite struct `The token check` {
    private static let target = "/inApps/v1/transactions/420001000000000"

    @Test func `lets a right token in`() throws {
        let client = try SimulatorClient()
        #expect(try client.get(Self.target).status == 200)
        let late = Date().timeIntervalSince1970.rounded() + 3590
        let withoutIssueTime = try client.token(claims: ["iat": NSNull(), "exp": late])
        #expect(try client.get(Self.target, token: withoutIssueTime).status == 200)
    }

    @Test func `refuses whatever is wrong in a token, with a body that is not JSON`() throws {
        let client = try SimulatorClient()
        let now = Date().timeIntervalSince1970.rounded()
        let right = try client.token()
        var tokens = [
            try client.token(header: ["alg": "HS256"]), try client.token(header: ["alg": "none"]),
            try client.token(header: ["kid": "AAAAAAAAAA"]),
            try client.token(header: ["typ": "JWE"]),
            try client.token(claims: ["iss": "00000000-0000-0000-0000-000000000000"]),
            try client.token(claims: ["aud": "appstoreconnect-v2"]),
            try client.token(claims: ["bid": "com.example.other"]),
            try client.token(claims: ["bid": NSNull()]),
            try client.token(claims: ["exp": NSNull()]),
            try client.token(claims: ["exp": now - 60]),
            try client.token(claims: ["exp": now + 3700]),
            try client.token(claims: ["iat": now - 3000, "exp": now + 1000]),
            try client.token(claims: ["iat": now + 600, "exp": now + 900]),
            try client.token(key: P256.Signing.PrivateKey()),
            right.components(separatedBy: ".").dropLast().joined(separator: "."), "", "x.y.z",
        ]
        let parts = right.components(separatedBy: ".")
        tokens.append("\(parts[0]).\(parts[1]).\(String(parts[2].reversed()))")
        for token in tokens {
            let answer = try client.get(Self.target, token: token)
            #expect(answer.status == 401, "\(token)")
            #expect(answer.raw.contentType != "application/json")
            #expect(answer.json.isEmpty)
        }
    }

    @Test func `takes the token that a control call makes`() throws {
        let client = try SimulatorClient(customers: 3)
        let token = try client.control("GET", "/_simulator/token").raw.body
        let answer = try client.get(Self.target, token: String(decoding: token, as: UTF8.self))
        #expect(answer.status == 200)
    }

    @Test func `comes before the id, but after the path`() throws {
        let client = try SimulatorClient()
        #expect(try client.get("/inApps/v1/transactions/abc", token: "x").status == 401)
        #expect(try client.get("/inapps/v1/transactions/1", token: "x").status == 404)
    }
}
