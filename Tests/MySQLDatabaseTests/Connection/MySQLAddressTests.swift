import MySQLDatabase
import ServerConnections
import Testing

@Suite struct `The URL of a MySQL database` {
    @Test func `names host, port, user and database`() throws {
        let address = try MySQLAddress(
            url: "mysql://trueup@db.example.com:3307/billing?ca=%2Fca.pem")
        #expect(address.host == "db.example.com")
        #expect(address.port == 3307)
        #expect(address.user == "trueup")
        #expect(address.database == "billing")
        #expect(address.authority == "/ca.pem")
        #expect(address.isVerified)
        #expect(address.description == "db.example.com:3307/billing")
        #expect(try MySQLAddress(url: "mariadb://db/x").host == "db")
    }

    @Test(arguments: [
        "mysql://u@%2Frun%2Fdb.sock/shop", "mysql://u@localhost/shop?socket=/run/db.sock",
        "mysql:///shop?socket=%2Frun%2Fdb.sock",
    ])
    func `names a socket`(url: String) throws {
        let address = try MySQLAddress(url: url)
        #expect(address.host == nil)
        #expect(address.socket == "/run/db.sock")
        #expect(!address.isVerified)
    }

    @Test func `means TCP where it has a port`() throws {
        #expect(try MySQLAddress(url: "mysql://localhost:3306/shop").host == "localhost")
        #expect(try MySQLAddress(url: "mysql://localhost/shop").host == nil)
    }

    @Test(arguments: [
        "mysql://u:secret@db/shop", "mysql://u@db/shop?password=secret", "mysql://u@db",
        "mysql://u@db/", "mysql://u@db/a/b", "mysql://u@a,b/shop", "mysql://u@db:x/shop",
        "mysql://u@db/shop?tls=off", "mysql://u@db/shop?tls=required", "mysql://u@db/shop?tsl=off",
        "mysql://u@db/shop?ca=a&ca=b", "mysql://u@db/shop?socket=/s", "mysql://u@db/%zz",
        "mysql://u@db/shop?connect_timeout=0", "postgres://u@db/shop",
    ])
    func `is refused where it would be weak, or leave something open`(url: String) {
        #expect {
            _ = try MySQLAddress(url: url)
        } throws: { error in
            guard let problem = error as? ServerURL.Problem else { return false }
            return !"\(problem)".contains("secret")
        }
    }
}
