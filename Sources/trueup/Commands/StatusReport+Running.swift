package import SubscriptionStore
package import Subscriptions

/// What `status` says of a job that is running.
extension StatusReport {
    package struct Running {
        package var holder: String
        package var since: Timestamp?
        /// What it tells of itself; `nil` where it has told nothing.
        package var live: LiveRun?
        /// The command that ends a pause.
        package var resumption: String?

        package init(
            holder: String, since: Timestamp?, live: LiveRun? = nil, resumption: String? = nil
        ) {
            self.holder = holder
            self.since = since
            self.live = live
            self.resumption = resumption
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
            if let throttle = live.throttle { lines.append(throttle.sentence) }
            if let pause = live.pause {
                lines.append(
                    pause.sentence + (resumption.map { "; go on with: " + $0 } ?? ""))
            } else if let wait = live.wait, wait.until > now {
                lines.append(PlainText.of(wait.sentence))
            }
            return lines
        }
    }
}
