import AppStoreSimulation
import Foundation
import FoundationNetworking

/// A PNG with these properties, without right checksums.
func madePNG(width: Int, height: Int, colourType: UInt8 = 2, further: String? = nil) -> [UInt8] {
    func number(_ value: Int) -> [UInt8] {
        [24, 16, 8, 0].map { (bits: Int) -> UInt8 in UInt8(truncatingIfNeeded: value >> bits) }
    }
    func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        number(data.count) + Array(type.utf8) + data + number(0)
    }
    var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    file += chunk("IHDR", number(width) + number(height) + [8, colourType, 0, 0, 0])
    if let further { file += chunk(further, [0, 0]) }
    file += chunk("IDAT", [1, 2, 3])
    file += chunk("IEND", [])
    return file
}

extension SimulatorClient {
    static let messaging = "/inApps/v1/messaging/"

    /// Asks the Retention Messaging API.
    func retention(
        _ method: String, _ path: String, _ body: [String: Any] = [:],
        in environment: SimulatedEnvironment = .sandbox
    ) throws -> Answer {
        try send(method, Self.messaging + path, body, environment: environment)
    }

    func uploadImage(
        _ id: String, _ image: [UInt8], size: String? = nil,
        in environment: SimulatedEnvironment = .sandbox
    ) throws -> Answer {
        let target = Self.messaging + "image/\(id)" + (size.map { "?imageSize=\($0)" } ?? "")
        let answer = simulator.answer(
            ServiceRequest(
                method: "PUT", target: target, authorization: "Bearer " + (try token()),
                contentType: "image/png", body: image), in: environment)
        let json = try? JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
        return Answer(status: answer.status, json: json ?? [:], raw: answer)
    }

    /// A control call over the network.
    func call(
        _ report: SimulatorReport, _ path: String, _ body: [String: Any]
    ) async throws -> (status: Int, json: [String: Any]) {
        guard let url = URL(string: report.control + "/_simulator/" + path) else {
            throw URLError(.badURL)
        }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = try JSONSerialization.data(withJSONObject: body)
        let (data, response) = try await URLSession.shared.data(for: request)
        let json = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        return ((response as? HTTPURLResponse)?.statusCode ?? 0, json ?? [:])
    }
}
