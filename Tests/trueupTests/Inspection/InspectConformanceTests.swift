import Foundation
import Subscriptions
import TestSupport
import Testing
import trueup

@Suite(.timeLimit(.minutes(30)))
struct `Conformance of inspect` {
    private let folder: TestSupport.TemporaryFolder
    private let place: Workplace

    init() throws {
        folder = try TestSupport.TemporaryFolder()
        place = try Workplace()
    }

    /// Oversized input is for a process of its own.
    @Test(arguments: ["verification.json", "adversarial.json"])
    func `gives an accepted verdict and the payload as it was`(file: String) async throws {
        var passed: [String: Int] = [:]
        var faults: [String] = []
        var deviations: [String] = []
        for vector in try ConformanceVectors.load(file) where vector.text("category") != "size" {
            let inspected = InspectVector(vector: vector)
            guard inspected.isInspectable else { continue }
            let outcome = await place.run(try inspected.arguments(in: folder))
            guard let fault = inspected.fault(in: outcome.output, status: outcome.status.code)
            else {
                passed[vector.level, default: 0] += 1
                continue
            }
            let line = "\(vector.name) (\(vector.level)): \(fault)"
            if vector.level == "may" { deviations.append(line) } else { faults.append(line) }
        }
        let counts = passed.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        print("inspect \(file): \(counts.joined(separator: ", ")); deviations \(deviations)")
        #expect(faults.isEmpty, "\(faults.joined(separator: "\n"))")
        #expect(passed["must", default: 0] >= (file == "verification.json" ? 30 : 300))
    }

    @Test func `survives hostile input as a program, too`() throws {
        let trueup = BuiltExecutable("trueup")
        let vectors = try ConformanceVectors.load("adversarial.json")
        let chosen = vectors.enumerated().filter { index, vector in
            vector.text("category") == "size" || index % 25 == 0
        }.map { InspectVector(vector: $1) }
        #expect(chosen.count > 30)
        for inspected in chosen where inspected.isInspectable {
            let result = try trueup.run(try inspected.arguments(in: folder))
            let fault = inspected.fault(in: result.output, status: result.status)
            #expect(fault == nil, "\(inspected.vector.name)")
            #expect(result.errors.isEmpty, "\(inspected.vector.name): \(result.errors)")
        }
    }
}
