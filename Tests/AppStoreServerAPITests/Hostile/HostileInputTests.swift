import FoundationEssentials
import TestSupport
import Testing

/// The fuzzer's entry points (`jobs/fuzz`) under random changes of a fixed seed, for every build.
///
/// `TRUEUP_FUZZ_SEED` takes the place of the seed. Keys are new in every process: what a seed repeats
/// is the changes, not every byte, so that a fault also names its input.
@Suite(.timeLimit(.minutes(10))) struct `Hostile input` {
    private static let seed: UInt64 =
        ProcessInfo.processInfo.environment["TRUEUP_FUZZ_SEED"].flatMap(UInt64.init) ?? 20_261_121

    private static let rounds: [FuzzEntry: Int] = [
        .jws: 1200, .header: 600, .payload: 400, .answer: 4000, .certificate: 150,
        .revocation: 300,
    ]

    @Test(arguments: FuzzEntry.allCases)
    func `never verifies, crashes or hangs`(entry: FuzzEntry) async throws {
        let rounds = try #require(Self.rounds[entry])
        print("hostile input at \(entry.rawValue), seed \(Self.seed)")
        let verification = try await FuzzedVerification(vectors: Self.vectors())
        let seeds = verification.seeds(for: entry)
        #expect(!seeds.isEmpty)
        var mutator = ByteMutator(seed: Self.seed)
        for round in 0..<rounds {
            let bytes = mutator.mutated(of: seeds)
            guard let fault = try await verification.fault(of: bytes, at: entry) else { continue }
            Issue.record(
                """
                \(fault) (\(entry.rawValue), seed \(Self.seed), round \(round)); the input in \
                base64: \(Data(bytes).base64EncodedString())
                """)
            return
        }
    }

    /// The test above could not fail if no seed were genuine to begin with.
    @Test func `is judged beside genuine input`() async throws {
        let verification = try await FuzzedVerification()
        for entry in FuzzEntry.allCases {
            for seed in verification.seeds(for: entry) {
                #expect(try await verification.fault(of: seed, at: entry) == nil)
            }
        }
        // Nobody signed this one for us: were it to verify, it would be a fault.
        let foreign = try TestSigningChain().sign("{}")
        #expect(try await verification.fault(of: Array(foreign.utf8), at: .jws) == nil)
    }

    /// In a process of its own, whose memory is that of these inputs alone.
    @Test func `takes bounded memory`() async {
        await #expect(processExitsWith: .success) {
            let verification = try await FuzzedVerification()
            let before = try PeakMemory.mebibytes()
            let inputs: [(FuzzEntry, [UInt8])] = [
                (.answer, [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)),
                (.answer, Array(("[" + String(repeating: "0,", count: 500_000) + "0]").utf8)),
                (
                    .answer,
                    Array(
                        ("{" + String(repeating: "\"\\u0061\":0,", count: 20_000) + "\"b\":0}").utf8
                    )
                ),
                (
                    .payload,
                    Array(("{" + String(repeating: "\"a\":0,", count: 20_000) + "\"b\":0}").utf8)
                ),
                (.payload, Array(("{\"a\":" + String(repeating: "9", count: 700_000) + "}").utf8)),
                (.jws, [UInt8](repeating: UInt8(ascii: "A"), count: 10_000_000)),
                (.jws, [UInt8](repeating: UInt8(ascii: "."), count: 1_000_000)),
                (.header, [UInt8](repeating: UInt8(ascii: " "), count: 1_000_000)),
                (.certificate, [UInt8](repeating: 0x30, count: 1_000_000)),
            ]
            var mutator = ByteMutator(seed: 1)
            for (entry, bytes) in inputs {
                var faults = [try await verification.fault(of: bytes, at: entry)]
                for _ in 0..<20 {
                    let mutated = mutator.mutated(of: verification.seeds(for: entry))
                    faults.append(try await verification.fault(of: mutated, at: entry))
                }
                for case let fault? in faults { preconditionFailure(fault) }
            }
            let growth = try PeakMemory.mebibytes() - before
            precondition(growth < 160, "the peak grew by \(growth) MiB")
        }
    }

    private static func vectors() throws -> [ConformanceVector] {
        var vectors: [ConformanceVector] = []
        for file in ["verification.json", "api.json"] {
            vectors += try ConformanceVectors.load(file)
        }
        return vectors
    }
}

/// The kernel's high-water mark of this process.
enum PeakMemory {
    static func mebibytes() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line.flatMap { Int($0.filter(\.isNumber)) } ?? 0) / 1024
    }
}
