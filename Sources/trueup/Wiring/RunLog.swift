import Glibc
package import Logging
package import Subscriptions
import Synchronization

/// The structured log of a run: JSON Lines in the report folder, and what a person should see on
/// standard error.
package struct RunLog: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var logLevel: Logger.Level = .info
    private let sink: Sink
    private let now: @Sendable () -> Timestamp
    /// Where each line is also shown, and in which form.
    private let echo: Echo?

    /// Shows log lines to the person at the terminal (`--verbose`).
    package typealias Echo = (format: LogFormat, write: @Sendable (String) -> Void)

    /// An append-only file; the caller that opens it closes it.
    package final class Sink: Sendable {
        private let descriptor: Mutex<Int32>

        /// - Throws: 73 when the file cannot be opened.
        package init(path: String) throws(CommandFailure) {
            let opened = unsafe open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o640)
            guard opened >= 0 else {
                throw CommandFailure(
                    .cannotCreate,
                    "The log of the run, \(path), cannot be written. The run did not begin. Check the "
                        + "rights on its folder.")
            }
            descriptor = Mutex(opened)
        }

        func append(_ line: String) {
            descriptor.withLock { descriptor in
                guard descriptor >= 0 else { return }
                let bytes = Array((line + "\n").utf8)
                let start = lseek(descriptor, 0, SEEK_END)
                // Usually one write call for a line. A line that does not fit on the disk does not
                // fail the run (its report will), but what was written of it is cut off again, so
                // that the next line does not continue it.
                var written = 0
                while written < bytes.count {
                    let taken = unsafe bytes.withUnsafeBytes { buffer in
                        unsafe write(
                            descriptor, buffer.baseAddress.map { unsafe $0 + written },
                            buffer.count - written)
                    }
                    if taken < 0, errno == EINTR { continue }
                    guard taken > 0 else {
                        if written > 0, start >= 0 { _ = ftruncate(descriptor, start) }
                        return
                    }
                    written += taken
                }
            }
        }

        /// Seals the file; later lines go nowhere.
        package func close() {
            descriptor.withLock { descriptor in
                guard descriptor >= 0 else { return }
                Glibc.close(descriptor)
                descriptor = -1
            }
        }
    }

    package init(sink: Sink, now: @escaping @Sendable () -> Timestamp, echo: Echo?) {
        self.sink = sink
        self.now = now
        self.echo = echo
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var members: [String: CanonicalJSON] = [
            "time": .time(now()), "level": .string(event.level.rawValue),
            "message": .string(event.message.description),
        ]
        for (key, value) in metadata.merging(event.metadata ?? [:], uniquingKeysWith: { $1 }) {
            members[key] = .string(value.description)
        }
        let line = CanonicalJSON.object(members).rendered
        sink.append(line)
        switch echo?.format {
        case nil: break
        case .json: echo?.write(PlainText.ofJSON(line) + "\n")
        case .text: echo?.write(PlainText.of(text(of: event)) + "\n")
        }
    }

    private func text(of event: LogEvent) -> String {
        let all = metadata.merging(event.metadata ?? [:], uniquingKeysWith: { $1 })
        let pairs = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
        return "\(now().rfc3339) \(event.level.rawValue) \(event.message)" + pairs.joined()
    }
}
