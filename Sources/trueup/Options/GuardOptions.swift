package import ArgumentParser
package import Subscriptions

/// What the commands that apply a plan take for its guards.
package struct GuardOptions: ParsableArguments {
    @Option(
        name: .customLong("lift-guard"),
        help: ArgumentHelp(
            "Lifts this guard for this run alone, such as max_changes; may be repeated.",
            discussion: "It needs --reason, and both are recorded.", valueName: "name"))
    package var liftGuard: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Why: one reason for all lifted guards, or one for each in their order.",
            valueName: "text"))
    package var reason: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Corrects this many subscriptions first, asks Apple about them again, and goes on only "
                + "if they agree.",
            valueName: "n"))
    package var canary: Int?

    package init() {}

    /// The most subscriptions that are looked at again: they are held at once.
    private static let largestCanary = 10_000

    package func validate() throws {
        if let canary, !(1...Self.largestCanary).contains(canary) {
            throw ValidationError("--canary takes a number from 1 to \(Self.largestCanary).")
        }
        _ = try liftedGuards()
    }

    /// Whether anything is asked that only a run that writes can do.
    var isUsed: Bool { !liftGuard.isEmpty || canary != nil }

    /// Every lifted guard with its reason.
    package func liftedGuards() throws -> [GuardName: String] {
        guard !liftGuard.isEmpty || reason.isEmpty else {
            throw ValidationError("--reason says why a guard is lifted; name it by --lift-guard.")
        }
        var lifted: [GuardName: String] = [:]
        for (index, text) in liftGuard.enumerated() {
            let name = try Self.name(text)
            guard reason.count == 1 || reason.count == liftGuard.count else {
                throw ValidationError(
                    "--lift-guard needs --reason TEXT: one for all lifted guards, or one for each.")
            }
            let why = reason.count == 1 ? reason[0] : reason[index]
            guard why.contains(where: { !$0.isWhitespace }) else {
                throw ValidationError("--reason is empty; say why \(text) may be lifted.")
            }
            guard lifted.updateValue(why, forKey: name) == nil else {
                throw ValidationError("--lift-guard names \(text) twice.")
            }
        }
        return lifted
    }

    private static func name(_ text: String) throws -> GuardName {
        let known = GuardName.liftable.map(\.rawValue)
        if let name = GuardName(rawValue: text), GuardName.liftable.contains(name) { return name }
        let hint =
            NearestName.suggestion(for: text, among: known).map { "did you mean \"\($0)\"?" }
            ?? "known: " + known.joined(separator: ", ")
        throw ValidationError("--lift-guard: there is no guard \"\(text)\"; \(hint)")
    }
}
