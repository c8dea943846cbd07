import Foundation
import TestSupport
import Testing

/// The words of the documentation: the glossary, and words that no page uses any more.
///
/// Code spans, blocks of code and the targets of links are exempt, because published names stay.
@Suite struct `The language of the pages` {
    @Test func `has a glossary whose terms are in order, and each used by another page`() throws {
        let glossary = try #require(try MarkdownPage("docs/glossary.md").table(headed: "term"))
        let terms = glossary.column("term")
        #expect(terms.count >= 30)
        #expect(terms == terms.sorted { $0.lowercased() < $1.lowercased() })
        let others = try ProsePage.all.filter { $0.path != "docs/glossary.md" }
        for term in terms {
            #expect(
                others.contains { $0.uses(term) }, "no other page uses the term “\(term)”")
        }
        for row in glossary.rows {
            #expect(row.count == 3 && row[1].hasSuffix("."), "\(row)")
        }
    }

    @Test(arguments: try ProsePage.all)
    func `leads to the glossary from every page`(page: ProsePage) {
        guard page.path != "docs/glossary.md" else { return }
        #expect(page.links.contains { $0.hasSuffix("glossary.md") }, "\(page.path)")
    }

    @Test(arguments: try ProsePage.all)
    func `has no word that readers could not understand`(page: ProsePage) throws {
        let found = try OldWord.all.flatMap { try $0.uses(in: page.prose) }
        #expect(found.isEmpty, "\(page.path): \(found.joined(separator: "; "))")
    }

    /// Tables are exempt, and so are lists of published names.
    @Test(arguments: try ProsePage.all)
    func `has no sentence of more than 32 words`(page: ProsePage) {
        for sentence in page.sentences where sentence.count(where: { $0 == "…" }) < 4 {
            let words = sentence.split(separator: " ").count
            #expect(words <= 32, "\(page.path): \(words) words: \(sentence)")
        }
    }
}

/// The words of the messages in the sources, which `jobs/lib/messages` lists.
@Suite struct `The language of the messages` {
    @Test func `has no word that readers could not understand`() throws {
        let result = try Self.list("--check")
        #expect(result.status == 0 && result.output.isEmpty, "\(result.output)\(result.errors)")
    }

    @Test func `is looked for in every message, and found where it is wrong`() throws {
        let all = try Self.list()
        #expect(all.output.split(separator: "\n").count > 2000, "\(all.errors)")
        let folder = try TemporaryFolder()
        let file = try folder.write(
            #"let text = "the row stands" + " beside \(name)""#, to: "Message.swift")
        let wrong = try Self.list("--check", file)
        #expect(wrong.status == 1)
        #expect(wrong.output.contains("1: the row stands beside …"), "\(wrong.output)")
    }

    private static func list(_ arguments: String...) throws -> BuiltExecutable.Result {
        try BuiltExecutable("env", in: URL(fileURLWithPath: "/usr/bin"))
            .run(["python3", Repository.root + "/jobs/lib/messages"] + arguments)
    }
}

/// The first words of doc comments in the product.
@Suite struct `The language of doc comments` {
    @Test func `says what the thing is or does`() throws {
        for target in try Repository.sourceTargets where !Self.simulator.contains(target) {
            for file in Repository.swiftFiles(under: "Sources/" + target) {
                var isInside = false
                for line in try Repository.text(of: file).components(separatedBy: "\n") {
                    let text = line.trimmingCharacters(in: .whitespaces)
                    let isDocumentation = text.hasPrefix("///")
                    if isDocumentation, !isInside {
                        let isIndirect = text.contains(/^\/\/\/ (What|Why|That|Whom|The same)\b/)
                        #expect(!isIndirect, "\(file): \(line)")
                    }
                    isInside = isDocumentation
                }
            }
        }
    }

    private static let simulator = ["AppStoreSimulation", "appstore-simulator"]
}

/// A page of the documentation as plain text, for tests of its wording.
struct ProsePage: Sendable, CustomTestStringConvertible {
    let path: String
    /// The text in one line, without code and link targets; a blank line is a pilcrow.
    let prose: String
    /// The sentences and parts of lists, without tables and headings.
    let sentences: [String]
    let links: [String]

    var testDescription: String { path }

    static var all: [ProsePage] { get throws { try read.get() } }

    /// Read once for all tests.
    private static let read = Result {
        try (MarkdownPage.all + [MarkdownPage("docs/mappings/README.md")])
            .map { try ProsePage($0) }
    }

