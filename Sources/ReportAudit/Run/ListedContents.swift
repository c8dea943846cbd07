/// What can be checked beside the corrections of a run: its findings and its plan.
///
/// Both rest on the same evidence as the corrections, but on no earlier run, so a second processor can
/// check them.
struct ListedContents: Sendable {
    /// The problems of the findings.
    private(set) var findings = ProblemList()
    /// The problems of the plan.
    private(set) var plan = ProblemList()
    private(set) var counts = RunCounts()
    /// The roots of the verified evidence, as `EvidenceVerifier` has them.
    private(set) var roots: Set<EvidenceRoot> = []
    private(set) var rehearsalRoots: Set<String> = []

    /// Checks findings and plan.
    ///
    /// - Parameters:
    ///   - path: The run's folder.
    ///   - folder: Its name in messages.
    ///   - manifest: The run's manifest.
    ///   - trust: The trusted roots.
    ///   - apps: The apps of this run and of those that it follows.
    ///   - guide: Where payloads stand in the file of evidence.
    /// - Returns: The counts and problems.
    @concurrent
    static func audit(
        path: String, folder: String, manifest: ManifestRecord, trust: AuditTrust,
        apps: KnownApps, guide: DigestGuide?
    ) async -> ListedContents {
        var result = ListedContents()
        let findings = RunProblems(folder: folder, manifest: manifest)
        let plan = RunProblems(folder: folder, manifest: manifest)
        let verifier = EvidenceVerifier(trust: trust, manifest: manifest)
        do throws(UnreadableFile) {
            let evidence = try EvidenceFile(folder: path, guide: guide, verifier: verifier)
            do throws(UnreadableFile) {
                try await FindingCheck(
                    folder: path, manifest: manifest,
                    evidence: FindingEvidenceCheck(
                        manifest: manifest, apps: apps, evidence: evidence),
                    problems: findings
                ).check(counts: &result.counts)
            } catch {
                findings.add(FindingCheck.name, error.reason)
            }
            do throws(UnreadableFile) {
                try await PlanCheck(
                    folder: path, manifest: manifest,
                    statements: StatementCheck(
                        runID: manifest.runID, apps: apps, evidence: evidence),
                    problems: plan
                ).check(counts: &result.counts)
            } catch {
                plan.add(PlanCheck.name, error.reason)
            }
        } catch {
            findings.add(EvidenceFile.name, error.reason)
        }
        result.findings = findings.list
        result.plan = plan.list
        result.roots = verifier.roots
        result.rehearsalRoots = verifier.rehearsalRoots
        return result
    }
}
