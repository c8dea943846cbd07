import Subscriptions

/// The apps that lines of a report may be about: those of its own manifest, and those of the runs
/// that it follows.
///
/// A finding stays open, and a correction can be taken back, after its app has been removed from the
/// settings; the manifest names only what was configured. What a line says of such an app is held
/// against its signed payload like any other.
struct KnownApps {
    /// What is said of a line whose app nobody names.
    static let problem = "its app is none of the manifest's, nor of a run's before it"

    private var apps: [ManifestRecord.App] = []
    /// Whether a run that could name an app is not there to be read.
    private let isOpen: Bool

    /// - Parameter first: The oldest run that is there: alone, or at the front of its chain.
    init(startingWith first: ManifestRecord?) {
        isOpen = first?.previous != nil
    }

    /// Adds the apps of the next run, whose word counts where an earlier one says something else.
    mutating func add(_ manifest: ManifestRecord) {
        apps.insert(contentsOf: manifest.apps, at: 0)
        var seen: Set<AppIdentity> = []
        apps.removeAll { !seen.insert($0.identity).inserted }
    }

    /// The app of a line; `nil` where no run names it.
    ///
    /// Where older runs are missing, it is the one that the line names: its payload must then be
    /// made for that one.
    func app(of line: JSONRecord) -> ManifestRecord.App? {
        let bundleID = line.text("app")
        let environment = line.text("environment")
        let known = apps.first { $0.isNamed(bundleID: bundleID, environment: environment) }
        guard known == nil, isOpen, let bundleID,
            let environment = environment.flatMap(AppStoreEnvironment.init(rawValue:))
        else { return known }
        return ManifestRecord.App(
            identity: AppIdentity(bundleID: bundleID, environment: environment), appAppleID: nil)
    }
}
