package import SubscriptionStore
package import Subscriptions

/// What `status` says of a job that is running.
extension StatusReport {
    package struct Running {
        package var holder: String
        package var since: Timestamp?
        /// What it tells of itself; `nil` where it has told nothing.
        package var live: LiveRun?

        package init(holder: String, since: Timestamp?, live: LiveRun? = nil) {
            self.holder = holder
            self.since = since
            self.live = live
        }

        var json: CanonicalJSON {
            var members: [String: CanonicalJSON] = [:]
            if case .object(let told) = live?.json { members = told }
            members["holder"] = .string(holder)
            members["since"] = .time(since)
            return .object(members)
        }

        /// How far it is and what it waits for, a line each.
        func lines(at now: Timestamp) -> [String] {
            guard let live else { return [] }
            var lines = [live.runID]
            if let sentence = live.sentence { lines.append(PlainText.of(sentence)) }
            if let wait = live.wait, wait.until > now {
                lines.append(
                    "waiting until \(wait.until.rfc3339) for \(PlainText.of(wait.reason))")
            }
            return lines
        }
    }
}
