import Foundation
import MySQLDatabase
import PostgresDatabase
import ServerConnections
import SubscriptionStore
import Subscriptions
import TestSupport
import Testing
import trueup

/// A kind of server whose database several workers share.
enum WorkerPlace: CaseIterable, CustomTestStringConvertible {
    case postgresql
    case mysql

    /// Those that are here: a server that is not installed is not tried.
    static var here: [WorkerPlace] { allCases.filter { CompanyPlace.here.contains($0.company) } }

    private var company: CompanyPlace { self == .postgresql ? .postgresql : .mysql }

    var testDescription: String { company.testDescription }

    func database() throws -> WorkerDatabase {
        let name = "workers_\(UUID().uuidString.prefix(8).lowercased())"
        #if PostgreSQL
            if self == .postgresql {
                let database = try TestServer.makeDatabase()
                let service = try TestServer.session(database: database)
                let sql: @Sendable (String) throws -> String = { text in
                    try service.run(text, []).first ?? ""
                }
                return try WorkerDatabase(
                    .postgresql(PostgresAddress(url: TestServer.url(database: database))),
                    reader: .postgresql(
                        PostgresAddress(url: TestServer.url(database: database, user: name))),
                    sql: sql,
                    making: [
                        "CREATE ROLE \(name) LOGIN", "GRANT SELECT ON subscriptions TO \(name)",
                    ])
            }
        #endif
        #if MySQL
            if self == .mysql {
                let server = try CompanyPlace.server.get()
                try server.sql("CREATE DATABASE \(name) CHARACTER SET utf8mb4", in: "mysql")
                return try WorkerDatabase(
                    .mysql(MySQLAddress(url: server.url(database: name))),
                    reader: .mysql(MySQLAddress(url: server.url(database: name, user: name))),
                    sql: { try server.sql($0, in: name) },
                    making: [
                        "CREATE USER \(name)@localhost",
                        "GRANT SELECT ON \(name).subscriptions TO \(name)@localhost",
                    ])
            }
        #endif
        throw NotBuilt()
    }

    private struct NotBuilt: Error {}
}

/// A database of the company's with the tables that workers share.
struct WorkerDatabase: Sendable {
    /// The address of the server, for one user.
    enum Address: Sendable {
        case postgresql(PostgresAddress)
        case mysql(MySQLAddress)
    }

    let company: any CompanyDatabase & LeasedCompany
    private let address: Address
    /// The address of a user who may read the company's table and nothing else.
    private let reader: Address
    private let statement: @Sendable (String) throws -> String

    init(
        _ address: Address, reader: Address, sql: @escaping @Sendable (String) throws -> String,
        making users: [String]
    ) throws {
        self.address = address
        self.reader = reader
        statement = sql
        for text in [CompanyPlace.definition] + users { _ = try sql(text) }
        company =
            switch address {
            case .postgresql(let address):
                PostgresCompany(
                    try .libpq(address), mapping: CompanyPlace.mapping, books: "contract")
            case .mysql(let address):
                MySQLCompany(
                    try .libmariadb(address), mapping: CompanyPlace.mapping, books: "contract")
            }
    }

    /// The first column of the first row, as text.
    @discardableResult
    func sql(_ text: String) throws -> String { try statement(text) }

    /// The name of a table of trueup's.
    func table(_ name: String) -> String {
        switch address {
        case .postgresql: "trueup.\(name)"
        case .mysql: "trueup_\(name)"
        }
    }

    var hasOurTables: Bool {
        get throws {
            let condition =
                switch address {
                case .postgresql: "table_schema = 'trueup'"
                case .mysql: "table_schema = DATABASE() AND table_name LIKE 'trueup%'"
                }
            return try sql("SELECT count(*) FROM information_schema.tables WHERE \(condition)")
                != "0"
        }
    }

    func leases(_ holder: LeaseHolder) throws -> any LeaseTable {
        switch address {
        case .postgresql(let address): AppLeases(SharedSession(try .libpq(address)), holder)
        case .mysql(let address): MySQLLeases(SharedSession(try .libmariadb(address)), holder)
        }
    }

    func calls(mayOnlyRead: Bool = false) throws -> SharedCalls {
        switch mayOnlyRead ? reader : address {
        case .postgresql(let address): SharedCalls(try .libpq(address))
        case .mysql(let address): SharedCalls(try .libmariadb(address))
        }
    }

    func runs(mayOnlyRead: Bool = false) throws -> any RunTable {
        switch mayOnlyRead ? reader : address {
        case .postgresql(let address): SharedRuns(SharedSession(try .libpq(address)))
        case .mysql(let address): MySQLRuns(SharedSession(try .libmariadb(address)))
        }
    }
}
