import Testing
import trueup

@Suite struct `Lines for a terminal` {
    @Test(arguments: 20...120)
    func `keep every word whole and in its order`(columns: Int) {
        let text = """
            Findings remain (exit status 2): 17 of 111 rows differ; 47 corrections written.

            Tie-out      in scope   matched   discrepant   undecided
              1. Read discrepancies.csv: what is open.
            """
        let fitted = TerminalLines.fitted(text, columns: columns)
        #expect(
            fitted.split(whereSeparator: \.isWhitespace)
                == text.split(whereSeparator: \.isWhitespace))
        for line in fitted.split(separator: "\n") {
            #expect(line.count <= columns || !line.drop { $0 == " " }.contains(" "), "\(line)")
        }
    }

    @Test func `go on two columns further in`() {
        #expect(
            TerminalLines.fitted("  - one two three four five", columns: 20)
                == "  - one two three\n    four five")
    }

    @Test func `break no command`() {
        let line = "then `trueup apply reports/latest --approve abc` once"
        #expect(
            TerminalLines.fitted(line, columns: 30)
                == "then\n  `trueup apply reports/latest --approve abc`\n  once")
    }

    @Test func `count no colour`() {
        let line = "\u{1B}[1mFindings\u{1B}[0m remain opened"
        let broken = "\u{1B}[1mFindings\u{1B}[0m remain\n  opened"
        #expect(TerminalLines.fitted(line, columns: 21) == broken)
        #expect(TerminalLines.fitted(line, columns: 22) == line)
    }

    @Test func `stay as they are where the terminal is wide enough, or says nothing sensible`() {
        let text = "a line of six words\n\n  and another\n"
        #expect(TerminalLines.fitted(text, columns: 80) == text)
        #expect(TerminalLines.fitted(text, columns: 3) == text)
    }
}
