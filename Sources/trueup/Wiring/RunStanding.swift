package import ReconciliationRun
package import SubscriptionStore
import Subscriptions

/// How far a run is and what it waits for, at one moment: what people are shown of it.
package struct RunStanding: Hashable, Sendable {
    package typealias Wait = LiveRun.Wait

    package var progress: RunProgress?
    /// The pace of the present stage in units a second; `nil` while it is not known.
    package var perSecond: Double?
    /// The reason why it waits now.
    package var wait: Wait?
    /// The used part of the hour, by app and endpoint.
    package var quota: [LiveRun.QuotaUse]
    /// The pause that people have ordered.
    package var pause: RunOrders.Pause?
    package var throttle: RunOrders.Throttle?

    package init(
        progress: RunProgress? = nil, perSecond: Double? = nil, wait: Wait? = nil,
        quota: [LiveRun.QuotaUse] = []
    ) {
        self.progress = progress
        self.perSecond = perSecond
        self.wait = wait
        self.quota = quota
    }

    /// At the present rate; `nil` where rate or total is not known, or nothing is left.
    package var millisecondsLeft: Int64? {
        guard let perSecond, perSecond > 0, let progress, let total = progress.total,
            total > progress.done
        else { return nil }
        return Int64(min(1e12, Double(total - progress.done) / perSecond * 1000))
    }

    /// All that is known of the progress, for a line without limits; `nil` before there is any.
    package var sentence: String? {
        progress.map { [full($0), quotaInWords].compactMap(\.self).joined(separator: ", ") }
    }

    /// Of the endpoint that has used most of its share; `nil` before a call was made.
    private var quotaInWords: String? {
        guard let most = quota.map(\.percent).max() else { return nil }
        return most == 0 ? "under 1 % of quota" : "\(most) % of quota"
    }

    /// Returns the parts that fit into a line of the terminal: the most important comes first, and
    /// is left out last.
    ///
    /// - Parameter room: How many characters fit.
    /// - Returns: At most so many characters.
    package func line(within room: Int) -> String {
        let waiting =
            pause?.sentence ?? wait?.sentence
        let forms: [[String?]] =
            waiting == nil
            ? [
                [sentence], [progress.map(full)], [progress.map(Self.text)],
                [progress.map(Self.short)],
            ]
            : [
                [sentence, waiting], [progress.map(full), waiting],
                [progress.map(Self.text), waiting],
                [progress.map(Self.short), waiting], [waiting],
                pause == nil ? [progress.map(Self.short)] : ["paused"],
            ]
        let lines = forms.map { $0.compactMap(\.self).joined(separator: "; ") }
        return lines.first { $0.count <= room } ?? String((lines.last ?? "").prefix(room))
    }

    /// With the rate and the time left, where these are known.
    private func full(_ progress: RunProgress) -> String {
        var parts = [Self.text(progress)]
        if let perSecond {
            parts.append((perSecond < 10 ? Self.tenths(perSecond) : "\(Int(perSecond))") + "/s")
        }
        if let millisecondsLeft {
            parts.append(DurationText.age(ofMilliseconds: millisecondsLeft) + " left")
        }
        return parts.joined(separator: ", ")
    }

    private static func tenths(_ number: Double) -> String {
        let tenths = Int((number * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    /// For a narrow terminal: `walk 29 %`.
    private static func short(_ progress: RunProgress) -> String {
        guard let total = progress.total, total > 0 else {
            return "\(progress.stage.rawValue) \(progress.done)"
        }
        let share = min(1, Double(progress.done) / Double(total))
        return "\(progress.stage.rawValue) \(Int(share * 100)) %"
    }

    /// `120 of 5000`, or `120` where it is not known of how many.
    private static func share(of progress: RunProgress) -> String {
        progress.total.map { "\(progress.done) of \($0)" } ?? "\(progress.done)"
    }

    private static func text(_ progress: RunProgress) -> String {
        switch progress.stage {
        case .books: "books: \(progress.done) rows read from the server"
        case .read:
            progress.total.map { "read: \(progress.done) of about \($0) rows of your table" }
                ?? "read: \(progress.done) rows of your table"
        case .file: "file: \(progress.done) lines read"
        case .load: "load: \(Self.share(of: progress)) lines compared with the table"
        case .entitlements: "entitlements: \(Self.share(of: progress)) customers up to date"
        case .recover: "recover: \(progress.done) notifications read"
        case .walk:
            progress.total.map { "walk: \(progress.done) of \($0) rows asked" }
                ?? "walk: \(progress.done) rows asked"
        case .again: "walk: \(progress.done) rows asked once more"
        case .purchases: "purchases: \(Self.share(of: progress)) customers read"
        case .plan: "plan: \(Self.share(of: progress)) corrections checked"
        case .apply: "apply: \(Self.share(of: progress)) corrections written"
        case .causes: "causes: \(progress.done) findings examined"
        case .conclude: "conclude: \(Self.share(of: progress)) rows noted"
        case .report: "report: \(Self.share(of: progress)) lines written"
        case .verify: "verify: \(Self.share(of: progress)) lines checked"
        }
    }
}
