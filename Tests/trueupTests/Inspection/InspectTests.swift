import Foundation
import JSONWebSignature
import Subscriptions
import TestSupport
import Testing
import trueup

@Suite struct `trueup inspect` {
    private let folder: TestSupport.TemporaryFolder
    private let place: Workplace
    private let chain: TestSigningChain
    private let root: String

    init() throws {
        folder = try TestSupport.TemporaryFolder()
        place = try Workplace()
        chain = try TestSigningChain()
        root = try folder.write(chain.rootDER, to: "root.der")
    }

    private static let transaction =
        #"{"transactionId":"2","originalTransactionId":"1","bundleId":"com.example.app","#
        + #""environment":"Production","signedDate":1750000000000,"price":9223372036854775807,"#
        + #""currency":"USD","novel":{"x":[1e400,0.10]},"type":"Sub\u0073cription"}"#

    private func options(_ more: String...) -> [String] {
        ["inspect", "--trusted-root", root, "--bundle-id", "com.example.app"]
            + ["--environment", "Production", "--app-apple-id", "1234"] + more
    }

    /// Runs it on a text and gives the JSON of its answer.
    private func inspect(
        _ text: String, _ more: String...
    ) async throws -> (status: Int32, json: JSONValue, output: String) {
        let file = try folder.write(Array(text.utf8), to: "input")
        let outcome = await place.run(options("--json") + more + [file])
        let json = try JSONDocument(Array(outcome.output.utf8)).root
        return (outcome.status.code, json, outcome.output)
    }

    private func notification(with transaction: String) throws -> String {
        try chain.sign(
            #"{"notificationType":"DID_RENEW","notificationUUID":"u","signedDate":1750000000000,"#
                + #""data":{"bundleId":"com.example.app","appAppleId":1234,"#
                + #""environment":"Production","signedTransactionInfo":"\#(transaction)"}}"#)
    }

    private var forged: String {
        get throws {
            let genuine = try chain.sign(Self.transaction)
            return String(genuine.dropLast(4)) + "AAAA"
        }
    }

    @Test func `keeps every member of the payload as it was received`() async throws {
        let found = try await inspect(try chain.sign(Self.transaction))
        #expect(found.status == 0)
        #expect(found.json.member("kind")?.text == "transaction")
        // The raw text, with the number that no Double holds and the escape nobody needed.
        #expect(found.output.contains("\"payload\":" + Self.transaction + ","))
    }

    @Test func `marks what this version does not know`() async throws {
        let found = try await inspect(try chain.sign(Self.transaction))
        let fields = found.json.member("unknown")?.elements.compactMap { $0.member("field")?.text }
        #expect(fields == ["transaction.type", "transaction.price", "transaction.novel"])
    }

    @Test func `shows nothing of a payload whose signature does not hold`() async throws {
        let jws = try forged
        let found = try await inspect(jws)
        #expect(found.status == 7)
        #expect(found.json.member("reason")?.text == "signature")
        #expect(found.json.member("payload")?.isNull == true)
        let file = try folder.write(Array(jws.utf8), to: "forged")
        let text = await place.run(options(file)).output
        #expect(text.hasPrefix("INVALID  unknown kind (signature)"))
        #expect(!text.contains("com.example.app"))
    }

    @Test func `judges the layers of a notification each by itself`() async throws {
        let whole = try await inspect(try notification(with: try forged))
        #expect(whole.status == 7)
        let layer = try #require(whole.json.member("layers")?.elements.first)
        #expect(layer.member("path")?.text == "data.signedTransactionInfo")
        #expect(layer.member("reason")?.text == "signature")
        // Asked about the notification, the verdict is on it alone.
        let alone = try await inspect(
            try notification(with: try forged), "--kind", "notification")
        #expect(alone.status == 0)
        #expect(alone.json.member("layers")?.elements.first?.member("verdict")?.text == "invalid")
    }

    @Test func `takes a signed text that is no JWS for what it is`() async throws {
        let found = try await inspect(try notification(with: "x"))
        #expect(found.status == 0)
        #expect(
            found.json.member("not_signed")?.elements.map(\.text) == ["data.signedTransactionInfo"])
    }

