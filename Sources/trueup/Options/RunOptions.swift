package import ArgumentParser
import FoundationEssentials
package import ReconciliationRun
import Reports
import SubscriptionStore
package import Subscriptions

/// The options of `run` and `check` besides the common ones.
package struct RunOptions: ParsableArguments {
    @Argument(help: .job, completion: .jobs)
    package var job: String

    @Option(
        help: ArgumentHelp(
            "Report and correct only these kinds of findings, separated by commas (default: all).",
            valueName: "kind,…"))
    package var only: String?

    @Option(
        help: ArgumentHelp(
            "Check only these original transaction ids, one a line.", valueName: "file"),
        completion: .file())
    package var idsFile: String?

    @Option(help: ArgumentHelp("Check at most this many rows (default: no limit).", valueName: "n"))
    package var limit: Int?

    @Option(help: ArgumentHelp("Check only part K of N equal parts of the rows.", valueName: "k/n"))
    package var shard: RunFilters.Shard?

    @OptionGroup package var scope: AppScope

    @Option(
        help: ArgumentHelp(
            "The longest time, such as 90m (default: the job's max_duration).", valueName: "d"))
    package var maxDuration: String?

    @Option(help: .rehearsal)
    package var now: Timestamp?

    @OptionGroup var dry: DryRunOption

    package init() {}

    package func validate() throws {
        try refuse(if: (limit ?? 1) < 1, "--limit takes a number from 1.")
        _ = try onlyKinds()
        _ = try maxDurationMilliseconds()
    }

    /// The kinds of `--only`; `nil` for all.
    func onlyKinds() throws -> Set<FindingKind>? {
        guard let only else { return nil }
        let names = only.split(separator: ",").map { String($0.filter { $0 != " " }) }
        guard !names.isEmpty else { throw ValidationError("--only names no kind.") }
        return Set(
            try names.map { name in
                guard let kind = FindingKind(rawValue: name) else {
                    let all = FindingKind.allCases.map(\.rawValue)
                    let hint = name.suggestion(among: all).map { "; " + $0 } ?? ""
                    throw ValidationError("--only: no finding has the kind \"\(name)\"\(hint)")
                }
                return kind
            })
    }

    func maxDurationMilliseconds() throws -> Int64? {
        guard let maxDuration else { return nil }
        guard let milliseconds = DurationText(maxDuration)?.milliseconds, milliseconds > 0 else {
            throw ValidationError("--max-duration takes a time such as 45s, 90m, 4h or 1d.")
        }
        return milliseconds
    }

    /// The given options as words, to be given again.
    var words: [String] {
        var words = [job] + filters.flatMap { ["--" + $0.name, $0.value] } + scope.words
        if let maxDuration { words += ["--max-duration", maxDuration] }
        if let now { words += ["--now", now.rfc3339] }
        return words
    }

    /// Every filter in words, for the report: what leaves rows or findings out.
    ///
    /// `--now` and `--max-duration` are none: such a run looks at everything that the job names,
    /// and another one continues where it stopped.
    package var filtersInWords: [String] {
        filters.map { "\($0.name) \($0.value)" }
    }

    /// The given options that leave rows or findings out.
    private var filters: [(name: String, value: String)] {
        let all = [
            ("only", only), ("ids-file", idsFile), ("limit", limit.map(String.init)),
            ("shard", shard?.text),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }
}

extension CompletionKind {
    /// The jobs in the folder where one types; elsewhere nothing is offered.
    static var jobs: CompletionKind {
        .shellCommand(#"ls jobs 2>/dev/null | sed -n 's/\.yaml$//p'"#)
    }
}

/// `K/N` of `--shard` and `--app-shard`.
extension RunFilters.Shard: ExpressibleByArgument {
    package init?(argument: String) {
        let parts = argument.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int(parts[0]), let count = Int(parts[1]),
            count >= 1, (1...count).contains(number)
        else { return nil }
        self.init(number: number, count: count)
    }
}

/// A time of the command line, in RFC 3339.
extension Timestamp: ExpressibleByArgument {
    package init?(argument: String) { self.init(rfc3339: argument) }
}

extension ArgumentHelp {
    /// The help of `--now` where a command acts as if it were that time.
    static let rehearsal = ArgumentHelp(
        "Rehearse as if it were this time (RFC 3339); with loopback endpoints only.",
        valueName: "time")

    /// The help of a command's job.
    static let job = ArgumentHelp(
        "The job: jobs/JOB.yaml next to the settings, or a path.", valueName: "job")
}

/// `--dry-run` of the commands that write.
struct DryRunOption: ParsableArguments {
    @Flag(help: "Print what would be done; write nothing.")
    var dryRun = false

    /// Throws where the command is told to write as well.
    func refuse(with execute: Bool) throws {
        try refuse(
            if: dryRun && execute,
            "--dry-run and --execute contradict each other; give one of them.")
    }

    /// Shows what would be done.
    ///
    /// - Parameters:
    ///   - members: For machines.
    ///   - sentence: For people.
    ///   - common: Which of them is asked for.
    ///   - invocation: Where it goes.
    /// - Returns: Success.
    /// - Throws: When the stream takes no more.
    func show(
        _ members: CanonicalJSON, _ sentence: String, _ common: CommonOptions,
        in invocation: Invocation
    ) throws(CommandFailure) -> ExitStatus {
        var object = ["dry_run": CanonicalJSON.boolean(true)]
        if case .object(let others) = members { object.merge(others) { $1 } }
        try common.show(
            .object(object), ["Dry run: " + sentence + " Nothing was written."], in: invocation)
        return .ok
    }
}

/// The options for the guards of the commands that apply a plan.
package struct GuardOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Lift this guard for this run alone, such as max_changes; may be repeated.",
            discussion: "Needs --reason; both are recorded.", valueName: "name"))
    package var liftGuard: [String] = []

    @Option(
        help: ArgumentHelp(
            "Why: one reason for all lifted guards, or one for each, in their order.",
            valueName: "text"))
    package var reason: [String] = []

    @Option(
        help: ArgumentHelp(
            "Correct this many subscriptions first, ask Apple about them again, and continue only if "
                + "they agree.",
            valueName: "n"))
    package var canary: Int?

    package init() {}

    /// The most subscriptions that are checked again: they are held at once.
    private static let largestCanary = 10_000

    package func validate() throws {
        try refuse(
            if: !(1...Self.largestCanary).contains(canary ?? 1),
            "--canary takes a number from 1 to \(Self.largestCanary).")
        _ = try liftedGuards()
    }

    /// Whether anything is asked that only a run that writes can do.
    var isUsed: Bool { !liftGuard.isEmpty || canary != nil }

    /// Every lifted guard with its reason.
    package func liftedGuards() throws -> [GuardName: String] {
        try refuse(
            if: liftGuard.isEmpty && !reason.isEmpty,
            "--reason says why a guard is lifted; name it by --lift-guard.")
        var lifted: [GuardName: String] = [:]
        for (index, text) in liftGuard.enumerated() {
            let name = try Self.name(text)
            try refuse(
                if: reason.count != 1 && reason.count != liftGuard.count,
                "--lift-guard needs --reason TEXT: one for all lifted guards, or one for each.")
            let why = reason.count == 1 ? reason[0] : reason[index]
            try refuse(
                if: why.allSatisfy(\.isWhitespace),
                "--reason is empty; say why \(text) may be lifted.")
            try refuse(if: lifted[name] != nil, "--lift-guard names \(text) twice.")
            lifted[name] = why
        }
        return lifted
    }

    private static func name(_ text: String) throws -> GuardName {
        let known = GuardName.liftable.map(\.rawValue)
        if let name = GuardName(rawValue: text), GuardName.liftable.contains(name) { return name }
        let hint =
            text.suggestion(among: known) ?? "known: " + known.joined(separator: ", ")
        throw ValidationError("--lift-guard: there is no guard \"\(text)\"; \(hint)")
    }
}

