import Foundation
import TestSupport
import Testing

@Suite struct `Help on a narrow terminal` {
    /// The parser itself would end the process.
    @Test(arguments: ["-3", "0", "5", "20", "39"])
    func `is laid out all the same`(columns: String) throws {
        let trueup = BuiltExecutable("trueup")
        for arguments in [["help", "exit-statuses"], ["help", "run"], ["verify", "--help"]] {
            let result = try trueup.run(arguments, environment: ["COLUMNS": columns])
            #expect(result.status == 0, "\(arguments) at \(columns): \(result.errors)")
            #expect(result.output.contains("EXIT STATUS:"))
        }
        #expect(try trueup.run(["--help"], environment: ["COLUMNS": columns]).status == 0)
        let simulator = try BuiltExecutable("appstore-simulator").run(
            ["--help"], environment: ["COLUMNS": columns])
        #expect(simulator.status == 0, "\(columns): \(simulator.errors)")
        let wrong = try trueup.run(["run", "--limt"], environment: ["COLUMNS": columns])
        #expect(wrong.status == 64, "\(wrong.errors)")
    }
}
