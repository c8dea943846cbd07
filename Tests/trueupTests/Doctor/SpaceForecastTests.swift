import Testing
import trueup

@Suite struct `The room for a night` {
    @Test func `is that of two statements a question, in the database and its log`() {
        let space = SpaceForecast(questions: 1000, bytesPerStatement: 1500, lastReport: nil)
        #expect(space.databaseBytes == 1000 * 2 * 1500 * 2)
        #expect(space.reportBytes > 0)
    }

    @Test func `is as large for each question as the last report was`() {
        let space = SpaceForecast(
            questions: 300, bytesPerStatement: nil, lastReport: (bytes: 5000, questions: 100))
        #expect(space.reportBytes == 15_000)
        let unknown = SpaceForecast(
            questions: 300, bytesPerStatement: nil, lastReport: (bytes: 5000, questions: 0))
        #expect(
            unknown
                == SpaceForecast(questions: 300, bytesPerStatement: nil, lastReport: nil))
    }

    @Test func `bears any numbers`() {
        let space = SpaceForecast(
            questions: .max, bytesPerStatement: .max, lastReport: (bytes: .max, questions: 1))
        #expect(space.databaseBytes > 0 && space.reportBytes > 0)
        #expect(
            SpaceForecast(questions: -5, bytesPerStatement: 1, lastReport: nil).reportBytes == 0)
    }
}
