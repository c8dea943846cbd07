package import ServerConnections
import Subscriptions

/// Which server, database and user a `mysql://` URL means; never a password.
package struct MySQLAddress: Hashable, Sendable, CustomStringConvertible {
    package typealias Problem = ServerURL.Problem

    /// A name or an address; `nil` for a socket.
    package private(set) var host: String?
    package private(set) var port: UInt16 = 3306
    /// The path of a socket; `nil` for the one where the library looks.
    package private(set) var socket: String?
    /// `nil` for the name of the user of this process.
    package private(set) var user: String?
    package private(set) var database = ""
    /// The file with the password; `nil` for `MYSQL_PWD` or `~/.my.cnf`.
    package private(set) var passwordFile: String?
    /// Whether the session is encrypted, and the server proves its name.
    package private(set) var isVerified = false
    /// The authority that signed the server's certificate; `nil` for those of the system.
    package private(set) var authority: String?
    package private(set) var certificate: String?
    package private(set) var key: String?
    package private(set) var connectSeconds = 10

    /// Host, port and database, for messages.
    package var description: String {
        (host.map { $0 + ":\(port)" } ?? socket ?? "localhost") + "/" + database
    }

    /// How long opening a session may take: `connect_timeout`.
    package var longestConnecting: Duration { .seconds(connectSeconds) }

    /// Whether a URL means MySQL or MariaDB at all.
    package static func isURL(_ text: String) -> Bool { schemes.contains { text.hasPrefix($0) } }

    private static let schemes = ["mysql://", "mariadb://"]
    private static let example = "write for example mysql://trueup@db.example.com/billing"
    private static let keywords = [
        "ca", "cert", "connect_timeout", "key", "passfile", "socket", "tls",
    ]
    private static let secret = Problem(
        problem: "must not hold a password",
        suggestion: "leave the password out of the URL and put it into ~/.my.cnf (mode 0600, "
            + "password= under [client]), into a file of that form that passfile=FILE names, or into "
            + "the environment variable MYSQL_PWD")

    /// - Parameter url: As in `store.url`: `mysql://user@host:port/database?keyword=value`.
    /// - Throws: What is wrong with it.
    package init(url: String) throws(Problem) {
        guard let scheme = Self.schemes.first(where: { url.hasPrefix($0) }) else {
            throw Problem(problem: "must begin with mysql://", suggestion: Self.example)
        }
        let parts = url.dropFirst(scheme.count).split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = (parts.first ?? "").split(
            separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        try readAuthority(path.first ?? "")
        database = try Self.decoded(path.count > 1 ? path[1] : "")
        var keywords: [String: String] = [:]
        for pair in parts.count > 1 ? parts[1].split(separator: "&") : [] {
            let (keyword, value) = try Self.keyword(pair)
            guard keywords.updateValue(value, forKey: keyword) == nil else {
                throw Problem(problem: "says \(keyword) twice", suggestion: "keep one of them")
            }
        }
        try read(keywords)
        guard !database.isEmpty, !database.contains("/") else {
            throw Problem(problem: "names no database", suggestion: Self.example)
        }
    }

    private mutating func readAuthority(_ authority: Substring) throws(Problem) {
        var place = authority
        if let at = authority.lastIndex(of: "@") {
            guard !authority[..<at].contains(":") else { throw Self.secret }
            let name = try Self.decoded(authority[..<at])
            user = name.isEmpty ? nil : name
            place = authority[authority.index(after: at)...]
        }
        guard !place.contains(",") else {
            throw Problem(
                problem: "names several hosts",
                suggestion: "name one: the primary, or a proxy that leads to it")
        }
        let (name, number) = try ServerURL.hostAndPort(place, example: Self.example)
        if !number.isEmpty { port = UInt16(number) ?? port }
        if name.hasPrefix("/") {
            socket = name
        } else if !name.isEmpty, name != "localhost" || !number.isEmpty {
            // As in the programs of MySQL, a port says that no socket is meant.
            host = name
        }
    }

    private static func keyword(
        _ pair: Substring
    ) throws(Problem) -> (keyword: String, value: String) {
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let keyword = try decoded(parts[0])
        guard !["password", "pwd", "passwd"].contains(keyword.lowercased()) else { throw secret }
        guard keywords.contains(keyword) else {
            throw Problem(
                problem: "has the unknown keyword \(keyword)",
                suggestion: keyword.nearest(among: keywords)
                    .map { "did you mean \($0)?" }
                    ?? "known are \(keywords.joined(separator: ", "))")
        }
        return (keyword, try decoded(parts.count > 1 ? parts[1] : ""))
    }

    /// Adds the keywords, and refuses what would weaken a session with another machine.
    private mutating func read(_ keywords: [String: String]) throws(Problem) {
        authority = keywords["ca"]
        certificate = keywords["cert"]
        key = keywords["key"]
        passwordFile = keywords["passfile"]
        if let path = keywords["socket"] {
            guard host == nil, socket == nil || socket == path else {
                throw Problem(
                    problem: "names a host and a socket", suggestion: "keep one of them")
            }
            socket = path
        }
        if let text = keywords["connect_timeout"] {
            guard let seconds = Int(text), (1...3600).contains(seconds) else {
                throw Problem(
                    problem: "has a connect_timeout that is not a number of seconds",
                    suggestion: "write for example connect_timeout=10")
            }
            connectSeconds = seconds
        }
        let isLocal = host.map(ServerURL.isThisMachine) ?? true
        switch keywords["tls"] {
        case "verify-identity": isVerified = true
        case nil: isVerified = !isLocal || authority != nil
        case "off" where isLocal: isVerified = false
        case "off":
            throw Problem(
                problem: "weakens TLS to a server on another machine",
                suggestion: "leave tls out, or write tls=verify-identity; ca=FILE names the "
                    + "authority that signed the server's certificate")
        default:
            throw Problem(
                problem: "has an unknown value of tls",
                suggestion: "leave tls out, or write tls=verify-identity")
        }
    }

    private static func decoded(_ text: Substring) throws(Problem) -> String {
        try ServerURL.decoded(text, example: example)
    }
}
