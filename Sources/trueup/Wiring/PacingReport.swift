import AppStoreServerAPI
import Logging
import Subscriptions

/// Tells the log, and the person at the terminal, what a run waits for and how fast it asks.
struct PacingReport: Sendable {
    let logger: Logger
    let terminal: ProgressLine
    let waits: WaitingTime

    func tell(_ notice: PacingNotice) {
        log(notice)
        waits.note(notice)
        guard let sentence = notice.sentence else { return }
        switch notice.event {
        case .wait(let wait) where !wait.isPastDeadline:
            terminal.wait(
                sentence, for: "\(notice.endpoint.rawValue) (\(wait.name))", until: wait.until)
        case .outage(let outage):
            guard case .waits(let until, _) = outage.event else { return terminal.say(sentence) }
            terminal.wait(sentence, for: "\(notice.endpoint.rawValue) (outage)", until: until)
        default: terminal.say(sentence)
        }
    }

    private func log(_ notice: PacingNotice) {
        var data: Logger.Metadata = [
            "app": "\(notice.app.bundleID)", "environment": "\(notice.app.environment.rawValue)",
            "endpoint": "\(notice.endpoint.rawValue)",
        ]
        switch notice.event {
        case .outage(let outage):
            data["sentence"] = "\(outage.sentence)"
            if case .waits(let until, _) = outage.event { data["until"] = "\(until.rfc3339)" }
            logger.warning("outage", metadata: data)
        case .wait(let wait):
            data["reason"] = "\(wait.name)"
            data["until"] = "\(wait.until.rfc3339)"
            data["sentence"] = "\(wait.sentence)"
            logger.warning("wait.begun", metadata: data)
        case .rate(let perSecond, let configured):
            data["calls_per_second"] = "\(perSecond)"
            data["configured"] = "\(configured)"
            logger.notice("rate.changed", metadata: data)
        case .breakerOpened(let cause):
            data["cause"] = "\(cause)"
            logger.warning("breaker.opened", metadata: data)
        case .breakerClosed: logger.notice("breaker.closed", metadata: data)
        case .retries(let count, let cause):
            data["count"] = "\(count)"
            data["cause"] = "\(cause)"
            logger.notice("retries", metadata: data)
        }
    }
}
