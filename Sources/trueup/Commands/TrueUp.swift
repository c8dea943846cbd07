package import ArgumentParser
package import Subscriptions

/// The program: one verb per file, listed here and nowhere else.
package struct TrueUp: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "trueup",
        abstract: "Compares a company's subscriptions with what Apple states, and corrects them.",
        version: ToolVersion.current,
        subcommands: [
            Init.self,
            Run.self,
            Check.self,
            Pause.self,
            Resume.self,
            Throttle.self,
            Estimate.self,
            Apps.self,
            Show.self,
            Report.self,
            Apply.self,
            Undo.self,
            Acknowledge.self,
            Import.self,
            Export.self,
            Status.self,
            Explain.self,
            Inspect.self,
            Doctor.self,
            Tell.self,
            Erase.self,
            Restored.self,
            Verify.self,
        ])

    package init() {}

    /// Without a verb nothing was done, and a scheduler must not take that for success.
    package func run() throws {
        throw ValidationError("Name a command; \"trueup --help\" lists them.")
    }
}

/// A command of `trueup`: one file per verb.
package protocol Verb: AsyncParsableCommand {
    var common: CommonOptions { get }

    /// Does the work: results to `invocation.output`, everything else to its diagnostics.
    ///
    /// - Returns: how it ended; a failure that ends it early is thrown instead.
    func perform(in invocation: Invocation) async throws -> ExitStatus
}

/// Lines to type, which stand at the end of each command's help; docs/commands.md has more.
package enum CommandExamples {
    package static let all: [String: [String]] = [
        "init": ["trueup init", "trueup init --config /etc/trueup/trueup.yaml"],
        "run": ["trueup run nightly", "trueup run backfill --max-duration 8h"],
        "check": ["trueup check nightly", "trueup check nightly --limit 100 --json"],
        "estimate": ["trueup estimate nightly", "trueup estimate backfill --json"],
        "apps": ["trueup apps", "trueup apps --json"],
        "show": ["trueup show plan", "trueup show plan 20261120T031704Z-7f3c9a"],
        "apply": ["trueup apply reports/latest", "trueup apply reports/latest --canary 20"],
        "undo": ["trueup undo reports/latest", "trueup undo 20261120T031704Z-7f3c9a --execute"],
        "acknowledge": [
            "trueup acknowledge 3f9a1c --reason \"a family shares this account\"",
            "trueup acknowledge 3f9a1c --undo",
        ],
        "import": [
            "trueup import --dry-run rows.csv", "trueup import rows.csv",
            "trueup import --map otid=original_transaction_id --ignore plan users.csv",
            "trueup import --transactions periods.jsonl",
            "trueup import --receipts receipts.jsonl",
        ],
        "export": ["trueup export > rows.csv", "trueup export --transactions > periods.csv"],
        "status": ["trueup status", "trueup status --json"],
        "explain": ["trueup explain 2000000123456789", "trueup explain 2000000123456789 --json"],
        "inspect": ["trueup inspect payload.jws", "trueup inspect reports/latest/evidence.jsonl"],
        "doctor": ["trueup doctor", "trueup doctor --quiet"],
        "tell": ["trueup tell", "trueup tell --retry-given-up"],
        "erase": ["trueup erase customer-000042", "trueup erase customer-000042 --execute"],
        "restored": [
            "trueup restored --reason \"disk failed on 2026-11-20, backup of the 19th\"",
            "trueup restored --reason \"moved to another host\" --json",
        ],
        "report": [
            "trueup report latest --file report.html > report.html",
            "trueup report night 2026-11-20",
            "trueup report night 2026-11-20 --reports /srv/one/reports --reports /srv/two/reports",
        ],
        "pause": ["trueup pause nightly", "trueup pause nightly --json"],
        "resume": ["trueup resume nightly", "trueup resume nightly --json"],
        "throttle": ["trueup throttle nightly 5", "trueup throttle nightly off"],
        "verify": ["trueup verify reports", "trueup verify reports --database"],
    ]

    /// The section of a help text; empty for the program's own.
    ///
    /// - Parameter help: The text, which says by its usage of which command it is.
    /// - Returns: Lines that end with an empty one.
    static func section(ofHelp help: String) -> String {
        guard let match = help.firstMatch(of: /USAGE: trueup ([a-z]+)/),
            let examples = all[String(match.1)]
        else { return "" }
        return "EXAMPLES:\n" + examples.map { "  \($0)\n" }.joined() + "\n"
    }
}

/// `trueup apps`: the configured apps, for engines that share them out among workers.
package struct Apps: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "List the configured apps, as --app takes them.",
        discussion: """
            An engine that starts one worker for each app (a Kubernetes Job with indexes, a DAG with \
            mapped tasks) reads the list, and gives each worker its app with --app; or it gives each \
            worker its number with --app-shard, which here lists the apps of that worker. Reads \
            the settings and nothing else.
            """)

    @OptionGroup package var scope: AppScope
    @OptionGroup(title: "For every command") package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        let listed = try scope.listed(among: settings.apps)
        let identities = settings.identities.filter { listed?.contains($0) ?? true }
        guard common.json else {
            for app in identities { try invocation.show(app.name) }
            return .ok
        }
        let apps = identities.map { app in
            CanonicalJSON.object([
                "app": .string(app.name), "bundle_id": .string(app.bundleID),
                "environment": .string(app.environment.rawValue),
            ])
        }
        try invocation.show(json: CanonicalJSON.object(["apps": .array(apps)]))
        return .ok
    }
}
