import Foundation
import ReconciliationRun
import Subscriptions
import Synchronization
import Testing
import trueup

@Suite struct `A line of progress` {
    private final class Screen: Sendable {
        private let text = Mutex("")
        private let time = Mutex(Timestamp(unixMilliseconds: 1_795_144_624_000))
        var shown: String { text.withLock { $0 } }
        var now: Timestamp {
            get { time.withLock { $0 } }
            set { time.withLock { $0 = newValue } }
        }

        func line(
            isTerminal: Bool, isQuiet: Bool = false, columns: Int = 80
        ) -> ProgressLine {
            ProgressLine(
                isTerminal: isTerminal, isQuiet: isQuiet, now: { [self] in now },
                columns: { columns },
                write: { [self] more in text.withLock { $0 += more } })
        }
    }

    private let screen = Screen()
    private let end = Timestamp(unixMilliseconds: 1_795_144_644_000)

    @Test func `tells a wait in a line of its own where there is no terminal`() {
        screen.line(isTerminal: false).wait("Apple said no.", for: "a 429", until: end)
        #expect(screen.shown == "trueup: Apple said no.\n")
    }

    @Test func `tells a wait in the line that is written over on a terminal`() {
        let line = screen.line(isTerminal: true)
        line.wait("Apple said no.", for: "a 429", until: end)
        #expect(screen.shown == "\r\u{1B}[Kwaiting until 2026-11-20T03:17:24.000Z for a 429")
        line.clear()
        #expect(screen.shown.hasSuffix("a 429\r\u{1B}[K"))
    }

    @Test func `goes on telling a wait after it said something else, until its end`() {
        let line = screen.line(isTerminal: true)
        line.wait("Apple said no.", for: "a 429", until: end)
        line.say("stopping")
        #expect(
            screen.shown.hasSuffix(
                "trueup: stopping\n\r\u{1B}[Kwaiting until 2026-11-20T03:17:24.000Z for a 429"))
        screen.now = end
        line.say("stopped")
        #expect(screen.shown.hasSuffix("trueup: stopped\n"))
    }

    @Test(arguments: [20, 30, 50, 80, 200])
    func `never fills a line of the terminal, and says what fits`(columns: Int) {
        let line = screen.line(isTerminal: true, columns: columns)
        line.show(RunProgress(stage: .walk, done: 120_000, total: 412_883))
        line.wait("Apple said no.", for: "subscription_statuses (quota)", until: end)
        for shown in screen.shown.components(separatedBy: "\r\u{1B}[K") {
            #expect(shown.count < columns, "\(shown)")
        }
        #expect(screen.shown.contains(columns >= 50 ? "120000 of 412883" : "walk 29 %"))
        #expect(screen.shown.contains("waiting until") == (columns >= 80))
    }

    @Test(arguments: [true, false])
    func `is silent when told so`(isTerminal: Bool) {
        let line = screen.line(isTerminal: isTerminal, isQuiet: true)
        line.wait("Apple said no.", for: "a 429", until: end)
        line.say("stopping")
        line.clear()
        #expect(screen.shown.isEmpty)
    }
}
