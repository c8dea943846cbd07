import Foundation
import TestSupport
import Testing

@Suite struct `Secrets` {
    @Test(.timeLimit(.minutes(30)))
    func `neither the key nor a token stands in any output`() throws {
        let simulator = try RunningSimulator(["--customers", "60", "--drift", "0.2"])
        let place = try Workplace(on: simulator)
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        var said: [String] = []
        for arguments in [
            ["run", "nightly", "--verbose"], ["status"], ["run", "nightly", "--json"],
        ] {
            let run = try BuiltExecutable("trueup").run(arguments, in: place.folder.url)
            said += [run.output, run.errors]
        }
        let key = try String(contentsOfFile: simulator.ready.keyFile, encoding: .utf8)
        let secrets = key.split(separator: "\n").filter { !$0.hasPrefix("-----") }.map(String.init)
        try #require(!secrets.isEmpty)
        let files = FileManager.default.enumerator(atPath: place.folder.url.path)
        var searched = 0
        while let name = files?.nextObject() as? String {
            let file = place.folder.url.appendingPathComponent(name)
            guard let data = try? Data(contentsOf: file) else { continue }
            said.append(String(decoding: data, as: UTF8.self))
            searched += 1
        }
        try #require(searched > 10)
        for text in said {
            for secret in secrets { #expect(!text.contains(secret)) }
            #expect(!text.contains("Bearer "))
            #expect(!Self.containsToken(text))
        }
    }

    /// A token's header names a key (`kid`); Apple's signed payloads name certificates.
    private static func containsToken(_ text: String) -> Bool {
        text.split { !($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") || !$0.isASCII }
            .contains { word in
                guard word.hasPrefix("eyJ") else { return false }
                var base64 = word.replacingOccurrences(of: "-", with: "+")
                    .replacingOccurrences(of: "_", with: "/")
                base64 += String(repeating: "=", count: (4 - base64.count % 4) % 4)
                guard let data = Data(base64Encoded: base64) else { return false }
                return String(decoding: data, as: UTF8.self).contains("\"kid\"")
            }
    }
}
