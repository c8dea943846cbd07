import Foundation

/// The sources of this package as they lie on disk.
enum Repository {
    static let root: String = {
        // …/Tests/ArchitectureTests/Repository.swift
        var path = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        path.removeLast(3)
        return path.joined(separator: "/")
    }()

    static func text(of path: String) throws -> String {
        try String(contentsOfFile: root + "/" + path, encoding: .utf8)
    }

    /// Swift files under a folder, as paths from the root; none where there is no such folder.
    static func swiftFiles(under folder: String) -> [String] {
        let names = FileManager.default.enumerator(atPath: root + "/" + folder)
        return (names?.allObjects as? [String] ?? []).filter { $0.hasSuffix(".swift") }
            .map { folder + "/" + $0 }.sorted()
    }

    /// The folders of `Sources` that hold Swift: the targets.
    static var sourceTargets: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: root + "/Sources")
                .filter { !swiftFiles(under: "Sources/" + $0).isEmpty }.sorted()
        }
    }

    /// Modules that a target's sources import, each with a file that does.
    static func imports(of target: String) throws -> [String: String] {
        // Optional attribute and access level, `import`, an optional kind, the module.
        let pattern =
            /^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:public\s+|package\s+|internal\s+|private\s+|fileprivate\s+)?import\s+(?:(?:class|struct|enum|func|protocol|typealias|let|var)\s+)?(\w+)/
        var modules: [String: String] = [:]
        for file in swiftFiles(under: "Sources/" + target) {
            for line in try text(of: file).components(separatedBy: "\n")
            where line.contains("import ") {
                if let match = line.firstMatch(of: pattern) { modules[String(match.1)] = file }
            }
        }
        return modules
    }

    /// What Package.swift declares a target to depend on: targets and products by name.
    static func declaredDependencies(of target: String) throws -> Set<String>? {
        let manifest = try text(of: "Package.swift")
        let heads = [".target(", ".executableTarget(", ".testTarget("]
        for head in heads {
            for range in manifest.ranges(of: head) {
                let body = balanced(manifest[range.upperBound...])
                guard body.contains(/^\s*name:\s*"([^"]+)"/),
                    body.firstMatch(of: /name:\s*"([^"]+)"/).map({ $0.1 == target }) == true
                else { continue }
                guard let list = body.firstRange(of: "dependencies:") else { return [] }
                let names = balanced(body[list.upperBound...].drop { $0 != "[" }.dropFirst())
                // The package of a product is no dependency of its own, nor is a trait.
                return Set(
                    names.replacing(/package:\s*"[^"]+"|traits:\s*\[[^\]]*\]/, with: "")
                        .matches(of: /"([^"]+)"/)
                        .map { String($0.1) })
            }
        }
        return nil
    }

    /// The text up to the bracket that closes what was opened before it.
    private static func balanced(_ text: Substring) -> Substring {
        var depth = 1
        for index in text.indices {
            switch text[index] {
            case "(", "[": depth += 1
            case ")", "]": depth -= 1
            default: break
            }
            if depth == 0 { return text[..<index] }
        }
        return text
    }
}