    private init(_ page: MarkdownPage) throws {
        path = page.path
        links = page.localLinks
        var isFenced = false
        var lines: [Substring] = []
        var paragraphs: [Substring] = []
        for line in try Repository.text(of: page.path).split(
            separator: "\n", omittingEmptySubsequences: false)
        {
            if line.hasPrefix("```") {
                isFenced.toggle()
                lines.append("¶")
                paragraphs.append("¶")
                continue
            }
            guard !isFenced, !line.hasPrefix("    ") else { continue }
            lines.append(line.contains(/\S/) ? line : "¶")
            if line.contains(/^\s*([-|#]|\d+\.)/) { paragraphs.append("¶") }
            if !line.hasPrefix("|"), !line.hasPrefix("#") {
                paragraphs.append(lines[lines.count - 1])
            }
        }
        prose = Self.text(of: lines)
        sentences = Self.text(of: paragraphs).replacing(/[.!?:;]\s/) { $0.output + "¶" }
            .split(separator: "¶").map(String.init)
    }

    private static func text(of lines: [Substring]) -> String {
        lines.joined(separator: " ")
            .replacing(/`[^`]*`/, with: "…")
            .replacing(/\]\([^)]*\)/, with: "]")
            .replacing(/\s+/, with: " ")
    }

    /// Whether the text has this term, in the singular or with an s.
    func uses(_ term: String) -> Bool {
        let text = prose.lowercased()
        return text.ranges(of: term.lowercased()).contains { range in
            let isStart = range.lowerBound == text.startIndex
            let before = isStart ? " " : text[text.index(before: range.lowerBound)]
            let after = text[range.upperBound...].drop { $0 == "s" }.first ?? " "
            return !before.isLetter && !after.isLetter
        }
    }
}

/// A word of earlier versions of the pages, in the sense that they gave it.
struct OldWord: Sendable {
    let pattern: String
    let instead: String
    /// Uses that are ordinary English.
    var except: String?

    /// The places in a text, each with a few words around it.
    func uses(in prose: String) throws -> [String] {
        var text = prose
        if let except {
            text.replace(try Self.regex(except), with: "…")
        }
        return text.matches(of: try Self.regex(pattern)).map { match in
            let start = text.index(
                match.range.lowerBound, offsetBy: -30, limitedBy: text.startIndex)
            let end = text.index(match.range.upperBound, offsetBy: 30, limitedBy: text.endIndex)
            let place = text[(start ?? text.startIndex)..<(end ?? text.endIndex)]
            return "“\(place)” (say: \(instead))"
        }
    }

    private static func regex(_ pattern: String) throws -> Regex<AnyRegexOutput> {
        try Regex(pattern).ignoresCase().wordBoundaryKind(.simple)
    }

    static let all = [
        OldWord(pattern: #"\bnights?\b"#, instead: "run"),
        OldWord(
            pattern: #"\b(the|a|an|new|open|this|that|each|every|complete|stopped) pass(es)?\b"#,
            instead: "checkpoint"),
        OldWord(
            pattern: #"\b(the|a|an|every|each|one|open|unfinished) round\b"#,
            instead: "full scan", except: #"\bround trip"#),
        OldWord(pattern: #"\bagenda\b"#, instead: "queue"),
        OldWord(pattern: #"\bow(e|es|ed|ing)\b"#, instead: "pending", except: #"\bowing to\b"#),
        OldWord(pattern: #"\bbooks?\b"#, instead: "trueup's database", except: #""the books""#),
        OldWord(pattern: #"\bheld back\b"#, instead: "deferred"),
        OldWord(
            pattern:
                #"\b(signed|last|next|oldest|older|newer) words?\b|\bword of Apple|Apple's word\b"#,
            instead: "signed statement"),
        OldWord(
            pattern:
                #"\basks? Apple about\b|\b(is|are|was|were|be) asked about\b|\basks? about (\w+ )?(rows?|customers?)\b"#,
            instead: "check"),
        OldWord(pattern: #"\bjudg(e|es|ed|ing|ement)\b"#, instead: "check"),
        OldWord(pattern: #"\brows? (that |which )?(has |have )?moved\b"#, instead: "changed"),
        OldWord(
            pattern: #"\b(stands?|stood)\b"#, instead: "is stored, is listed",
            except: #"\b(stands?|stood) for\b"#),
        OldWord(pattern: #"\b(the house|rooms)\b"#, instead: "overview, modules"),
        OldWord(
            pattern: #"\b(is|are|was|were|be|been|nothing|not) told\b|\b(tells?|told) of\b"#,
            instead: "delivered, notified"),
        OldWord(pattern: #"\bmend(s|ed|ing)?\b"#, instead: "fix"),
        OldWord(
            pattern: #"\b(take|takes|taken|took|taking) (over|up|back)\b"#,
            instead: "adopted, imported, reverted"),
        OldWord(
            pattern: #"\b(stand-ins?|stray|strangers?)\b"#, instead: "alias row, unconfigured app"),
        OldWord(
            pattern: #"\ba (first |second |closer )?look\b|\bdepth of a\b"#,
            instead: "examination"),
        OldWord(
            pattern: #"\bnarrow(s|ed|ing)?\b"#, instead: "filter, partial run",
            except: #"\b(wide and|as) narrow\b"#),
        OldWord(pattern: #"\bquiet rows?\b"#, instead: "unchanged rows"),
        OldWord(pattern: #"\bgravest\b"#, instead: "most severe"),
        OldWord(pattern: #"\bours\b"#, instead: "the stored value, trueup's"),
        OldWord(
            pattern: #"\b(nobody|somebody|everybody|anybody|whoever)\b"#,
            instead: "the actor's name"),
        OldWord(pattern: #"\b(anew|but for)\b"#, instead: "again; except"),
        OldWord(pattern: #"[.,;:] else\b"#, instead: "otherwise"),
        OldWord(
            pattern: #"\b(is|are|was|were) no [a-z]"#, instead: "is not a",
            except:
                #"\bthere (is|are|was|were)( still)? no\b|\bno (longer|more|later|earlier|older)\b"#
        ),
        OldWord(pattern: #"\b(that|which) (is|are) none\b"#, instead: "malformed"),
        OldWord(pattern: #"\bend(s|ed)? with (status )?\d"#, instead: "exits with status"),
        OldWord(pattern: #"\b(gone|go|goes|going) on with\b"#, instead: "resumed"),
        OldWord(pattern: #"\b(woken|rumour)\b"#, instead: "alert; plain words"),
    ]
}
