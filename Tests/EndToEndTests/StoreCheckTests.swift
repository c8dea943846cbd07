import Foundation
import TestSupport
import Testing

/// `trueup store-check`, with the examples of `docs/stores` and with programs that break a promise.
@Suite(.enabled(if: ProgramNight.pythonIsHere, "needs python3"), .timeLimit(.minutes(10)))
struct `The promises of a store program` {
    private func check(_ program: String, in folder: TemporaryFolder) throws
        -> BuiltExecutable.Result
    {
        try BuiltExecutable("trueup").run(
            ["store-check", "program:python3 \(program)", "--scratch"], in: folder.url)
    }

    @Test func `are kept by the example over SQLite`() throws {
        let folder = try TemporaryFolder()
        for _ in 0..<2 {
            let result = try check(
                "\(ProgramNight.stores)/sqlite_store.py scratch.sqlite --scratch", in: folder)
            #expect(result.status == 0, "\(result.output)\(result.errors)")
            #expect(!result.output.contains("not tried"), "\(result.output)")
            #expect(result.output.contains("keeps every promise"), "\(result.output)")
        }
    }

    @Test(.enabled(if: OwnMoto.isInstalled, "needs boto3 and moto[server] from PyPI"))
    func `are kept by the example over DynamoDB`() throws {
        let folder = try TemporaryFolder()
        try folder.write(
            """
            apps:
              - bundle_id: com.example.app
                app_apple_id: 1
                environment: production
                issuer_id: 57246542-96fe-1a63-e053-0824d011072a
                key_id: 2X9R4HXF34
                key_file: k.p8
            store:
              url: "program:python3 dynamodb_store.py shop"
              environment: [STORE_ENDPOINT, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_DEFAULT_REGION]
            report:
              directory: reports

            """, to: "trueup.yaml")
        let moto = try OwnMoto()
        try moto.make("shop")
        let program = "program:python3 \(ProgramNight.stores)/dynamodb_store.py shop --scratch"
        let result = try BuiltExecutable("trueup").run(
            ["store-check", program, "--scratch"], in: folder.url, environment: moto.environment)
        #expect(result.status == 0, "\(result.output)\(result.errors)")
    }

    static let broken: [(how: String, promise: String)] = [
        ("compares-nothing", "compare-and-set"), ("ignores-version", "compare-and-set"),
        ("ignores-case", "compared by their bytes"), ("trims", "odd texts"),
        ("makes-rows", "missing row"), ("seconds", "times"), ("offset", "pages lose no row"),
        ("forgets-last", "pages have every row"), ("invents", "rows has those"),
        ("replaces-entries", "entry number"), ("all-or-nothing", "unit leaves out"),
        ("two-transactions", "killed over a write"), ("lies", "inserted"),
        ("shortens-entries", "odd texts"),
    ]

    @Test(arguments: broken)
    func `are found broken`(how: String, promise: String) throws {
        let folder = try TemporaryFolder()
        let result = try check(
            "\(ProgramNight.programs)/careless_store.py scratch.sqlite \(how)", in: folder)
        #expect(result.status == 65, "\(how): \(result.output)\(result.errors)")
        let lines = result.output.split(separator: "\n")
        #expect(
            lines.contains { $0.hasPrefix("broken") && $0.contains(promise) },
            "\(how): \(result.output)")
    }

    @Test func `are not tried on a table that is not scratch`() throws {
        let folder = try TemporaryFolder()
        let result = try check(
            "\(ProgramNight.programs)/careless_store.py rows.sqlite real-table", in: folder)
        #expect(result.status == 65)
        #expect(result.errors.contains("does not confirm"), "\(result.errors)")
        let usage = try BuiltExecutable("trueup").run(
            ["store-check", "program:./my-store"], in: folder.url)
        #expect(usage.status == 64)
        let missing = try check("./no-such-file.py", in: folder)
        #expect(missing.status == 65, "\(missing.errors)")
    }
}
