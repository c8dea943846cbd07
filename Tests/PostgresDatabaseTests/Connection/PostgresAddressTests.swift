import PostgresDatabase
import ServerConnections
import Testing

@Suite struct `A PostgreSQL URL` {
    private func parameters(_ url: String) throws -> [String: String] {
        try PostgresAddress(url: url).parameters
    }

    private func problem(_ url: String) -> String? {
        do {
            _ = try PostgresAddress(url: url)
            return nil
        } catch {
            return "\(error.problem); \(error.suggestion)"
        }
    }

    @Test func `names user, hosts, ports and database`() throws {
        let one = try parameters("postgres://trueup@db.example.com:6432/billing")
        #expect(one["host"] == "db.example.com")
        #expect(one["port"] == "6432")
        #expect(one["user"] == "trueup")
        #expect(one["dbname"] == "billing")
        let two = try parameters("postgresql://a.example.com,[2001:db8::1]:6432/billing")
        #expect(two["host"] == "a.example.com,2001:db8::1")
        #expect(two["port"] == ",6432")
    }

    @Test func `asks for the primary where it names several hosts`() throws {
        #expect(
            try parameters("postgres://a.example.com,b.example.com/x")["target_session_attrs"]
                == "read-write")
        #expect(try parameters("postgres://a.example.com/x")["target_session_attrs"] == nil)
    }

    @Test(arguments: [
        "postgres://trueup:s3cret@db/x", "postgres://:s3cret@db/x",
        "postgres://db/x?password=s3cret",
        "postgres://u@v:s3cret@db/x", "postgres://db/x?sslpassword=s3cret",
        "postgres://db/x?pass%77ord=s3cret",
    ])
    func `with a password is refused without repeating it`(url: String) throws {
        let said = try #require(self.problem(url))
        #expect(said.contains("PGPASSFILE"))
        #expect(!said.contains("s3cret"))
    }

    @Test func `means verified TLS beyond this machine`() throws {
        #expect(try parameters("postgres://db.example.com/x")["sslmode"] == "verify-full")
        #expect(try parameters("postgres:///x")["sslmode"] == "verify-full")
        #expect(try parameters("postgres:///x?service=billing")["sslmode"] == "verify-full")
        #expect(problem("postgres://db.example.com/x?sslmode=require")?.contains("TLS") == true)
        #expect(problem("postgres://127.0.0.1,db.example.com/x?sslmode=prefer") != nil)
        #expect(problem("postgres://127.evil.example.com/x?sslmode=disable") != nil)
    }

    @Test(arguments: ["localhost", "127.0.0.1", "127.1.2.3", "[::1]", "%2Fvar%2Frun%2Fpostgresql"])
    func `leaves TLS to libpq on this machine`(host: String) throws {
        let address = try PostgresAddress(url: "postgres://\(host)/x")
        #expect(address.isLocal)
        #expect(address.parameters["sslmode"] == nil)
    }

    @Test func `says who asks, and notices a server that vanished`() throws {
        let parameters = try parameters("postgres://localhost/x?connect_timeout=3")
        #expect(parameters["application_name"] == "trueup")
        #expect(parameters["connect_timeout"] == "3")
        #expect(parameters["tcp_user_timeout"] == "30000")
    }

    @Test(arguments: [
        "mysql://db/x", "postgres://db:port/x", "postgres://[::1/x",
        "postgres://db/x?sslmod=prefer",
        "postgres://db/x?options=-c", "postgres://db/%zz", "postgres://db/%00", "postgres://db/%ff",
        "postgres://db/x?user=a&user=b", "postgres://a%2Cb/x",
    ])
    func `that says anything else is refused`(url: String) {
        #expect(problem(url) != nil)
    }

    @Test func `is shown with host and database alone`() throws {
        let address = try PostgresAddress(url: "postgres://trueup@db.example.com:6432/billing")
        #expect(address.description == "db.example.com:6432/billing")
        #expect(
            try PostgresAddress(url: "postgres:///x?service=nightly").description
                == "service nightly")
    }
}
