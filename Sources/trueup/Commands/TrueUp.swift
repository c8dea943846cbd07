package import ArgumentParser
package import Subscriptions

/// The program: one verb per file, listed here and nowhere else.
package struct TrueUp: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "trueup",
        abstract:
            "Compare a company's stored subscriptions with what Apple states, and correct them.",
        version: ToolVersion.current,
        groupedSubcommands: [
            CommandGroup(
                name: "Set up",
                subcommands: [
                    Init.self, Config.self, Import.self, Doctor.self, StoreCheck.self,
                    Estimate.self,
                ]),
            CommandGroup(name: "Run", subcommands: [Check.self, Run.self, Apply.self, Undo.self]),
            CommandGroup(
                name: "Look",
                subcommands: [
                    Status.self, Entitlements.self, Explain.self, Show.self, Report.self,
                    Inspect.self, Compare.self,
                ]),
            CommandGroup(
                name: "Control",
                subcommands: [Pause.self, Resume.self, Throttle.self, Acknowledge.self]),
            CommandGroup(name: "Prove", subcommands: [Verify.self, Erase.self, Restored.self]),
            CommandGroup(name: "Integrate", subcommands: [Tell.self, Apps.self, Export.self]),
        ])

    /// The commands that the help names first.
    static let mostUsed = ["check", "run", "status"]

    package init() {}

    /// Without a command nothing was done, and a scheduler must not take that for success.
    package func run() throws {
        throw ValidationError("Name a command; \"trueup --help\" lists them.")
    }

    /// A command by its name; `nil` for none.
    package static func verb(named name: String) -> (any Verb.Type)? {
        configuration.subcommands.first { $0._commandName == name } as? any Verb.Type
    }
}

/// A command of `trueup`: one file per verb.
package protocol Verb: AsyncParsableCommand {
    var common: CommonOptions { get }

    /// Every exit status that the command can have.
    static var exitStatuses: CommandStatuses { get }

    /// Does the work: results to `invocation.output`, everything else to its diagnostics.
    ///
    /// - Returns: how it ended; a failure that ends it early is thrown instead.
    func perform(in invocation: Invocation) async throws -> ExitStatus
}

extension TrueUp {
    /// Lines to type, by command, which are at the end of its help; docs/commands.md has more.
    static let examples: [String: [String]] = [
        "init": ["trueup init", "trueup init --config /etc/trueup/trueup.yaml"],
        "config": [
            "trueup config check", "trueup config show nightly",
            "trueup config schema job > trueup-job.schema.json",
        ],
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
        "export": [
            "trueup export > rows.csv", "trueup export --transactions > periods.csv",
            "trueup export --cursor warehouse.cursor --json > changes.jsonl",
        ],
        "status": ["trueup status", "trueup status --json"],
        "entitlements": [
            "trueup entitlements --customer customer-000042",
            "trueup entitlements --active --json",
            "trueup entitlements --changed-since latest --json",
        ],
        "explain": ["trueup explain 2000000123456789", "trueup explain 2000000123456789 --json"],
        "inspect": ["trueup inspect payload.jws", "trueup inspect reports/latest/evidence.jsonl"],
        "compare": [
            "trueup compare revenuecat transactions_1763604000.csv.gz",
            "trueup compare revenuecat transactions.csv --fresh 7d --json",
        ],
        "doctor": ["trueup doctor", "trueup doctor --quiet"],
        "store-check": [
            "trueup store-check \"program:./my-store --project scratch\" --scratch",
            "trueup store-check \"program:python3 sqlite_store.py scratch.sqlite --scratch\" --scratch",
        ],
        "tell": ["trueup tell", "trueup tell --retry-given-up"],
        "erase": ["trueup erase customer-000042", "trueup erase customer-000042 --execute"],
        "restored": [
            "trueup restored --reason \"disk failed on 2026-11-20, backup of the 19th\"",
            "trueup restored --reason \"moved to another host\" --json",
        ],
        "report": [
            "trueup report latest --file report.html > report.html",
            "trueup report night 2026-11-20", "trueup report diff 7f3c9a latest",
            "trueup report night 2026-11-20 --reports /srv/one/reports --reports /srv/two/reports",
        ],
        "pause": ["trueup pause nightly", "trueup pause nightly --json"],
        "resume": ["trueup resume nightly", "trueup resume nightly --json"],
        "throttle": ["trueup throttle nightly 5", "trueup throttle nightly off"],
        "verify": ["trueup verify reports", "trueup verify reports --database"],
    ]
}

/// `trueup apps`: the configured apps, for engines that share them out among workers.
struct Apps: Verb {
    static let configuration = CommandConfiguration(
        abstract: "List the configured apps, one a line, as --app takes them.",
        discussion: """
            An engine that starts one worker for each app (an indexed Kubernetes Job, a DAG with mapped \
            tasks) reads this list and gives each worker its app with --app. Or it gives each worker its \
            number with --app-shard; with that option this command lists the apps of that worker. It \
            reads the settings and nothing else.
            """)

    @OptionGroup var scope: AppScope
    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.anyCommand, [.config]], [.ok: "listed; the list may be empty"])

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try common.settings(in: invocation)
        let listed = try scope.listed(among: settings.apps)
        let identities = settings.identities.filter { listed?.contains($0) ?? true }
        guard common.json else {
            for app in identities { try invocation.show(app.name) }
            return .ok
        }
        let apps = identities.map { $0.json(["app": .string($0.name)]) }
        try invocation.show(json: .object(["apps": .array(apps)]))
        return .ok
    }
}
