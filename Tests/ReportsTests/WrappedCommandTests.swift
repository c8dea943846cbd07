import Testing

@testable import Reports

@Suite struct `A wrapped sentence` {
    @Test func `breaks between words, but never within a command`() {
        let command = "`trueup run nightly --lift-guard max_changes --reason 'all is right'`"
        let lines = "Let it through once: \(command) (or leave it).".wrapped(
            to: 30, firstMargin: "  - ", margin: "    ")
        #expect(lines == ["  - Let it through once:", "    \(command)", "    (or leave it)."])
    }

    @Test func `takes an accent that encloses nothing for a letter`() {
        #expect("one ` two three".wrapped(to: 8) == ["one `", "two", "three"])
        #expect("a `b` `c d`, e".wrapped(to: 6) == ["a `b`", "`c d`,", "e"])
    }
}