/// `--app` and `--app-shard` of the commands that can be for some of the configured apps alone.
package struct AppScope: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only this app, in all its environments or in one; may be repeated (default: all).",
            valueName: "bundle[/environment]"))
    package var app: [AppOption] = []

    @Option(
        help: ArgumentHelp(
            "Only the apps of worker K of N; \"trueup apps --app-shard K/N\" lists them.",
            valueName: "k/n"))
    package var appShard: RunFilters.Shard?

    package init() {}

    package func validate() throws {
        if let appShard, appShard.count > RunFilters.Shard.mostWorkers {
            throw ValidationError(
                "--app-shard takes up to \(RunFilters.Shard.mostWorkers) workers.")
        }
    }

    /// The configured apps that are meant, to work on them.
    ///
    /// - Parameter configured: Those of the settings.
    /// - Returns: `nil` where all are.
    /// - Throws: 64 for an app that is not configured, 5 where none falls to this worker.
    func apps(among configured: [AppSettings]) throws(CommandFailure) -> Set<AppIdentity>? {
        guard let apps = try listed(among: configured) else { return nil }
        guard !apps.isEmpty else {
            throw CommandFailure(
                .empty,
                "No app is assigned to worker \(appShard?.text ?? "") of --app-shard. Apple was not "
                    + "asked. There may be more workers than apps: \"trueup apps --app-shard K/N\" "
                    + "lists the apps of each.")
        }
        return apps
    }

    /// The configured apps that are meant, perhaps none.
    ///
    /// - Parameter configured: Those of the settings.
    /// - Returns: `nil` where all are.
    /// - Throws: 64 for an app that is not configured.
    func listed(among configured: [AppSettings]) throws(CommandFailure) -> Set<AppIdentity>? {
        guard !app.isEmpty || (appShard?.count ?? 1) > 1 else { return nil }
        var apps: Set<AppIdentity> = app.isEmpty ? Set(configured.map(\.identity)) : []
        for option in app {
            let meant = configured.map(\.identity).filter(option.means)
            guard !meant.isEmpty else { throw option.unknown(among: configured) }
            apps.formUnion(meant)
        }
        return apps.filter { appShard?.includes(app: $0) ?? true }
    }

    /// The given options as words, to be given again.
    var words: [String] {
        app.flatMap { ["--app", $0.text] }
            + (appShard.map { ["--app-shard", $0.text] } ?? [])
    }
}

