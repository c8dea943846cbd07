// swift-tools-version: 6.3
import PackageDescription

let package = Package(
    name: "trueup",
    products: [
        .executable(name: "trueup", targets: ["trueup"]),
        .executable(name: "appstore-simulator", targets: ["appstore-simulator"]),
    ],
    // What needs a system library that the plain build does without.
    traits: [
        .trait(name: "MySQL", description: "The company's own table in MySQL or MariaDB."),
        .trait(name: "PostgreSQL", description: "The company's own table in PostgreSQL, by libpq."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.5.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        // Without its trait for Foundation: nothing here needs the large one.
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
    ],
    targets: [
        .systemLibrary(
            name: "CLibcurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(
            name: "CMariaDB", pkgConfig: "libmariadb", providers: [.apt(["libmariadb-dev"])]),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        // The allocator's settings, which Swift's module of the C library leaves out.
        .systemLibrary(name: "CAllocator"),
        // The parts of glibc's posix_spawn that Swift's module leaves out.
        .systemLibrary(name: "CSpawn"),
        // `jobs/release` names the commit that it builds.
        .target(
            name: "CCommit",
            cSettings: Context.environment["TRUEUP_COMMIT"].map {
                [.define("TRUEUP_COMMIT", to: "\"\($0)\"")]
            }),
        .target(name: "Subscriptions"),
        .target(name: "Reconciliation", dependencies: ["Subscriptions"]),
        .target(
            name: "ReconciliationRun",
            dependencies: [
                "Reconciliation", "SubscriptionStore", "Subscriptions",
                .product(name: "Logging", package: "swift-log"),
            ]),
        .target(
            name: "Reports",
            dependencies: [
                "CZlib", "Subscriptions", .product(name: "Crypto", package: "swift-crypto"),
            ]),
        .target(
            name: "RowFiles",
            dependencies: [
                "CZlib", "Subscriptions", .product(name: "Crypto", package: "swift-crypto"),
            ]),
        .target(name: "HTTPTransport", dependencies: ["CLibcurl"]),
        .target(
            name: "JSONWebSignature",
            dependencies: [
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ]),
        .target(
            name: "AppStoreServerAPI",
            dependencies: ["HTTPTransport", "JSONWebSignature", "Subscriptions"]),
        .target(
            name: "ReportAudit",
            dependencies: [
                "AppStoreServerAPI", "CZlib", "JSONWebSignature", "Subscriptions",
                .product(name: "Crypto", package: "swift-crypto"),
            ]),
        .target(
            name: "SubscriptionStore",
            dependencies: [
                "Reconciliation", "Subscriptions",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        .target(name: "ServerConnections", dependencies: ["Subscriptions"]),
        .target(
            name: "PostgresDatabase",
            dependencies: [
                "ServerConnections", "Subscriptions",
                .target(name: "CPostgres", condition: .when(traits: ["PostgreSQL"])),
            ]),
        .target(
            name: "MySQLDatabase",
            dependencies: [
                "ServerConnections", "Subscriptions",
                .target(name: "CMariaDB", condition: .when(traits: ["MySQL"])),
            ]),
        .target(
            name: "ProgramDatabase", dependencies: ["CSpawn", "JSONWebSignature", "Subscriptions"]),
        .target(
            name: "AppStoreSimulation",
            dependencies: [
                "Subscriptions", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdHTTP2", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "Yams", package: "Yams"),
            ]),
        .target(
            name: "EventDelivery",
            dependencies: [
                "HTTPTransport", "SubscriptionStore", "Subscriptions",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ]),
        .executableTarget(
            name: "trueup",
            dependencies: [
                "AppStoreServerAPI", "CAllocator", "CCommit", "EventDelivery", "HTTPTransport",
                "JSONWebSignature", "MySQLDatabase", "PostgresDatabase", "ProgramDatabase",
                "Reconciliation", "ReconciliationRun", "ReportAudit", "Reports", "RowFiles",
                "ServerConnections", "SubscriptionStore", "Subscriptions",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams"),
            ]),
        .executableTarget(
            name: "appstore-simulator",
            dependencies: [
                "AppStoreSimulation", "Subscriptions",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        .testTarget(name: "SubscriptionsTests", dependencies: ["Subscriptions", "TestSupport"]),
        .testTarget(
            name: "ReconciliationTests",
            dependencies: ["Reconciliation", "Subscriptions", "TestSupport"]),
        .testTarget(
            name: "ReconciliationRunTests",
            dependencies: [
                "Reconciliation", "ReconciliationRun", "StoreSupport", "SubscriptionStore",
                "Subscriptions", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "ReportsTests", dependencies: ["Reports", "Subscriptions", "TestSupport"]),
        .testTarget(
            name: "ReportAuditTests",
            dependencies: [
                "ReportAudit", "Subscriptions", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ]),
        .testTarget(
            name: "RowFilesTests", dependencies: ["RowFiles", "Subscriptions", "TestSupport"]),
        .testTarget(name: "HTTPTransportTests", dependencies: ["HTTPTransport", "TestSupport"]),
        .testTarget(
            name: "JSONWebSignatureTests",
            dependencies: [
                "JSONWebSignature", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ]),
        .testTarget(
            name: "AppStoreServerAPITests",
            dependencies: [
                "AppStoreServerAPI", "HTTPTransport", "JSONWebSignature", "Subscriptions",
                "TestSupport", .product(name: "Crypto", package: "swift-crypto"),
            ]),
        .testTarget(
            name: "SubscriptionStoreTests",
            dependencies: [
                "Reconciliation", "StoreSupport", "SubscriptionStore", "Subscriptions",
                "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .testTarget(
            name: "PostgresDatabaseTests",
            dependencies: [
                "PostgresDatabase", "ServerConnections", "Subscriptions", "TestSupport",
            ],
            exclude: ["server"]),
        .testTarget(
            name: "MySQLDatabaseTests",
            dependencies: ["MySQLDatabase", "ServerConnections", "Subscriptions", "TestSupport"],
            exclude: ["server"]),
        .testTarget(
            name: "ProgramDatabaseTests",
            dependencies: ["ProgramDatabase", "Subscriptions", "TestSupport"],
            exclude: ["Programs"]),
        .testTarget(
            name: "EventDeliveryTests",
            dependencies: [
                "EventDelivery", "HTTPTransport", "StoreSupport", "SubscriptionStore",
                "Subscriptions", "TestSupport",
            ]),
        .testTarget(
            name: "AppStoreSimulationTests",
            dependencies: [
                "AppStoreSimulation", "Subscriptions",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            exclude: ["Benchmark", "Clients", "PythonPeer"]),
        .testTarget(
            name: "trueupTests",
            dependencies: [
                "AppStoreServerAPI", "JSONWebSignature", "Reconciliation", "ReconciliationRun",
                "Reports",
                "RowFiles", "SubscriptionStore", "Subscriptions", "TestSupport", "trueup",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Yams", package: "Yams"),
            ]),
        .testTarget(
            name: "ContractTests",
            dependencies: [
                "HTTPTransport", "MySQLDatabase", "PostgresDatabase", "ProgramDatabase",
                "ServerConnections", "StoreSupport", "SubscriptionStore", "Subscriptions",
                "TestSupport", "appstore-simulator", "trueup",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "Subscriptions", "TestSupport", "appstore-simulator", "fleet-rehearsal", "trueup",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            exclude: [
                "Durability/durable_steps.c", "Programs", "Statements/finished_statements.c",
            ]),
        .testTarget(name: "ArchitectureTests", dependencies: ["Subscriptions", "TestSupport"]),
        .executableTarget(
            name: "verification-benchmark",
            dependencies: [
                "AppStoreServerAPI", "JSONWebSignature", "Subscriptions", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ], path: "Benchmarks/verification", exclude: ["measure", "peer.py"]),
        .executableTarget(
            name: "transport-benchmark", dependencies: ["HTTPTransport"],
            path: "Benchmarks/transport", exclude: ["measure"]),
        .executableTarget(
            name: "fleet-rehearsal",
            dependencies: [
                "HTTPTransport", "Subscriptions", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ], path: "Benchmarks/rehearsal"),
        .target(
            name: "StoreSupport",
            dependencies: [
                "SubscriptionStore", "Subscriptions",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Tests/StoreSupport"),
        .target(
            name: "TestSupport",
            dependencies: [
                "AppStoreServerAPI", "HTTPTransport", "JSONWebSignature", "MySQLDatabase",
                "PostgresDatabase", "Subscriptions",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ], path: "Tests/TestSupport"),
    ]
)

// The fuzzer's runtime brings its own `main`: this target belongs to no ordinary build, only to
// that of `jobs/fuzz`.
if Context.environment["TRUEUP_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "verification-fuzzer", dependencies: ["TestSupport"], path: "Fuzz",
            swiftSettings: [.unsafeFlags(["-parse-as-library"])]))
}

/// One list of compiler settings for every target of this package.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6), .strictMemorySafety(), .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
]
for target in package.targets where target.type != .system {
    target.swiftSettings = (target.swiftSettings ?? []) + settings
}

// From end to end the tests spend a third of their time in these three modules, which are small: `jobs/test` and
// `jobs/demo` optimize them in their debug build.
if Context.environment["TRUEUP_OPTIMIZED"] != nil {
    let optimized = ["JSONWebSignature", "ReportAudit", "Subscriptions"]
    for target in package.targets where optimized.contains(target.name) {
        target.swiftSettings?.append(.unsafeFlags(["-O"]))
    }
}
