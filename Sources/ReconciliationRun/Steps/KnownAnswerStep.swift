import Reconciliation
import SubscriptionStore
import Subscriptions

/// Asks each app one question that Apple answered before, at the beginning of a run that continues
/// another one.
///
/// Perhaps only ids that fail are left of a pass. Without a single answer beside them they would
/// look like an outage, and the run would wait for its end.
struct KnownAnswerStep {
    let context: RunContext

    func run() async throws {
        guard context.pass.resumedFrom != nil else { return }
        var subjects: [AskedPage.Subject] = []
        for app in context.appStores.keys.sorted() {
            let id = try await context.store.judgedID(of: app, in: context.pass)
            if let id { subjects.append(AskedPage.Subject(id: id, row: nil, app: app)) }
        }
        var asking = context
        asking.job.policy.history = .never
        // Only that there is an answer counts.
        if let end = await AskedPage.ask(subjects, in: asking).end {
            throw RunInterruption(end: end)
        }
    }
}
