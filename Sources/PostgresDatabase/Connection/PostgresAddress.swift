package import ServerConnections
import Subscriptions

/// Which server, database and user a `postgres://` URL means; never a password.
package struct PostgresAddress: Hashable, Sendable, CustomStringConvertible {
    /// libpq's connection keywords and their values.
    package private(set) var parameters: [String: String] = [:]
    /// Whether every host is this machine, by loopback or socket.
    package private(set) var isLocal = false

    /// Host, port and database, for messages.
    package var description: String {
        if let service = parameters["service"] { return "service \(service)" }
        let hosts = (parameters["host"] ?? "").split(
            separator: ",", omittingEmptySubsequences: false)
        let ports = (parameters["port"] ?? "").split(
            separator: ",", omittingEmptySubsequences: false)
        let places = hosts.indices.map { index in
            let port = index < ports.count ? ports[index] : ""
            return hosts[index] + (port.isEmpty ? "" : ":" + port)
        }
        return places.joined(separator: ",") + "/" + (parameters["dbname"] ?? "")
    }

    /// How long opening a session may take: `connect_timeout` for each host, and a margin for the names.
    package var longestConnecting: Duration {
        let hosts = (parameters["host"] ?? "").split(separator: ",").count
        // libpq takes 0 and less for "without limit", and 1 for 2.
        let stated = parameters["connect_timeout"].flatMap { Int($0) } ?? 0
        let seconds = stated > 0 ? min(max(2, stated), 3600) : 30
        return .seconds(seconds * max(1, min(hosts, 100)) + 10)
    }

    package typealias Problem = ServerURL.Problem

    /// - Parameter url: As in `store.url`: `postgres://user@host:port/database?keyword=value`.
    /// - Throws: What is wrong with it.
    package init(url: String) throws(Problem) {
        guard let scheme = Self.schemes.first(where: { url.hasPrefix($0) }) else {
            throw Problem(problem: "must begin with postgres://", suggestion: Self.example)
        }
        let parts = url.dropFirst(scheme.count).split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = (parts.first ?? "").split(
            separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        try readAuthority(path.first ?? "")
        if path.count > 1, !path[1].isEmpty { try set("dbname", path[1]) }
        if parts.count > 1 {
            for pair in parts[1].split(separator: "&") { try readQuery(pair) }
        }
        try complete()
    }

    /// Whether a URL means PostgreSQL at all.
    package static func isURL(_ text: String) -> Bool { schemes.contains { text.hasPrefix($0) } }

    private static let schemes = ["postgres://", "postgresql://"]
    private static let example = "write for example postgres://trueup@db.example.com/billing"

    /// The keywords that a URL may have apart from user, host, port and database.
    private static let keywords = [
        "connect_timeout", "dbname", "host", "passfile", "port", "service", "sslcert", "sslkey",
        "sslmode", "sslrootcert", "target_session_attrs", "user",
    ]

    private static let secret = Problem(
        problem: "must not hold a password",
        suggestion: "leave the password out of the URL and put it into the file that PGPASSFILE "
            + "names (mode 0600, host:port:database:user:password), into a service file, or into "
            + "the environment variable PGPASSWORD")

    private mutating func readAuthority(_ authority: Substring) throws(Problem) {
        var hosts = authority
        if let at = authority.lastIndex(of: "@") {
            let user = authority[..<at]
            guard !user.contains(":") else { throw Self.secret }
            if !user.isEmpty { try set("user", user) }
            hosts = authority[authority.index(after: at)...]
        }
        guard !hosts.isEmpty else { return }
        var names: [String] = []
        var ports: [String] = []
        for entry in hosts.split(separator: ",", omittingEmptySubsequences: false) {
            let (name, port) = try ServerURL.hostAndPort(entry, example: Self.example)
            names.append(name)
            ports.append(port)
        }
        parameters["host"] = names.joined(separator: ",")
        if ports.contains(where: { !$0.isEmpty }) {
            parameters["port"] = ports.joined(separator: ",")
        }
    }

    private mutating func readQuery(_ pair: Substring) throws(Problem) {
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let keyword = try Self.decoded(parts[0])
        guard !["password", "sslpassword"].contains(keyword) else { throw Self.secret }
        guard Self.keywords.contains(keyword) else {
            let nearest = keyword.nearest(among: Self.keywords)
            throw Problem(
                problem: "has the unknown keyword \(keyword)",
                suggestion: nearest.map { "did you mean \($0)?" }
                    ?? "known are \(Self.keywords.joined(separator: ", "))")
        }
        try set(keyword, parts.count > 1 ? parts[1] : "")
    }

    private mutating func set(_ keyword: String, _ value: Substring) throws(Problem) {
        guard parameters[keyword] == nil else {
            throw Problem(problem: "says \(keyword) twice", suggestion: "keep one of them")
        }
        parameters[keyword] = try Self.decoded(value)
    }

    /// Adds what no URL needs to state, and refuses what would weaken it.
    private mutating func complete() throws(Problem) {
        let hosts = (parameters["host"] ?? "").split(
            separator: ",", omittingEmptySubsequences: false)
        isLocal =
            parameters["service"] == nil && !hosts.isEmpty
            && hosts.allSatisfy(ServerURL.isThisMachine)
        if !isLocal {
            guard parameters["sslmode", default: "verify-full"] == "verify-full" else {
                throw Problem(
                    problem: "weakens TLS to a server on another machine",
                    suggestion: "leave sslmode out, or write sslmode=verify-full; sslrootcert=FILE "
                        + "names the authority that signed the server's certificate")
            }
            parameters["sslmode"] = "verify-full"
        }
        if hosts.count > 1, parameters["target_session_attrs"] == nil {
            parameters["target_session_attrs"] = "read-write"
        }
        parameters["application_name"] = "trueup"
        parameters["client_encoding"] = "UTF8"
        parameters["connect_timeout"] = parameters["connect_timeout"] ?? "10"
        // A server that vanished without a word is noticed within half a minute.
        let liveness = [
            "keepalives": "1", "keepalives_idle": "10", "keepalives_interval": "5",
            "keepalives_count": "3", "tcp_user_timeout": "30000",
        ]
        parameters.merge(liveness) { own, _ in own }
    }

    /// A part of the URL with its percent signs resolved.
    private static func decoded(_ text: Substring) throws(Problem) -> String {
        try ServerURL.decoded(text, example: example)
    }
}
