import Foundation
import Subscriptions
import Testing
import trueup

@Suite struct `trueup import with a mapping` {
    let workplace: Workplace

    init() async throws { workplace = try await Workplace().initialised() }

    @Test func `reads columns with other names and leaves others out`() async throws {
        let file = try workplace.folder.write(
            "otid,user,a=b,plan\n11,c1,1,gold\n", to: "rows.csv")
        let outcome = await workplace.run(
            "import", file, "--map", "otid=original_transaction_id", "--map", "user=customer_id",
            "--map", "a=b=status", "--ignore", "plan")
        #expect(outcome.status == .ok, "\(outcome.diagnostics)")
        #expect(
            await workplace.run("export").output
                .contains("11,Production,com.example.app,c1,,,1,,"))
        let empty = await workplace.run(
            "import", file, "--map", "otid=original_transaction_id", "--map", "user=", "--map",
            "a=b=status", "--ignore", "plan", "--json")
        #expect(empty.output.contains("\"unchanged\":1"), "\(empty.output)")
    }

    @Test func `works for periods and notifications too`() async throws {
        let periods = try workplace.folder.write("t,o\n21,11\n", to: "periods.csv")
        let outcome = await workplace.run(
            "import", "--transactions", periods, "--map", "t=transaction_id", "--map",
            "o=original_transaction_id")
        #expect(outcome.status == .ok, "\(outcome.diagnostics)")
        let inbox = try workplace.folder.write(
            "{\"id\":\"u1\",\"raw\":{\"a\":[1]}}\n", to: "inbox.jsonl")
        let notified = await workplace.run(
            "import", "--notifications", inbox, "--map", "id=notificationUUID", "--ignore", "raw")
        #expect(notified.status == .ok, "\(notified.diagnostics)")
    }

    @Test(arguments: [
        (["--map", "otid"], "is not COLUMN=OURS"), (["--map", "=status"], "is not COLUMN=OURS"),
        (["--map", "otid=customer_idd"], "did you mean customer_id?"),
        (["--map", "otid=xyzzyxyzzy"], "known are original_transaction_id"),
        (["--map", "a=status", "--map", "a=customer_id"], "names the column a twice"),
        (["--map", "a=status", "--map", "b=status"], "two columns of the file, a and b"),
        (["--map", "a=status", "--ignore", "a"], "named twice"),
        (["--receipts", "--map", "a=status"], "known are receipt"),
    ])
    func `is refused where it makes no sense`(arguments: [String], says: String) async {
        let outcome = await workplace.run(["import", "rows.csv"] + arguments)
        #expect(outcome.status == .usage)
        #expect(outcome.diagnostics.contains(says), "\(outcome.diagnostics)")
    }

    @Test func `names where the rows of the file are if they are in a table of the company's`()
        async throws
    {
        let columns = "original_transaction_id: otid, bundle_id: {constant: b}"
        let place = try Workplace()
        _ = try place.folder.write(
            SettingsText.production
                + "\nstore:\n  url: sqlite:shop.sqlite\n  books: sqlite:b.sqlite\n"
                + "  subscriptions: {table: subs, columns: {\(columns), "
                + "environment: {constant: sandbox}, status: s}}\n", to: "trueup.yaml")
        let rows = await place.run("import", "rows.csv")
        #expect(rows.status == .usage)
        #expect(rows.diagnostics.contains("The rows are in your own table (store.subscriptions"))
        let periods = await place.run("import", "--transactions", "rows.csv")
        #expect(periods.status == .usage)
        #expect(periods.diagnostics.contains("keeps no periods next to it"))
        #expect(!periods.diagnostics.contains("The rows are in"), "\(periods.diagnostics)")
    }

    @Test func `refuses a file that lacks one of its columns`() async throws {
        let file = try workplace.folder.write("original_transaction_id,usr\n11,c\n", to: "r.csv")
        let outcome = await workplace.run("import", file, "--map", "user=customer_id")
        #expect(outcome.status == .data)
        #expect(outcome.diagnostics.contains("did you mean \"usr\"?"), "\(outcome.diagnostics)")
    }
}

@Suite struct `trueup import --dry-run` {
    let workplace: Workplace

    init() async throws { workplace = try await Workplace().initialised() }

    private func database() throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: workplace.folder.path + "/trueup.sqlite"))
    }

    private func numbers(_ output: String) -> [String] {
        output.matches(of: /\d+ [a-z]+/).map { String($0.0) }.filter { !$0.contains("line") }
    }

    @Test func `says what the import then does, and leaves every byte`() async throws {
        let stored = try workplace.folder.write(
            """
            original_transaction_id,customer_id,signed_date
            11,c,2026-11-20T00:00:00Z
            12,c,
            13,c,

            """, to: "a.csv")
        _ = await workplace.run("import", stored)
        let file = try workplace.folder.write(
            "original_transaction_id,customer_id\n11,d\n12,d\n13,c\n14,c\nx,c\n", to: "b.csv")
        let before = try database()
        let refused = await workplace.run("import", "--dry-run", file)
        #expect(refused.status == .data)
        #expect(refused.diagnostics.contains("\(file):6: "))
        let forecast = await workplace.run("import", "--dry-run", "--skip-bad-rows", file)
        #expect(forecast.status == .ok)
        #expect(
            forecast.output.hasPrefix(
                "4 lines would be loaded: 1 inserted, 1 updated, 1 unchanged, 1 skipped as older"),
            "\(forecast.output)")
        #expect(forecast.output.contains("Nothing was written"))
        #expect(forecast.diagnostics.contains("1 bad line would be left out"))
        #expect(try database() == before)
        let real = await workplace.run("import", "--skip-bad-rows", file)
        #expect(numbers(real.output) == numbers(forecast.output))
    }

    @Test func `is marked in JSON`() async throws {
        let file = try workplace.folder.write("original_transaction_id\n11\n", to: "a.csv")
        #expect(
            await workplace.run("import", "--dry-run", "--json", file).output
                .contains("\"dry_run\":true"))
        #expect(
            await workplace.run("import", "--json", file).output.contains("\"dry_run\":false"))
    }
}
