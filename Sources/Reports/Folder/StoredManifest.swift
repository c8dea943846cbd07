import Crypto
import FoundationEssentials
import Subscriptions

/// A manifest read back from the disk, as far as the index needs it.
struct StoredManifest {
    let previous: String?
    let line: RunIndex.Line

    /// `nil` when there is no readable manifest: `trueup verify` says so, the index does without.
    init?(folder: String, bytes: [UInt8]?) {
        guard let bytes,
            let content = try? JSONDecoder().decode(Content.self, from: Data(bytes)),
            content.runID.isPlainName
        else { return nil }
        previous = content.previous
        line = RunIndex.Line(
            runID: content.runID, folder: folder,
            manifestDigest: SHA256.hash(data: bytes).hexadecimal, job: content.job,
            mode: content.mode, started: content.started, ended: content.ended,
            exitStatus: content.outcome.exitStatus, outcome: content.outcome.name,
            inScope: content.totals.inScope, matched: content.totals.matched,
            discrepant: content.totals.discrepant, undecided: content.totals.undecided,
            excluded: content.totals.excluded, findings: content.findings,
            correctionsApplied: content.correctionsApplied, scope: content.scope ?? [],
            toolVersion: content.toolVersion)
    }

    private struct Content: Decodable {
        let runID: String
        let job: String
        let mode: String
        let started: String
        let ended: String
        let outcome: Outcome
        let totals: Totals
        let findings: Int
        let correctionsApplied: Int
        let scope: [String]?
        let toolVersion: String
        let previous: String?

        enum CodingKeys: String, CodingKey {
            case job, mode, started, ended, outcome, totals, findings, scope, previous
            case runID = "run_id"
            case correctionsApplied = "corrections_applied"
            case toolVersion = "tool_version"
        }
    }

    private struct Outcome: Decodable {
        let exitStatus: Int64
        let name: String

        enum CodingKeys: String, CodingKey {
            case name
            case exitStatus = "exit_status"
        }
    }

    private struct Totals: Decodable {
        let inScope: Int
        let matched: Int
        let discrepant: Int
        let undecided: Int
        let excluded: Int

        enum CodingKeys: String, CodingKey {
            case matched, discrepant, undecided, excluded
            case inScope = "in_scope"
        }
    }
}
