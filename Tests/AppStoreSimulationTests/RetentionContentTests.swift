import AppStoreSimulation
import Foundation
import Testing

/// Images, messages and defaults, as the documentation of the Retention Messaging API states them.
@Suite struct `Retention messages` {
    private static let image = "0a6a1bc0-3c1d-4d6f-9a6e-0f5b8a5a0001"
    private static let icon = "0a6a1bc0-3c1d-4d6f-9a6e-0f5b8a5a0002"
    private static let message = "0a6a1bc0-3c1d-4d6f-9a6e-0f5b8a5a0003"
    private static let place = "default/com.example.app.video.basic.monthly/en-US"
    private static var text: [String: Any] {
        ["header": "Stay", "body": "There is more to come."]
    }

    private static func text(_ further: [String: Any]) -> [String: Any] {
        text.merging(further) { $1 }
    }

    private func states(
        _ client: SimulatorClient, _ kind: String, in environment: SimulatedEnvironment
    ) throws -> [String?] {
        let answer = try client.retention("GET", "\(kind)/list", in: environment)
        let list = answer.json["\(kind)Identifiers"] as? [[String: Any]] ?? []
        return list.map { $0["\(kind)State"] as? String }
    }

    @Test func `are approved at once in the sandbox, and by Apple's review in production`() throws {
        let client = try SimulatorClient(customers: 1)
        for environment in SimulatedEnvironment.allCases {
            let image = madePNG(width: 3840, height: 2160)
            #expect(try client.uploadImage(Self.image, image, in: environment).status == 200)
            #expect(
                try client.retention("PUT", "message/\(Self.message)", Self.text, in: environment)
                    .status == 200)
        }
        #expect(try states(client, "image", in: .sandbox) == ["APPROVED"])
        #expect(try states(client, "message", in: .sandbox) == ["APPROVED"])
        #expect(try states(client, "image", in: .production) == ["PENDING"])
        #expect(try states(client, "message", in: .production) == ["PENDING"])
        let review = "/_simulator/retention/review"
        let call = ["image": Self.image, "state": "REJECTED"]
        #expect(try client.control("POST", review, call).status == 200)
        #expect(try states(client, "image", in: .production) == ["REJECTED"])
        #expect(try states(client, "message", in: .production) == ["PENDING"])
        let unknown = ["message": UUID().uuidString, "state": "APPROVED"]
        #expect(try client.control("POST", review, unknown).status == 400)
    }

    @Test func `have PNG images without transparency, of Apple's dimensions`() throws {
        let client = try SimulatorClient(customers: 1)
        let right = madePNG(width: 3840, height: 160)
        let wrong: [[UInt8]] = [
            [], Array("GIF89a".utf8), Array(right.dropLast(12)), Array(right.prefix(20)),
            madePNG(width: 3839, height: 160), madePNG(width: 3840, height: 159),
            madePNG(width: 3840, height: 2161), madePNG(width: 3840, height: 160, colourType: 6),
            madePNG(width: 3840, height: 160, colourType: 4),
            madePNG(width: 3840, height: 160, further: "tRNS"),
        ]
        for image in wrong {
            #expect(try client.uploadImage(Self.image, image).errorCode == 4_000_161)
        }
        #expect(try client.uploadImage("photo", right).errorCode == 4_000_000)
        #expect(try client.uploadImage(Self.image, right, size: "HUGE").errorCode == 4_000_216)
        #expect(try client.uploadImage(Self.image, right).status == 200)
        #expect(try client.uploadImage(Self.image, right).errorCode == 4_090_000)
        #expect(
            try client.uploadImage(Self.image.uppercased(), right).errorCode == 4_090_000)
        #expect(try client.retention("DELETE", "image/\(Self.icon)").errorCode == 4_040_014)
        #expect(try client.retention("DELETE", "image/\(Self.image)").status == 200)
        #expect(try client.retention("DELETE", "image/\(Self.image)").errorCode == 4_040_014)
    }

    @Test func `have texts of limited length and known images`() throws {
        let client = try SimulatorClient(customers: 1)
        let small = madePNG(width: 64, height: 64)
        #expect(try client.uploadImage(Self.icon, small, size: "BULLET_POINT").status == 200)
        let large = madePNG(width: 3840, height: 2160)
        #expect(try client.uploadImage(Self.image, large, size: "FULL_SIZE").status == 200)
        func point(_ length: Int) -> [String: Any] {
            let text = String(repeating: "é", count: length)
            return ["text": text, "imageIdentifier": Self.icon, "altText": "A tick."]
        }
        func picture(_ id: String, _ length: Int = 10) -> [String: Any] {
            ["imageIdentifier": id, "altText": String(repeating: "a", count: length)]
        }
        let refused: [(body: [String: Any], code: Int)] = [
            (["header": "Stay"], 4_000_000), (["body": "Stay"], 4_000_000),
            (Self.text(["header": String(repeating: "x", count: 67)]), 4_000_162),
            (Self.text(["body": String(repeating: "x", count: 145)]), 4_000_163),
            (Self.text(["image": picture(Self.image, 151)]), 4_000_175),
            (Self.text(["image": picture(Self.icon)]), 4_000_216),
            (Self.text(["image": picture(Self.message)]), 4_040_014),
            (Self.text(["bulletPoints": Array(repeating: point(5), count: 6)]), 4_000_218),
            (Self.text(["bulletPoints": [point(67)]]), 4_000_219),
            (Self.text(["headerPosition": "ABOVE_IMAGE"]), 4_000_224),
        ]
        for (body, code) in refused {
            let answer = try client.retention("PUT", "message/\(Self.message)", body)
            #expect(answer.errorCode == code, "\(body)")
        }
        let longest = Self.text([
            "header": String(repeating: "x", count: 66), "body": String(repeating: "y", count: 144),
            "image": picture(Self.image, 150), "headerPosition": "ABOVE_IMAGE",
            "bulletPoints": Array(repeating: point(66), count: 5),
        ])
        let path = "message/\(Self.message)"
        #expect(try client.retention("PUT", path, longest).status == 200)
        #expect(try client.retention("PUT", path, Self.text).errorCode == 4_090_001)
        #expect(try client.retention("DELETE", "image/\(Self.icon)").errorCode == 4_030_019)
        #expect(try client.retention("DELETE", path).status == 200)
        #expect(try client.retention("DELETE", path).errorCode == 4_040_015)
        #expect(try client.retention("DELETE", "image/\(Self.icon)").status == 200)
    }

    @Test func `become the default of a product and locale when they are approved`() throws {
        let client = try SimulatorClient(customers: 1)
        let body = ["messageIdentifier": Self.message]
        let large = madePNG(width: 3840, height: 2160)
        func configure() throws -> Int? {
            let answer = try client.retention("PUT", Self.place, body, in: .production)
            return answer.status == 200 ? nil : answer.errorCode
        }
        #expect(try configure() == 4_040_015)
        _ = try client.uploadImage(Self.image, large, in: .production)
        let picture = ["imageIdentifier": Self.image, "altText": "A beach."]
        _ = try client.retention(
            "PUT", "message/\(Self.message)", Self.text(["image": picture]), in: .production)
        #expect(try configure() == 4_030_017)
        let review = "/_simulator/retention/review"
        _ = try client.control("POST", review, ["message": Self.message, "state": "APPROVED"])
        #expect(try configure() == 4_030_018)
        _ = try client.control("POST", review, ["image": Self.image, "state": "APPROVED"])
        #expect(
            try client.retention("GET", Self.place, in: .production).errorCode == 4_040_020)
        for _ in 0..<2 { #expect(try configure() == nil) }
        let read = try client.retention("GET", Self.place, in: .production)
        #expect(read.json["messageIdentifier"] as? String == Self.message)
        #expect(try client.retention("GET", Self.place).errorCode == 4_040_020)
        for _ in 0..<2 {
            #expect(try client.retention("DELETE", Self.place, in: .production).status == 200)
        }
        #expect(
            try client.retention("GET", Self.place, in: .production).errorCode == 4_040_020)
        #expect(try client.retention("PUT", "default/nothing/en", body).errorCode == 4_000_023)
        let underscore = "default/com.example.app.video.basic.monthly/en_US"
        #expect(try client.retention("PUT", underscore, body).errorCode == 4_000_164)
    }
}
