import AppStoreServerAPI
import SubscriptionStore
import Subscriptions

/// The run of a job that goes on now, for commands that order it to do something.
struct RunningJob {
    let live: LiveRun
    private let file: RunOrdersFile

    /// - Parameters:
    ///   - name: The job, as it was started.
    ///   - settings: Where its database is.
    /// - Throws: 64 where no run of it goes on.
    init(named name: String, settings: Settings) throws {
        let database = settings.databasePath
        guard let lock = SQLiteStore.lockHolder(ofDatabaseAt: database) else {
            throw CommandFailure(
                .usage,
                "no job is running on \(database), as far as \(RunningUser.actor) may see; nothing "
                    + "was changed")
        }
        guard let live = LiveRunFile(besideDatabaseAt: database).read(heldBy: lock) else {
            throw CommandFailure(
                .usage,
                "\(lock.holder) holds the lock and has not said which run it is; nothing was "
                    + "changed. A job says so in its first seconds: try again")
        }
        guard live.job == SettingsPath.stem(of: name) || live.job == name else {
            throw CommandFailure(
                .usage,
                "no run of \(name) goes on, but one of \(live.job) (\(live.runID)); nothing was "
                    + "changed")
        }
        self.live = live
        file = RunOrdersFile(besideDatabaseAt: database)
    }

    /// What it has been ordered so far.
    var orders: RunOrders { file.read(forRun: live.runID, process: live.process) }

    /// - Parameter orders: What it is ordered from now on.
    /// - Throws: 74 where that cannot be written.
    func give(_ orders: RunOrders) throws {
        if let reason = file.give(orders) {
            throw CommandFailure(
                .output,
                "the order cannot be left beside the database: \(reason). Nothing was changed. Give "
                    + "it as the user that the job runs as, or as root")
        }
    }

    /// For people: `nightly (20261120T031704Z-7f3c9a, process 17)`.
    var name: String { "\(live.job) (\(live.runID), process \(live.process))" }
}

extension CommonOptions {
    /// A command of this program that acts on the same settings, as it is typed.
    ///
    /// - Parameter words: Without the program's name.
    /// - Returns: One line, quoted for a shell.
    func command(_ words: String...) -> String {
        ShellCommand.text(["trueup"] + words + settingsWords)
    }

    /// What names the same settings in another command; none where they are found without.
    var settingsWords: [String] { config.map { ["--config", $0] } ?? [] }
}
