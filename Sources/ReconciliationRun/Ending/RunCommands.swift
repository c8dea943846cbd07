import Subscriptions

/// The commands that the messages of a run name: whole, as somebody pastes them into a shell.
///
/// They stand between grave accents, by which the summary knows what it may not break.
package struct RunCommands: Hashable, Sendable {
    /// The words that gave this run, without what lifts guards.
    package var own: [String]
    /// The words that make a new plan of the same kind, writing nothing.
    package var check: [String]
    /// Where the report of this run will stand; `nil` where nobody has said.
    package var report: String?
    /// What every other command on the same settings needs.
    package var settings: [String]

    /// - Parameters:
    ///   - own: The words that gave this run, from the program on.
    ///   - check: The words that make a new plan of the same kind.
    ///   - settings: The words that name the settings; none where they are found without.
    package init(own: [String], check: [String], settings: [String] = []) {
        self.own = own
        self.check = check
        self.settings = settings
    }

    /// This run once more.
    package var again: String { Self.shown(own + settings) }

    /// Looking at the rows anew, which leaves a plan.
    package var newPlan: String { Self.shown(check + settings) }

    /// Applying exactly one plan of this run's report.
    ///
    /// - Parameters:
    ///   - seal: The plan.
    ///   - guards: What would stop it, and is lifted.
    ///   - reason: Why, as the ledger keeps it.
    /// - Returns: One line; `nil` where nobody knows where the report will stand.
    func applying(
        _ seal: PlanSeal, lifting guards: [GuardName], because reason: String
    ) -> String? {
        report.map { report in
            let apply = ["trueup", "apply", report + "/plan.json", "--approve", seal.sha256]
            return Self.shown(apply + Self.lifts(guards, because: reason) + settings)
        }
    }

    private static func shown(_ words: [String]) -> String { "`\(ShellCommand.text(words))`" }

    /// Another command on the same settings.
    ///
    /// - Parameter words: Its words, without the program.
    /// - Returns: One line.
    package func command(_ words: String...) -> String {
        Self.shown(["trueup"] + words + settings)
    }

    /// A run that gets past guards.
    ///
    /// - Parameters:
    ///   - guards: What is lifted.
    ///   - job: Which job instead of this run's own command; `nil` for that.
    ///   - reason: Why, as the ledger keeps it.
    /// - Returns: One line.
    func lifting(_ guards: [GuardName], in job: String? = nil, because reason: String) -> String {
        let words = job.map { ["trueup", "run", $0] } ?? own
        return Self.shown(words + Self.lifts(guards, because: reason) + settings)
    }

    private static func lifts(_ guards: [GuardName], because reason: String) -> [String] {
        guards.isEmpty
            ? [] : guards.flatMap { ["--lift-guard", $0.rawValue] } + ["--reason", reason]
    }
}
