import Foundation
import TestSupport
import Testing

/// Whole nights with `revocation: soft` and `hard` against a revocation service that answers in
/// every way it can.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `A night that asks for revocation` {
    private static let simulator = try? RunningSimulator([
        "--customers", "30", "--seed", "11", "--drift", "0.4", "--drift-kinds",
        "notification_missed,expiry,access_missing,product", "--ocsp", "good",
    ])

    private struct Asked: Decodable, Equatable {
        var leaf: Int
        var intermediate: Int
    }

    private func asked() async throws -> Asked {
        let simulator = try #require(Self.simulator)
        return try JSONDecoder().decode(
            Asked.self, from: try await simulator.control("/_simulator/ocsp"))
    }

    private func answer(_ mode: String) async throws {
        let simulator = try #require(Self.simulator)
        try await simulator.control("/_simulator/log/reset", method: "POST", body: "{}")
        try await simulator.control(
            "/_simulator/ocsp", method: "POST",
            body: #"{"mode": "\#(mode)"}"#)
    }

    private func place(_ revocation: String) throws -> Workplace {
        let simulator = try #require(Self.simulator)
        let place = try Workplace(on: simulator, extra: ["revocation: \(revocation)"])
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        return place
    }

    private func messages(_ place: Workplace) throws -> String {
        try #require(place.summary()["messages"] as? [String]).joined(separator: "\n")
    }

    private func kinds(_ place: Workplace) throws -> Set<String> {
        Set(try place.reportLines("discrepancies.jsonl").compactMap { $0["kind"] as? String })
    }

    private func undecidedReasons(_ place: Workplace) throws -> Set<String> {
        let text = try place.report("undecided.csv")
        return Set(
            ["unavailable", "verification_failed", "undecodable"].filter { text.contains($0) })
    }

    @Test(arguments: ["hard", "soft"], ["good", "delegated"])
    func `good answers: one request for each certificate, and none in the next run`(
        revocation: String, mode: String
    ) async throws {
        try await answer(mode)
        let place = try place(revocation)
        let first = try place.run("run", "nightly")
        #expect([0, 2].contains(first.status), "\(first.errors)")
        #expect(try !place.reportLines("corrections.jsonl").isEmpty)
        #expect(try place.summary()["messages"] as? [String] == [])
        #expect(try await asked() == Asked(leaf: 1, intermediate: 1))
        let second = try place.run("run", "nightly")
        #expect(second.status == first.status, "\(second.errors)")
        #expect(try await asked() == Asked(leaf: 1, intermediate: 1))
        let check = try place.run("check", "nightly")
        #expect(check.status == first.status, "\(check.errors)")
        #expect(try await asked() == Asked(leaf: 1, intermediate: 1))
    }

    @Test func `an answer that has ended by the next run is asked for anew`() async throws {
        try await answer("good")
        let place = try place("hard")
        _ = try place.run("run", "nightly")
        #expect(try await asked() == Asked(leaf: 1, intermediate: 1))
        try place.sql("UPDATE trueup_revocation_answers SET kept_until = 1")
        let second = try place.run("run", "nightly")
        #expect([0, 2].contains(second.status), "\(second.errors)")
        #expect(try await asked() == Asked(leaf: 2, intermediate: 2))
    }

    @Test(arguments: ["hard", "soft"], ["revoked", "revoked_intermediate"])
    func `a revoked certificate: nothing is believed, and the finding is critical`(
        revocation: String, mode: String
    ) async throws {
        try await answer(mode)
        let place = try place(revocation)
        let before = try place.rows()
        let run = try place.run("run", "nightly")
        #expect(run.status == 76, "\(run.errors)")
        #expect(try place.rows() == before)
        #expect(try kinds(place) == ["verification_failed"])
        let name = mode == "revoked" ? "the leaf certificate" : "the intermediate certificate"
        #expect(try messages(place).contains(name))
        #expect(try messages(place).contains("is revoked"))
    }

    @Test(arguments: [
        "unknown", "expired", "malformed", "bad_signature", "foreign_signer", "html", "absent",
        "server_error",
    ])
    func `hard without an answer: rows stay undecided and as they are, and it is no finding`(
        mode: String
    ) async throws {
        try await answer(mode)
        let place = try place("hard")
        let before = try place.rows()
        let run = try place.run("run", "nightly")
        #expect(run.status == 3, "\(run.errors)")
        #expect(try place.rows() == before)
        #expect(try kinds(place).isEmpty)
        #expect(try undecidedReasons(place) == ["unavailable"])
        #expect(try messages(place).contains("revocation is hard"))
        #expect(try messages(place).contains("watermark stays"))
        // One round for each certificate, however many payloads there are.
        let attempts = mode == "server_error" ? 2 : mode == "absent" ? 0 : 1
        #expect(try await asked() == Asked(leaf: attempts, intermediate: attempts))
        // Nothing is lost: the next night finds everything.
        try await answer("good")
        let next = try place.run("run", "nightly")
        #expect([0, 2].contains(next.status), "\(next.errors)")
        #expect(try !place.reportLines("corrections.jsonl").isEmpty)
        #expect(try kinds(place).contains("notification_missed"))
    }

    @Test(arguments: ["unknown", "malformed", "absent", "late"])
    func `soft without an answer: the night goes on and says so`(mode: String) async throws {
        try await answer(mode)
        let place = try place("soft")
        let run = try place.run("run", "nightly")
        #expect([0, 2].contains(run.status), "\(run.errors)")
        #expect(try !place.reportLines("corrections.jsonl").isEmpty)
        #expect(try !kinds(place).contains("verification_failed"))
        #expect(try messages(place).contains("revocation is soft"))
        #expect(run.output.contains("revocation is soft"))
        let attempts = mode == "late" ? 2 : mode == "absent" ? 0 : 1
        #expect(try await asked() == Asked(leaf: attempts, intermediate: attempts))
    }

    @Test func `off asks nobody, whatever the certificates say`() async throws {
        try await answer("revoked")
        let place = try place("off")
        let run = try place.run("run", "nightly")
        #expect([0, 2].contains(run.status), "\(run.errors)")
        #expect(try await asked() == Asked(leaf: 0, intermediate: 0))
    }
}
