import Foundation
import Testing

/// An imitation of DynamoDB (moto), which ends with its owner or with the process.
final class OwnMoto: @unchecked Sendable {
    /// Whether one can be started here.
    static let isInstalled: Bool = {
        let isFound =
            (try? ProgramNight.python(["-c", "import boto3, moto.server"], in: nil)) == 0
        if !isFound {
            print("not tested: the program for DynamoDB, which needs boto3 and moto[server] (PyPI)")
        }
        return isFound
    }()

    private let process = Process()
    private let requests = Pipe()
    private let answers = Pipe()
    private let endpoint: String

    init() throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", ProgramNight.programs + "/on_moto.py"]
        process.standardInput = requests
        process.standardOutput = answers
        try process.run()
        endpoint = try Self.line(of: answers)
    }

    deinit {
        try? requests.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// The environment of a program that is to find it.
    var environment: [String: String] {
        [
            "STORE_ENDPOINT": endpoint, "AWS_ACCESS_KEY_ID": "imitated",
            "AWS_SECRET_ACCESS_KEY": "imitated", "AWS_DEFAULT_REGION": "eu-west-1",
        ]
    }

    /// Makes the tables of a program, with the rows of a SQLite file.
    func make(_ table: String, of file: String = "") throws {
        _ = try answer(to: "make \(table) \(file)")
    }

    /// The rows without their versions.
    func rows(_ table: String) throws -> [String] { try answer(to: "rows \(table)") }

    /// Number and hash of each entry.
    func entries(_ table: String) throws -> [String] { try answer(to: "entries \(table)") }

    private func answer(to request: String) throws -> [String] {
        requests.fileHandleForWriting.write(Data((request + "\n").utf8))
        return try JSONDecoder().decode([String].self, from: Data(Self.line(of: answers).utf8))
    }

    private static func line(of pipe: Pipe) throws -> String {
        var data = Data()
        while data.last != UInt8(ascii: "\n") {
            let more = pipe.fileHandleForReading.availableData
            try #require(!more.isEmpty, "moto ended")
            data += more
        }
        return String(decoding: data.dropLast(), as: UTF8.self)
    }
}
