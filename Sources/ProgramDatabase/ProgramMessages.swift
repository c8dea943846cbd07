import Synchronization

/// The lines of the program's standard error, kept until there is a log for them.
final class ProgramMessages: Sendable {
    private static let mostLines = 1000

    private struct Kept {
        var lines: [String] = []
        var count = 0
        var hearer: (@Sendable (String) -> Void)?
    }

    private let kept = Mutex(Kept())

    func take(_ line: String) {
        let hearer: (@Sendable (String) -> Void)? = kept.withLock { kept in
            kept.count += 1
            guard kept.count <= Self.mostLines, kept.hearer == nil else { return kept.hearer }
            kept.lines.append(line)
            return nil
        }
        let count = kept.withLock(\.count)
        guard let hearer, count <= Self.mostLines + 1 else { return }
        hearer(count <= Self.mostLines ? line : "further lines of the program are not logged")
    }

    func hear(_ hearer: @escaping @Sendable (String) -> Void) {
        let lines = kept.withLock { kept in
            kept.hearer = hearer
            defer { kept.lines = [] }
            return kept.lines
        }
        for line in lines { hearer(line) }
    }
}
