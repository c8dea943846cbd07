import FoundationEssentials
import Subscriptions

/// Reads members of JSON out of the texts that `MappedStatements` returns for them.
///
/// Columns of text, and of `json`, may hold what is not JSON or no text of PostgreSQL; the server
/// ends a statement that meets one such row, and only looks at versions from 16 on before it does.
struct JSONMembers: Sendable {
    private let columns: [MappedColumn]
    private let isNeeded: Bool

    /// - Parameter mapping: What the rows were read by.
    init(_ mapping: TableMapping) {
        columns = mapping.readColumns
        isNeeded = columns.contains { column in
            if case .member = column { true } else { false }
        }
    }

    /// The texts of `TableMapping.readColumns`.
    ///
    /// - Parameter row: As the server returned it.
    /// - Returns: With each member in place of what leads to it; `nil` where there is no such
    ///   member.
    func texts(of row: [String?]) -> [String?] {
        guard isNeeded else { return row }
        return zip(columns, row).map { column, text in
            guard case .member(of: _, path: let path, _) = column else { return text }
            return text.flatMap { Self.member(path, of: $0) }
        }
    }

    private static func member(_ path: [String], of text: String) -> String? {
        // By bytes: what follows the letter may be a sign that combines with it.
        let rest = text.utf8.dropFirst()
        guard text.utf8.starts(with: MappedStatements.documentMark.utf8) else {
            return String(Substring(rest))
        }
        let decoder = JSONDecoder()
        if let key = JSONMember.path { decoder.userInfo[key] = path }
        // What is not JSON has no members, as in SQLite.
        return try? decoder.decode(JSONMember.self, from: Data(rest)).text
    }
}

/// One member of a JSON text, as text.
private struct JSONMember: Decodable {
    let text: String?

    /// The names on the way to it.
    static let path = CodingUserInfoKey(rawValue: "path")

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        let names = Self.path.flatMap { decoder.userInfo[$0] as? [String] } ?? []
        let path = names.map { Name(stringValue: $0) }
        guard let last = path.last else {
            text = nil
            return
        }
        var container = try decoder.container(keyedBy: Name.self)
        for name in path.dropLast() {
            container = try container.nestedContainer(keyedBy: Name.self, forKey: name)
        }
        let read: String?
        if let string = try? container.decode(String.self, forKey: last) {
            read = string
        } else if let truth = try? container.decode(Bool.self, forKey: last) {
            read = truth ? "true" : "false"
        } else if let number = try? container.decode(Int64.self, forKey: last) {
            read = String(number)
        } else if let number = try? container.decode(UInt64.self, forKey: last) {
            read = String(number)
        } else {
            read = (try? container.decode(Double.self, forKey: last)).map { String($0) }
        }
        // No text of PostgreSQL holds such a character.
        text = read.flatMap { $0.utf8.contains(0) ? nil : $0 }
    }
}
