import FoundationEssentials
import Reports
import SubscriptionStore
import Subscriptions

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
        guard let number = try store.number(ofRun: runID) else {
            throw CommandFailure(
                .usage,
                "no run \(PlainText.of(runID)) is kept; \"trueup status\" lists the last ones")
        }
        return number
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
