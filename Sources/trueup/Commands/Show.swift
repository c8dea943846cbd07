package import ArgumentParser
import Reports
import SubscriptionStore
package import Subscriptions

/// `trueup show plan [RUN]`: what a check would change, for people.
package struct Show: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Show the plan of a run, one line a change, with counts by table.",
        discussion: """
            The plan is that of the newest report, or of the run that is named. Lines begin with ~ for \
            a change, + for an insert and - for a deletion. Reads the database and changes nothing; \
            "trueup apply" applies a check's plan.
            """)

    package enum Subject: String, ExpressibleByArgument, CaseIterable, Sendable {
        case plan
    }

    @Argument(help: ArgumentHelp("What to show: plan.", valueName: "what"))
    package var subject: Subject

    @Argument(
        help: ArgumentHelp(
            "The run, as \"trueup status\" lists it, or the end of its name; its report folder. The "
                + "newest report if left out.", valueName: "run"))
    package var run = "latest"

    @OptionGroup(title: "For every command") package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        let (runID, record) = try RunName(run).record(settings, in: invocation)
        var counts = PlanListing.Counts()
        try record.forEachPlanned { correction, _ in counts.add(correction) }
        if common.json {
            try record.forEachPlanned { correction, fate in
                try invocation.show(json: PlanListing.json(of: correction, fate: fate))
            }
            return .ok
        }
        let header = try record.summary().header
        try invocation.show(
            "Plan of run \(runID) (\(header.mode.rawValue) \(header.job)): " + counts.sentence)
        try record.forEachPlanned { correction, fate in
            try invocation.show(PlanListing.line(of: correction, fate: fate))
        }
        return .ok
    }
}
