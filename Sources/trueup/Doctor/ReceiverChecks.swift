import Reports
import Subscriptions

/// Whether those who are told of a run could be told; nothing is sent.
struct ReceiverChecks {
    let settings: Settings
    let invocation: Invocation

    func all() async -> [Diagnosis] {
        [await tell, message, metrics].compactMap(\.self)
    }

    /// The secret or the command; a run without them warns, and its events wait.
    private var tell: Diagnosis? {
        get async {
            guard let notify = settings.notify else { return nil }
            do {
                let notifier = try EventNotifier(notify, isVerbose: false, in: invocation)
                await notifier.shutdown()
            } catch {
                return .failed("tell", nil, error)
            }
            switch notify.destination {
            case .url(let url, secret: _): return .ok("tell", nil, "\(url), signed")
            case .command(let words): return .ok("tell", nil, "\(words[0]) can be run")
            }
        }
    }

    /// The address, the secret and the program; a run without them warns.
    private var message: Diagnosis? {
        guard settings.message != MessageSettings() else { return nil }
        let messenger = RunMessenger(settings, in: invocation)
        do {
            try messenger.check()
        } catch {
            return .warning("message", nil, error)
        }
        return .ok("message", nil, messenger.description)
    }

    /// A run warns, and the collector goes on with old figures.
    private var metrics: Diagnosis? {
        guard let directory = settings.metricsDirectory else { return nil }
        guard let reason = FileSystemFacts.obstacle(toFilesIn: directory) else {
            return .ok("metrics", nil, "\(directory) can be written")
        }
        return .warning(
            "metrics", nil, "\(directory) takes no file: \(reason)",
            fix: "make the folder, and give this user the right to write there")
    }
}
