import Glibc
import ServerConnections

/// The password for a server: from the file that the URL names, from `MYSQL_PWD`, or from
/// `~/.my.cnf`.
///
/// Nothing else of an option file is read: an option of it could weaken TLS.
enum OptionFile {
    /// - Parameter address: Which server.
    /// - Returns: The password; `nil` where none is stated.
    /// - Throws: A failure whose words say which file cannot be used.
    static func password(for address: MySQLAddress) throws(MySQLFailure) -> String? {
        if let path = address.passwordFile {
            guard let found = try password(inFile: path, isNamed: true) else {
                throw MySQLFailure(
                    .setup, words: "\(path) has no line password=… under [client]")
            }
            return found
        }
        if let variable = unsafe getenv("MYSQL_PWD") { return unsafe String(cString: variable) }
        guard let home = unsafe getenv("HOME") else { return nil }
        return try password(inFile: unsafe String(cString: home) + "/.my.cnf", isNamed: false)
    }

    private static let longestBytes = 1 << 20

    private static func password(
        inFile path: String, isNamed: Bool
    ) throws(MySQLFailure) -> String? {
        guard let file = unsafe fopen(path, "re") else {
            guard isNamed || errno != ENOENT else { return nil }
            throw MySQLFailure(.setup, words: "\(path) cannot be read")
        }
        defer { unsafe fclose(file) }
        var facts = stat()
        guard unsafe fstat(fileno(file), &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
            throw MySQLFailure(.setup, words: "\(path) is not a file")
        }
        var bytes = [UInt8](repeating: 0, count: longestBytes)
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe fread(buffer.baseAddress, 1, buffer.count, file)
        }
        let found = password(in: String(decoding: bytes[..<count], as: UTF8.self))
        // A file without a password may be read by all.
        guard found == nil || facts.st_mode & 0o022 == 0 && facts.st_mode & 0o007 == 0 else {
            throw MySQLFailure(
                .setup,
                words: "\(path) holds a password and may be read by others: chmod 600 \(path)")
        }
        return found
    }

    private static let groups: Set = [
        "[client]", "[client-server]", "[client-mariadb]", "[mysql]", "[trueup]",
    ]

    /// The last password of the text: as in the programs of MySQL, a later line wins.
    static func password(in text: String) -> String? {
        var isMeant = false
        var found: String?
        for line in text.split(whereSeparator: \.isNewline) {
            let line = trimmed(line)
            if line.hasPrefix("[") {
                isMeant = groups.contains(String(line))
                continue
            }
            guard isMeant, let equals = line.firstIndex(of: "="),
                trimmed(line[..<equals]) == "password"
            else { continue }
            found = value(of: trimmed(line[line.index(after: equals)...]))
        }
        return found
    }

    /// A value without its quotes.
    ///
    /// In a bare one a comment ends it, behind a blank; `\\` and `\"` stand for one character.
    private static func value(of text: Substring) -> String {
        var text = text
        if let quote = text.first, quote == "\"" || quote == "'" {
            text = text.dropFirst()
            if let end = text.lastIndex(of: quote) { text = text[..<end] }
        } else if let comment = text.range(of: " #") {
            text = trimmed(text[..<comment.lowerBound])
        }
        var value = ""
        var isEscaped = false
        for character in text {
            if !isEscaped, character == "\\" {
                isEscaped = true
                continue
            }
            if isEscaped, !["\\", "\"", "'", "#"].contains(character) { value.append("\\") }
            value.append(character)
            isEscaped = false
        }
        return value
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0.isWhitespace }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}

extension Substring {
    /// The first place of a text in this one.
    fileprivate func range(of text: String) -> Range<Index>? { ranges(of: text).first }
}
