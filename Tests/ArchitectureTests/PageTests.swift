import Foundation
import TestSupport
import Testing

/// The pages of the documentation as a whole: they are found, and what they point at is there.
@Suite struct `Pages` {
    @Test func `of docs are all linked from the README`() throws {
        let linked = Set(try MarkdownPage("README.md").localLinks.map(Self.file))
        for page in try MarkdownPage.all where page.path != "README.md" {
            #expect(linked.contains(page.path), "README.md does not link \(page.path)")
        }
    }

    @Test func `link only to what is there`() throws {
        let pages = Dictionary(
            uniqueKeysWithValues: try MarkdownPage.all.map { ($0.path, $0) })
        #expect(pages.count > 10)
        for page in pages.values {
            let folder = page.path.hasPrefix("docs/") ? "docs/" : ""
            for link in page.localLinks {
                let isOwn = link.hasPrefix("#")
                let target = isOwn ? page.path : Self.normal(folder + Self.file(link))
                #expect(
                    FileManager.default.fileExists(atPath: MarkdownPage.root + "/" + target),
                    "\(page.path) links to \(link)")
                guard let mark = link.firstIndex(of: "#"), let other = pages[target] else {
                    continue
                }
                let anchor = String(link[link.index(after: mark)...])
                #expect(other.anchors.contains(anchor), "\(page.path) links to \(link)")
            }
        }
    }

    @Test func `have a changelog with the version of the program`() throws {
        let source = try Repository.text(of: "Sources/trueup/Wiring/PreparedRun.swift")
        let version = try #require(source.firstMatch(of: /static let current = "([0-9.]+)"/)?.1)
        let headings = try MarkdownPage("CHANGELOG.md").headings
        #expect(headings.contains("[Unreleased]"))
        #expect(headings.contains { $0.hasPrefix("[\(version)]") }, "\(headings)")
    }

    @Test func `have a head above every row of a table`() throws {
        for page in try MarkdownPage.all {
            let lines = try Repository.text(of: page.path).components(separatedBy: "\n")
            var isCode = false
            var above = ""
            for (index, line) in lines.enumerated() {
                if line.hasPrefix("```") { isCode.toggle() }
                if !isCode, line.hasPrefix("|"), !above.hasPrefix("|") {
                    let next = lines.dropFirst(index + 1).first ?? ""
                    #expect(next.hasPrefix("|--") || next.hasPrefix("|:-"), "\(page.path): \(line)")
                }
                above = line
            }
        }
    }

    private static func file(_ link: String) -> String {
        String(link.prefix { $0 != "#" })
    }

    /// A path without `..`.
    private static func normal(_ path: String) -> String {
        path.split(separator: "/").reduce(into: [Substring]()) { parts, part in
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }.joined(separator: "/")
    }
}

/// `ARCHITECTURE.md` against the code.
@Suite struct `The page of the architecture` {
    private let page: MarkdownPage

    init() throws {
        page = try MarkdownPage("ARCHITECTURE.md")
    }

    @Test func `has the table of imports`() throws {
        let table = try #require(page.table(headed: "module"))
        #expect(
            table.column("module").sorted() == ImportTable.rules.map { "`\($0.target)`" }.sorted())
        for rule in ImportTable.rules {
            let row = table.rows.first { $0.first == "`\(rule.target)`" } ?? []
            #expect(row.count == 4, "\(rule.target)")
            #expect(Self.list(row.dropFirst(2).first) == rule.ours, "\(rule.target)")
            #expect(Self.list(row.dropFirst(3).first) == rule.outside, "\(rule.target)")
        }
    }

    @Test func `names types and files that are there`() throws {
        let way = try #require(page.table(headed: "step", "type"))
        let others = try #require(page.table(headed: "way", "type"))
        #expect(way.rows.count >= 20)
        #expect(others.rows.count >= 3)
        for row in way.rows + others.rows {
            let text = try Self.files(of: row).map { try Repository.text(of: "Sources/" + $0) }
                .joined()
            for name in (row.dropFirst(1).first ?? "").quotedInBackticks {
                let type = String(name.prefix { $0 != "." })
                let declaration = try Regex(
                    "\\b(struct|enum|class|protocol|extension|func) \(type)\\b")
                #expect(text.contains(declaration), "step \(row.first ?? ""): \(name)")
            }
        }
    }

    @Test func `leads one account through seventy-five files at most`() throws {
        let way = try #require(page.table(headed: "step", "type"))
        let files = Set(way.rows.flatMap(Self.files(of:)))
        #expect(files.count <= 75)
        // It says how many they are.
        #expect(
            try Repository.text(of: "ARCHITECTURE.md").contains("They are \(files.count) files"))
    }

    /// The files of a step below `Sources`; one without a folder stands in that of the one before it.
    private static func files(of row: [String]) -> [String] {
        var folder = ""
        return (row.dropFirst(2).first ?? "").quotedInBackticks.map { path in
            if let end = path.lastIndex(of: "/") { folder = String(path[...end]) }
            return path.contains("/") ? path : folder + path
        }
    }

    @Test func `says where every table of the database belongs`() throws {
        let table = try #require(page.table(headed: "owner"))
        let named = table.column("tables or files").flatMap(\.quotedInBackticks)
        let exact = Set(named.filter { !$0.hasSuffix("*") })
        let families = named.filter { $0.hasSuffix("*") }.map { String($0.dropLast()) }
        let tables = try Self.tablesOfTheSchema()
        #expect(tables.count > 20)
        for name in tables {
            #expect(
                exact.contains(name) || families.contains { name.hasPrefix($0) }, "\(name)")
        }
        for name in exact { #expect(tables.contains(name), "\(name) is no table") }
    }

    private static func list(_ cell: String?) -> Set<String> {
        guard let cell, cell != "–" else { return [] }
        return Set(cell.split(separator: ", ").map(String.init))
    }

    /// What the migrations have made and not dropped again, in their order.
    private static func tablesOfTheSchema() throws -> Set<String> {
        var tables: Set<String> = []
        for file in Repository.swiftFiles(under: "Sources/SubscriptionStore/Migrations") {
            let steps = try Repository.text(of: file).matches(of: /(CREATE|DROP) TABLE (\w+)/)
            for step in steps {
                if step.1 == "CREATE" {
                    tables.insert(String(step.2))
                } else {
                    tables.remove(String(step.2))
                }
            }
        }
        return tables
    }
}
