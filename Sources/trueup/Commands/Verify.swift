package import ArgumentParser
import ReportAudit
import SubscriptionStore
package import Subscriptions

/// `trueup verify`: whether reports are as they were written, and Apple signed what they rest on.
package struct Verify: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Check signatures, hash chain, manifests and totals of reports; 7 if tampered.",
        discussion: """
            Takes the folder of one run or a whole report folder, and names everything that is \
            wrong. It needs no key, network or database (but with --database), and no settings when a folder is given; \
            what is still being written (*.partial) is left alone.

            Evidence counts only if it leads to Apple Root CA - G3, or to a root given with \
            --trusted-root or in the settings; what a report says of its own root does not count. \
            With a folder given, settings count only if --config names them: neither ./trueup.yaml \
            nor $TRUEUP_CONFIG is read.

            A folder cannot show that its newest runs were taken away, or that everything was \
            written anew from some night on. Write down the digests that verify prints, elsewhere, \
            and give one of them later with --anchor.
            """)

    @Argument(
        help: ArgumentHelp(
            "A run's folder or a report folder (default: the configured one).", valueName: "dir"),
        completion: .directory)
    package var directory: String?

    @Option(
        name: .customLong("trusted-root"),
        help: ArgumentHelp(
            "A certificate (PEM or DER) that evidence may lead to besides Apple's; repeatable.",
            valueName: "file"), completion: .file())
    package var trustedRoots: [String] = []

    @Option(
        name: .customLong("anchor"),
        help: ArgumentHelp(
            "A manifest digest or ledger head that must still be in the chain; repeatable.",
            valueName: "digest"))
    package var anchors: [String] = []

    @Flag(
        name: .long,
        help: ArgumentHelp(
            "Check the ledger in the configured database against itself and the reports, and the "
                + "decisions about findings."))
    package var database = false

    @OptionGroup(title: "For every command") package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try settings(invocation)
        guard let directory = directory ?? settings?.reportDirectory else {
            throw CommandFailure(.usage, "name a folder to verify")
        }
        let books = try database(settings, invocation)
        let audit = try ReportAudit(
            trust: AuditTrust(certificateFiles: try certificates(settings)), anchors: anchors,
            database: books?.databaseReading)
        var report = VerifyReport(directory: directory)
        let ink = VerifyReport.Ink(
            isColoured: common.color.applies(
                toTerminal: invocation.outputIsTerminal, environment: invocation.environment))
        let result = try await audit.audit(directory) { run in
            if common.json {
                report.take(run)
            } else {
                for line in VerifyReport.lines(of: run, quiet: common.quiet, ink) {
                    try invocation.show(text: line, isColoured: ink.isColoured)
                }
                try invocation.output.flush()
            }
        }
        if let settings, let books {
            report.companyLedger = await CompanyLedgerLook.look(
                at: settings.company, beside: books, at: settings.databasePath)
        }
        if common.json {
            try invocation.show(json: report.json(of: result))
        } else {
            for line in report.closing(of: result, quiet: common.quiet, ink) {
                try invocation.show(text: line, isColoured: ink.isColoured)
            }
        }
        return report.status(of: result)
    }

    /// The settings, as far as they count.
    ///
    /// With a folder given, only those that `--config` names do: a `trueup.yaml` that lies where
    /// somebody stands, or that an environment variable names, may come with the very reports that
    /// are to be judged, and would have them vouch for their own root.
    private func settings(_ invocation: Invocation) throws -> Settings? {
        guard directory == nil || common.config != nil else { return nil }
        return try Settings.load(flag: common.config, environment: invocation.environment)
    }

    private func database(
        _ settings: Settings?, _ invocation: Invocation
    ) throws -> SQLiteStore? {
        guard database else { return nil }
        guard let settings else {
            throw CommandFailure(
                .usage, "--database with a folder needs --config, which says where the database is")
        }
        return try Books(settings).openToRead(at: invocation.now())
    }

    private func certificates(_ settings: Settings?) throws -> [[UInt8]] {
        var paths: [String] = []
        for case .file(let path) in settings?.apps.flatMap(\.trustedRoots) ?? [] {
            paths.append(path)
        }
        var files: [[UInt8]] = []
        for path in paths.uniqued() {
            files.append(try SettingsFile.bytes(ofFileAt: path, key: "trusted_roots"))
        }
        for path in trustedRoots {
            do throws(ConfigurationError) {
                files.append(try SettingsFile.bytes(ofFileAt: path, key: "--trusted-root"))
            } catch {
                throw CommandFailure(.data, "\(error)")
            }
        }
        return files
    }
}

extension SQLiteStore {
    /// Reads the chains for the audit, which knows nothing of this store.
    fileprivate var databaseReading: DatabaseReading {
        DatabaseReading(
            ledger: { body in
                try self.forEachLedgerRow { try body($0.mapValues(StoredColumn.init)) }
            },
            decisions: { body in
                try self.forEachDecisionRow { try body($0.mapValues(StoredColumn.init)) }
            }, highestDecisionInUse: { try self.highestDecisionInUse() })
    }
}

extension StoredColumn {
    fileprivate init(_ cell: StoredCell) {
        self =
            switch cell {
            case .null: .null
            case .integer(let number): .integer(number)
            case .text(let text): .text(text)
            case .other: .other
            }
    }
}
