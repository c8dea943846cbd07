import AppStoreServerAPI
import Crypto
import FoundationEssentials
import JSONWebSignature
import Subscriptions

/// What a signed payload costs here, beside a bare signature check of swift-crypto.
///
/// Usage: `verification-benchmark FOLDER PAYLOADS ROUNDS`. Writes the payloads into the folder for
/// other verifiers, then prints `name least median` in microseconds of processor time per payload,
/// each round going once through everything, so that a change of the machine's mood meets all.
@main
struct VerificationBenchmark {
    private static let uncachedShare = 10

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let count = Int(arguments[2]), let rounds = Int(arguments[3]),
            count >= uncachedShare, rounds > 0
        else {
            print("usage: verification-benchmark FOLDER PAYLOADS ROUNDS")
            return
        }
        let payloads = try BenchmarkPayloads.made(count: count)
        try payloads.write(to: arguments[1])
        let benchmark = try VerificationBenchmark(payloads)
        for line in try await benchmark.lines(rounds: rounds) { print(line) }
        print("peak_memory_mib \(peakMemoryMebibytes())")
    }

    private let texts: [[UInt8]]
    private let roots: TrustedRoots
    private let bare: [BareSignature]

    private init(_ payloads: BenchmarkPayloads) throws {
        texts = payloads.texts
        roots = try TrustedRoots(fingerprints: [], certificateFiles: [payloads.rootDER])
        bare = try payloads.texts.map(BareSignature.init)
    }

    private func lines(rounds: Int) async throws -> [String] {
        var bareCheck = Measurement("bare")
        var cached = Measurement("cached")
        var uncached = Measurement("uncached")
        var decoding = Measurement("decoding")
        let shared = try verifier()
        _ = try await shared.transaction(texts[0][...])
        let payloads = try texts.map { text in
            try Self.decoded(text.split(separator: UInt8(ascii: "."))[1])
        }
        // The first round warms up and is not counted.
        for round in 0...rounds {
            if round == 1 {
                bareCheck = Measurement("bare")
                cached = Measurement("cached")
                uncached = Measurement("uncached")
                decoding = Measurement("decoding")
            }
            await bareCheck.round(of: bare.count) {
                for signature in bare { precondition(signature.holds) }
            }
            try await cached.round(of: texts.count) {
                for text in texts { _ = try await shared.transaction(text[...]) }
            }
            try await decoding.round(of: payloads.count) {
                for payload in payloads { _ = try JWSTransactionDecodedPayload(json: payload) }
            }
            let few = texts.prefix(texts.count / Self.uncachedShare)
            try await uncached.round(of: few.count) {
                // A verifier that has met nothing yet validates the chain.
                for text in few { _ = try await verifier().transaction(text[...]) }
            }
        }
        return [bareCheck, cached, uncached, decoding].map(\.line)
    }

    private func verifier() throws -> SignedDataVerifier {
        SignedDataVerifier(
            app: AppIdentity(bundleID: BenchmarkPayloads.bundleID, environment: .production),
            appAppleID: 1,
            verifier: try JWSVerifier(
                roots: roots, markers: AppleCertificates.markers,
                now: { BenchmarkPayloads.signedMilliseconds }))
    }

    private static func decoded(_ segment: ArraySlice<UInt8>) throws -> [UInt8] {
        guard let bytes = Base64.decodeURL(segment) else {
            throw JSONWebSignatureError(.format, "not base64url")
        }
        return bytes
    }

    /// The kernel's high-water mark of this process.
    private static func peakMemoryMebibytes() -> Int {
        let status = FileManager.default.contents(atPath: "/proc/self/status") ?? Data()
        let line = status.split(separator: UInt8(ascii: "\n")).first {
            $0.starts(with: Array("VmHWM:".utf8))
        }
        let digits = line?.filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? []
        return (Int(String(decoding: digits, as: UTF8.self)) ?? 0) / 1024
    }
}
