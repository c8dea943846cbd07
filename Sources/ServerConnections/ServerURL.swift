/// The parts that the URLs of all database servers have in common.
package enum ServerURL {
    /// A fault in a URL, described without repeating the URL: it may contain a password.
    package struct Problem: Error, Hashable, Sendable {
        package var problem: String
        package var suggestion: String

        package init(problem: String, suggestion: String) {
            self.problem = problem
            self.suggestion = suggestion
        }
    }

    /// Divides `host:port`, where the host may stand in brackets.
    ///
    /// - Parameters:
    ///   - entry: As the URL has it.
    ///   - example: Advice with a URL that is right.
    /// - Returns: The host as it is meant, and the port, which may be empty.
    /// - Throws: What is wrong with it.
    package static func hostAndPort(
        _ entry: Substring, example: String
    ) throws(Problem) -> (host: String, port: String) {
        var host = entry
        var port: Substring = ""
        if entry.hasPrefix("[") {
            guard let end = entry.firstIndex(of: "]") else {
                throw Problem(problem: "has a [ without a ]", suggestion: example)
            }
            host = entry[entry.index(after: entry.startIndex)..<end]
            port = entry[entry.index(after: end)...]
            guard port.isEmpty || port.hasPrefix(":") else {
                throw Problem(problem: "has something behind a ]", suggestion: example)
            }
            port = port.dropFirst()
        } else if let colon = entry.lastIndex(of: ":") {
            host = entry[..<colon]
            port = entry[entry.index(after: colon)...]
        }
        guard port.isEmpty || UInt16(port) != nil else {
            throw Problem(problem: "has a port that is not a number", suggestion: example)
        }
        let name = try decoded(host, example: example)
        guard !name.contains(",") else {
            throw Problem(problem: "has a host with a comma", suggestion: example)
        }
        return (name, String(port))
    }

    /// Whether a host is this machine, by loopback or socket.
    ///
    /// - Parameter host: A name, an address, or the path of a socket.
    /// - Returns: Whether nothing leaves this machine on the way there.
    package static func isThisMachine(_ host: some StringProtocol) -> Bool {
        host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost" || host == "::1"
            || isIPv4Loopback(String(host))
    }

    private static func isIPv4Loopback(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// A part of a URL with its percent signs resolved.
    ///
    /// - Parameters:
    ///   - text: As the URL has it.
    ///   - example: Advice with a URL that is right.
    /// - Returns: The text that is meant.
    /// - Throws: Where a percent sign is not followed by two digits, or the bytes are not UTF-8.
    package static func decoded(
        _ text: Substring, example: String
    ) throws(Problem) -> String {
        let broken = Problem(
            problem: "has a % that is not followed by two hexadecimal digits, or no UTF-8",
            suggestion: example)
        var bytes: [UInt8] = []
        var rest = Substring(text).utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, !digits.contains(UInt8(ascii: "+")),
                let value = UInt8(String(Substring(digits)), radix: 16), value != 0
            else { throw broken }
            rest = rest.dropFirst(2)
            bytes.append(value)
        }
        guard let text = String(validating: bytes, as: UTF8.self), !text.utf8.contains(0) else {
            throw broken
        }
        return text
    }
}