/// `BUNDLE` or `BUNDLE/ENVIRONMENT` of `--app`.
package struct AppOption: ExpressibleByArgument, Hashable, Sendable {
    let text: String
    private let bundleID: String
    private let environment: AppStoreEnvironment?

    package init?(argument: String) {
        let parts = argument.split(separator: "/", omittingEmptySubsequences: false)
        guard let bundle = parts.first, !bundle.isEmpty, parts.count <= 2 else { return nil }
        let named = parts.count == 2 ? parts[1].lowercased() : nil
        environment = AppStoreEnvironment.allCases.first { $0.rawValue.lowercased() == named }
        guard named == nil || environment != nil else { return nil }
        text = argument
        bundleID = String(bundle)
    }

    func means(_ app: AppIdentity) -> Bool {
        app.bundleID == bundleID && (environment == nil || app.environment == environment)
    }

    func unknown(among configured: [AppSettings]) -> CommandFailure {
        let names = configured.map(\.identity.name)
        let hint =
            text.suggestion(among: names + configured.map(\.identity.bundleID))
            ?? "configured are \(names.joined(separator: ", "))"
        return CommandFailure(.usage, "--app: no app \"\(text)\" is configured; \(hint)")
    }
}

extension RunFilters {
    /// The apps of the filters, for every file of the report.
    var appsInWords: [String] {
        (apps ?? []).sorted().map { RunHeader.appFilterPrefix + $0.name }
    }
}

/// Which of several workers an app falls to.
///
/// Every worker gives each app a weight, made of both names alone, and the highest takes it. So the
/// answer is the same on every machine and in every version; an app that is added or taken away
/// moves no other; and a worker that is added takes apps over, but moves none between the others:
/// the books of an app stay where they are.
extension RunFilters.Shard {
    /// More workers than this are a typing error.
    static let mostWorkers = 10_000

