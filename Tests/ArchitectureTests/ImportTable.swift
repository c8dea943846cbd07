/// Who may import whom: the walls of the house.
///
/// The vocabulary knows nobody; the core knows the vocabulary; adapters know the vocabulary and
/// their own machinery, never each other; the run and the delivery of events know the store; only
/// the executable knows everyone. A wall is moved here, together with the reason. The table is exact:
/// what a target may import, it imports.
struct ImportRule: Sendable {
    let target: String
    /// Targets of this package.
    let ours: Set<String>
    /// Modules from elsewhere.
    let outside: Set<String>

    var allowed: Set<String> { ours.union(outside) }

    init(_ target: String, ours: Set<String> = [], outside: Set<String> = []) {
        self.target = target
        self.ours = ours
        self.outside = outside
    }
}

enum ImportTable {
    static let rules: [ImportRule] = [
        ImportRule("Subscriptions"),
        ImportRule("Reconciliation", ours: ["Subscriptions"]),
        // The store itself: there is one, and a protocol for each part of it only hid that. Of Apple it
        // knows the port `AppStore` alone.
        ImportRule(
            "ReconciliationRun", ours: ["Reconciliation", "SubscriptionStore", "Subscriptions"],
            outside: ["Logging", "Synchronization"]),
        // Never the store: a report is written from a record of a run, also where no run was made (the
        // declaration of a restore). Crypto for the sums of a manifest; the C library to sync and rename
        // what it writes; zlib to pack what is large.
        ImportRule(
            "Reports", ours: ["CZlib", "Subscriptions"],
            outside: ["Crypto", "FoundationEssentials", "Glibc"]),
        // The C library to read in large chunks; zlib for files that are packed with gzip; the digest
        // of what was read.
        ImportRule(
            "RowFiles", ours: ["CZlib", "Subscriptions"],
            outside: ["Crypto", "FoundationEssentials", "Glibc"]),
        ImportRule(
            "HTTPTransport", ours: ["CLibcurl"], outside: ["Glibc", "Synchronization"]),
        ImportRule(
            "JSONWebSignature",
            outside: ["Crypto", "FoundationEssentials", "SwiftASN1", "Synchronization", "X509"]),
        ImportRule(
            "AppStoreServerAPI", ours: ["HTTPTransport", "JSONWebSignature", "Subscriptions"],
            outside: ["Synchronization"]),
        // What audits a report shares nothing with what wrote it (Reports, SubscriptionStore,
        // ReconciliationRun, Reconciliation): an error there must not be repeated here. Crypto for
        // digests; the C library to read files piece by piece.
        ImportRule(
            "ReportAudit",
            ours: ["AppStoreServerAPI", "CZlib", "JSONWebSignature", "Subscriptions"],
            outside: ["Crypto", "FoundationEssentials", "Glibc", "Synchronization"]),
        // Reconciliation decides what becomes of a remembered finding: the store reads and writes it, in
        // the transactions of its own chunks. Crypto for the ledger's chain of hashes. SQLite itself, which GRDB brings along, to read columns
        // in place where every row of a large table is read, and to bind the lines of a load.
        ImportRule(
            "SubscriptionStore", ours: ["Reconciliation", "Subscriptions"],
            outside: ["Crypto", "Foundation", "GRDB", "GRDBSQLite", "Synchronization"]),
        // The parts of all servers of companies, written once: waiting, and the adapter for a table. The
        // C library to wait a little.
        ImportRule(
            "ServerConnections", ours: ["Subscriptions"], outside: ["Glibc", "Synchronization"]),
        // The C library to wait a little before another attempt. The system library behind it only in a
        // build with the trait PostgreSQL.
        ImportRule(
            "PostgresDatabase", ours: ["CPostgres", "ServerConnections", "Subscriptions"],
            outside: ["FoundationEssentials", "Glibc", "Synchronization"]),
        // The C library to watch a socket and to read the file with the password. The system library
        // behind it only in a build with the trait MySQL.
        ImportRule(
            "MySQLDatabase", ours: ["CMariaDB", "ServerConnections", "Subscriptions"],
            outside: ["Glibc", "Synchronization"]),
        // JSONWebSignature for its strict JSON: a store program is as foreign as Apple's answers. The C
        // library to start the program and to read its lines in time.
        ImportRule(
            "ProgramDatabase", ours: ["CSpawn", "JSONWebSignature", "Subscriptions"],
            outside: ["Glibc", "Synchronization"]),
        // Delivers events that others wrote, from the store's outbox, and knows no rules. Crypto for the
        // signature; Subprocess, with the paths of SystemPackage, to run a command, and the C library
        // to see that it has ended.
        ImportRule(
            "EventDelivery", ours: ["HTTPTransport", "SubscriptionStore", "Subscriptions"],
            outside: ["Crypto", "Glibc", "Subprocess", "SystemPackage"]),
        // Never what it is to judge (AppStoreServerAPI, JSONWebSignature): an error there must not be
        // repeated here. Yams for scenario files; FoundationNetworking to send notifications to
        // loopback; HTTPTypes and Logging are Hummingbird's own words.
        ImportRule(
            "AppStoreSimulation", ours: ["Subscriptions"],
            outside: [
                "Crypto", "Foundation", "FoundationEssentials",
                "FoundationNetworking", "Glibc", "HTTPTypes", "Hummingbird", "HummingbirdCore",
                "HummingbirdHTTP2", "HummingbirdTLS", "Logging", "NIOCore", "NIOHTTP2",
                "NIOHTTPTypes", "ServiceLifecycle", "SwiftASN1", "Synchronization", "X509", "Yams",
            ]),
        // Crypto for the settings digest; the C library for modes, streams and signals.
        ImportRule(
            "trueup",
            ours: [
                "AppStoreServerAPI", "CAllocator", "CCommit", "EventDelivery", "HTTPTransport",
                "JSONWebSignature", "MySQLDatabase", "PostgresDatabase", "ProgramDatabase",
                "Reconciliation", "ReconciliationRun", "ReportAudit", "Reports", "RowFiles",
                "ServerConnections", "SubscriptionStore", "Subscriptions",
            ],
            outside: [
                "ArgumentParser", "Crypto", "Dispatch", "FoundationEssentials", "Glibc", "Logging",
                "Synchronization", "Yams",
            ]),
        ImportRule(
            "appstore-simulator", ours: ["AppStoreSimulation", "Subscriptions"],
            outside: ["ArgumentParser", "Dispatch", "Foundation"]),
    ]

    /// Modules that come with the toolchain and need no declaration.
    static let toolchain: Set<String> = [
        "Dispatch", "Foundation", "FoundationEssentials", "FoundationNetworking", "Glibc",
        "Synchronization",
    ]
}
