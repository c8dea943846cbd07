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
    ])
    func `is refused where it makes no sense`(arguments: [String], says: String) async {
        let outcome = await workplace.run(["import", "rows.csv"] + arguments)
        #expect(outcome.status == .usage)
        #expect(outcome.diagnostics.contains(says), "\(outcome.diagnostics)")
    }

    @Test func `refuses a file that lacks one of its columns`() async throws {
        let file = try workplace.folder.write("original_transaction_id,usr\n11,c\n", to: "r.csv")
        let outcome = await workplace.run("import", file, "--map", "user=customer_id")
        #expect(outcome.status == .data)
        #expect(outcome.diagnostics.contains("did you mean \"usr\"?"), "\(outcome.diagnostics)")
    }
}
