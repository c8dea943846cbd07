import Subscriptions
import Testing

@Suite struct `A command to paste` {
    @Test(arguments: [
        (["trueup", "run", "nightly"], "trueup run nightly"),
        (["a b"], "'a b'"), ([""], "''"), (["it's"], "'it'\\''s'"), (["$HOME;rm"], "'$HOME;rm'"),
        (["/etc/trueup.yaml", "x=1"], "/etc/trueup.yaml x=1"), (["é"], "'é'"), (["~"], "'~'"),
    ])
    func `is quoted where a shell would read something else`(words: [String], text: String) {
        #expect(words.shellCommand == text)
    }
}
