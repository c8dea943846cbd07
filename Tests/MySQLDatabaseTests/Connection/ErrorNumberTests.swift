import MySQLDatabase
import ServerConnections
import Subscriptions
import Testing

@Suite struct `An error of MySQL` {
    @Test(arguments: [
        (
            1062, "Duplicate entry 'anna@example.com' for key 'PRIMARY'",
            "Duplicate entry for key 'PRIMARY'"
        ),
        (
            1292, "Incorrect datetime value: '2039-01-01' for column `s`.`t`.`c` at row 1",
            "Incorrect datetime value for column `s`.`t`.`c` at row 1"
        ),
        (
            1366, "Incorrect integer value: 'it's for you' for column 'n' at row 1",
            "Incorrect integer value for column 'n' at row 1"
        ),
        (1292, "Truncated incorrect INTEGER value: 'x'", "Truncated incorrect INTEGER value"),
        (1644, "no 'way'", "no 'way'"),
    ])
    func `does not repeat a value`(number: UInt32, said: String, words: String) {
        #expect(MySQLFailure(number: number, words: said).words == words)
    }

    @Test(arguments: [
        (2006, Subscriptions.ExitStatus.unavailable, true), (2013, .unavailable, true),
        (1045, .unavailable, false), (1213, .busy, false), (1205, .busy, false),
        (1290, .unavailable, false), (1142, .config, false), (1146, .config, false),
        (1114, .output, false), (1969, .busy, false), (9999, .internal, false),
    ])
    func `becomes an exit status`(
        number: UInt32, status: Subscriptions.ExitStatus, endsSession: Bool
    ) {
        let failure = MySQLFailure(number: number, words: "words")
        #expect(failure.endsSession == endsSession)
        #expect(failure.error(doing: "trying", at: "db/shop").exitStatus == status)
    }
}