    /// - Parameters:
    ///   - app: Any app.
    ///   - count: How many workers there are, at least one.
    /// - Returns: From 1 to `count`.
    package static func number(of app: AppIdentity, among count: Int) -> Int {
        let name = app.name
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in name.utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
        }
        var chosen = 1
        var highest: UInt64 = 0
        for number in 1...max(1, count) {
            let weight = mixed(hash ^ mixed(UInt64(number)))
            if number == 1 || weight > highest { (chosen, highest) = (number, weight) }
        }
        return chosen
    }

    /// Every bit of the result depends on every bit of the value (the finalizer of SplitMix64).
    private static func mixed(_ value: UInt64) -> UInt64 {
        var bits = value &+ 0x9e37_79b9_7f4a_7c15
        bits = (bits ^ (bits >> 30)) &* 0xbf58_476d_1ce4_e5b9
        bits = (bits ^ (bits >> 27)) &* 0x94d0_49bb_1331_11eb
        return bits ^ (bits >> 31)
    }

    /// Whether an app falls to this worker.
    func includes(app: AppIdentity) -> Bool { Self.number(of: app, among: count) == number }

    /// As it is given.
    var text: String { "\(number)/\(count)" }
}

/// How people name a run: its id, the beginning or the last part of it, its report folder, or
/// `latest`.
struct RunName {
    private let text: String

    init(_ text: String) { self.text = text }

    /// The id of the run that is meant; an unknown name is left as it is, for the command to
    /// refuse.
    ///
    /// - Throws: 64 where nothing is named, there is no report yet, or more than one run has the
    ///   name.
    func whole(_ settings: Settings, in invocation: Invocation) throws -> String {
        guard text.contains(where: { !$0.isWhitespace }) else {
            throw CommandFailure(
                .usage,
                "the name of the run is empty; give one that \"trueup status\" lists, or latest")
        }
        let name = try lastPart(settings)
        let known = try Books(settings).openToRead(at: invocation.now())
            .runIDs(named: name)
        guard known.count <= 1 else {
            throw CommandFailure(
                .usage,
                "\"\(PlainText.of(name))\" may be more than one run: "
                    + known.joined(separator: ", ") + "; nothing was changed")
        }
        return known.first ?? name
    }

    /// The number of the run, by which changes are dated.
    ///
    /// - Throws: 64 also where the run is not kept.
    func number(
        _ settings: Settings, in store: SQLiteStore, _ invocation: Invocation
    ) throws -> Int64 {
        let runID = try whole(settings, in: invocation)
        do {
            if let number = try store.number(ofRun: runID) { return number }
        } catch StoreError.unavailable(let text) {
            throw CommandFailure(.usage, text)
        }
        throw CommandFailure(
            .usage,
            "no run \(PlainText.of(runID)) is kept; \"trueup status\" lists the last ones")
    }

    /// Returns the record of the run.
    ///
    /// - Throws: 64 also where nothing is kept of it any more.
    func record(
        _ settings: Settings, in invocation: Invocation
    ) throws -> (runID: String, record: SQLiteRunRecord) {
        let runID = try whole(settings, in: invocation)
        let store = try Books(settings).openToRead(at: invocation.now())
        do {
            return (runID, try store.runRecord(ofRun: runID))
        } catch StoreError.unavailable(let text) {
            throw CommandFailure(.usage, text)
        }
    }

    /// A report folder has the name of its run, and `latest` is a link to the newest.
    private func lastPart(_ settings: Settings) throws -> String {
        let name = Self.lastPart(of: text)
        guard name == ReportFolder.latest else { return name }
        let link =
            text.contains("/") ? text : settings.reportDirectory + "/" + ReportFolder.latest
        guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: link) else {
            throw CommandFailure(.usage, "\(link): there is no report yet")
        }
        return Self.lastPart(of: target)
    }

    private static func lastPart(of path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }
}