    @Test func `unfolds a status answer and finds the bad part`() async throws {
        let genuine = try chain.sign(Self.transaction)
        let renewal = try chain.sign(
            #"{"originalTransactionId":"1","autoRenewStatus":1,"environment":"Production","#
                + #""signedDate":1750000000000}"#)
        let answer = { (transaction: String, id: String) in
            #"{"data":[{"lastTransactions":[{"status":1,"originalTransactionId":"\#(id)","#
                + #""signedTransactionInfo":"\#(transaction)","signedRenewalInfo":"\#(renewal)"}]}]}"#
        }
        let good = try await inspect(answer(genuine, "1"))
        #expect(good.status == 0)
        #expect(good.json.member("kind")?.text == "statusResponse")
        #expect(good.json.member("payload")?.isNull == true)
        #expect(good.json.member("layers")?.elements.count == 2)
        let bad = try await inspect(answer(try forged, "1"))
        #expect(bad.status == 7)
        #expect(bad.json.member("reason")?.text == "signature")
        let swapped = try await inspect(answer(genuine, "7"))
        #expect(swapped.status == 7)
        #expect(swapped.json.member("reason")?.text == "cross_check")
    }

    @Test func `checks the digests of evidence lines`() async throws {
        let jws = try chain.sign(Self.transaction)
        let digest = VerifiedJWS.digest(of: Array(jws.utf8)[...])
        let line = #"{"jws":"\#(jws)","sha256":"\#(digest)"}"#
        let good = try await inspect(line + "\n" + line + "\n")
        #expect(good.status == 0)
        #expect(good.json.member("lines")?.elements.count == 2)
        let changed = line.replacingOccurrences(of: digest.prefix(8), with: "00000000")
        let bad = try await inspect(line + "\n" + changed + "\n")
        #expect(bad.status == 7)
        #expect(bad.json.member("reason")?.text == "digest")
    }

    @Test(arguments: [
        "{}", "[]", "\u{0}", "a.b.c", "..", "{\"payload\":\"x\",\"signatures\":[]}", "{",
        String(repeating: "A", count: 3_000_000), " eyJ.eyJ.AA", "\u{FEFF}{}",
    ])
    func `calls what is nothing of the kind invalid`(text: String) async throws {
        let found = try await inspect(text)
        #expect(found.status == 7)
        #expect(found.json.member("reason")?.text == "format")
    }

    @Test func `survives bytes that are no text`() async throws {
        let file = try folder.write([0xFF, 0xFE, 0x00, 0x80], to: "bytes")
        #expect(await place.run(options("--json", file)).status == .tampered)
        #expect(await place.run(options(file)).status == .tampered)
    }

    @Test func `forgives one line end of an editor and no other white space`() async throws {
        let jws = try chain.sign(Self.transaction)
        #expect(try await inspect(jws + "\n").status == 0)
        #expect(try await inspect(jws + "\r\n").status == 0)
        #expect(try await inspect(jws + "\n\n").status == 7)
        #expect(try await inspect(" " + jws).status == 7)
    }

    @Test func `says that an answer without signatures cannot be judged`() async throws {
        let found = try await inspect(#"{"errorCode":4040010,"errorMessage":"not found"}"#)
        #expect(found.status == 3)
        #expect(found.json.member("verdict")?.text == "undetermined")
    }

    @Test(arguments: ["", "\n \t\r\n"])
    func `says that there is nothing to judge in an empty file`(text: String) async throws {
        let input = try folder.write(Array(text.utf8), to: "input")
        for options in [[], ["--json"], ["--kind", "transaction"]] {
            let outcome = await place.run(["inspect", "--trusted-root", root] + options + [input])
            #expect(outcome.status == .data)
            #expect(outcome.output.isEmpty)
        }
    }

    @Test func `takes a root that is no certificate for a refusal of everything`() async throws {
        let file = try folder.write(Array("nonsense".utf8), to: "root.pem")
        let input = try folder.write(Array(try chain.sign(Self.transaction).utf8), to: "input")
        let outcome = await place.run(["inspect", "--json", "--trusted-root", file, input])
        #expect(outcome.status == .tampered)
        #expect(outcome.output.contains(#""reason":"certificate""#))
    }

    @Test(arguments: ["Xcode", "LocalTesting"])
    func `refuses data that no App Store signs`(environment: String) async throws {
        let payload = Self.transaction.replacingOccurrences(of: "Production", with: environment)
        let input = try folder.write(Array(try chain.sign(payload).utf8), to: "input")
        let asked = await place.run(
            ["inspect", "--json", "--trusted-root", root, "--environment", environment, input])
        #expect(asked.status == .tampered)
        #expect(asked.output.contains(#""reason":"environment","kind":null,"payload":null"#))
        // Not asked for, it is refused all the same.
        let unasked = await place.run(["inspect", "--json", "--trusted-root", root, input])
        #expect(unasked.status == .tampered)
        #expect(unasked.output.contains(#""reason":"environment""#))
    }

    @Test func `needs the app's number for a notification from production`() async throws {
        let input = try folder.write(Array(try notification(with: "x").utf8), to: "input")
        let outcome = await place.run(
            [
                "inspect", "--json", "--trusted-root", root, "--bundle-id", "com.example.app",
                "--environment", "Production", input,
            ])
        #expect(outcome.status == .tampered)
        #expect(outcome.output.contains(#""reason":"app""#))
    }

    @Test func `says what was not compared`() async throws {
        let input = try folder.write(Array(try chain.sign(Self.transaction).utf8), to: "input")
        let outcome = await place.run(["inspect", "--trusted-root", root, input])
        #expect(outcome.status == .ok)
        #expect(outcome.output.contains("NOT COMPARED  bundle, environment"))
    }

    @Test func `judges the chain at another time when asked`() async throws {
        let jws = try chain.sign(Self.transaction)
        let late = try await inspect(jws, "--at", "2035-06-01T00:00:00Z")
        #expect(late.status == 7)
        #expect(late.json.member("reason")?.text == "chain")
        #expect(try await inspect(jws, "--at", "1750000000000").status == 0)
    }

    @Test func `takes the app of the settings that fits`() async throws {
        _ = try place.folder.write(
            """
            apps:
              - {bundle_id: com.example.other, environment: sandbox,
                 issuer_id: 57246542-96fe-1a63-e053-0824d011072a, key_id: k,
                 key_file: k.p8, endpoint: "https://127.0.0.1:1", trusted_roots: [\(root)]}
              - {bundle_id: com.example.app, environment: production, app_apple_id: 1234,
                 issuer_id: i, key_id: k, key_file: k.p8, endpoint: "https://127.0.0.1:1",
                 trusted_roots: [\(root)]}
            """, to: "trueup.yaml")
        let genuine = try folder.write(Array(try chain.sign(Self.transaction).utf8), to: "input")
        let outcome = await place.run("inspect", "--json", genuine)
        #expect(outcome.status == .ok)
        #expect(outcome.output.contains(#""expected":{"bundle_id":"com.example.app""#))
        let foreign = Self.transaction.replacingOccurrences(of: "com.example.app", with: "com.foe")
        let input = try folder.write(Array(try chain.sign(foreign).utf8), to: "input")
        let refused = await place.run("inspect", "--json", input)
        #expect(refused.status == .tampered)
        #expect(refused.output.contains(#""reason":"app""#))
    }

    @Test func `spells out what would move a terminal's cursor`() async throws {
        let payload = Self.transaction.replacingOccurrences(
            of: "novel", with: "a\\u001b[2Jb\u{202E}c")
        let input = try folder.write(Array(try chain.sign(payload).utf8), to: "input")
        let text = await place.run(options(input)).output
        #expect(text.contains(#"a\u{1b}[2Jb\u{202e}c"#))
        #expect(!text.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{202E}" })
    }

    @Test func `refuses an unknown kind, and a file that is not there`() async throws {
        #expect(await place.run("inspect", "--kind", "receipt", "x").status == .usage)
        #expect(await place.run("inspect", "--environment", "Moon", "x").status == .usage)
        #expect(await place.run(options(folder.path(of: "nothing"))).status == .data)
    }
}

extension TestSupport.TemporaryFolder {
    func path(of name: String) -> String { url.appendingPathComponent(name).path }
}
