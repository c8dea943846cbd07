import Foundation
import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `Orders for a running job` {
    private let now = Timestamp(unixMilliseconds: 1_790_000_000_000)
    private let runID = "20261120T031704Z-7f3c9a"

    private var orders: RunOrders {
        var orders = RunOrders(runID: runID, process: 17)
        orders.pause = RunOrders.Order(since: now, by: "ops@host")
        orders.throttle = RunOrders.Order(requestsPerSecond: 2.5, since: now, by: "ops@host")
        return orders
    }

    @Test func `are read as they were given`() throws {
        let database = try TemporaryDatabase()
        let file = RunOrdersFile(besideDatabaseAt: database.path)
        #expect(file.read(forRun: runID, process: 17) == RunOrders(runID: runID, process: 17))
        #expect(file.give(orders) == nil)
        #expect(file.read(forRun: runID, process: 17) == orders)
        file.remove()
        #expect(file.read(forRun: runID, process: 17).pause == nil)
    }

    @Test func `are void for every other run and process`() throws {
        let database = try TemporaryDatabase()
        let file = RunOrdersFile(besideDatabaseAt: database.path)
        #expect(file.give(orders) == nil)
        #expect(file.read(forRun: "20261121T031704Z-7f3c9a", process: 17).pause == nil)
        #expect(file.read(forRun: runID, process: 18).pause == nil)
    }

    @Test(arguments: [0o620, 0o602, 0o644, 0o700 | 0o040])
    func `are void where others can open the file`(mode: Int) throws {
        let database = try TemporaryDatabase()
        let file = RunOrdersFile(besideDatabaseAt: database.path)
        #expect(file.give(orders) == nil)
        try FileManager.default.setAttributes(
            [.posixPermissions: mode], ofItemAtPath: database.path + "-orders")
        #expect(file.read(forRun: runID, process: 17).pause == nil)
    }

    @Test func `are void behind a link`() throws {
        let database = try TemporaryDatabase()
        let file = RunOrdersFile(besideDatabaseAt: database.path)
        #expect(file.give(orders) == nil)
        let path = database.path + "-orders"
        try FileManager.default.moveItem(atPath: path, toPath: path + "-moved")
        try FileManager.default.createSymbolicLink(
            atPath: path, withDestinationPath: path + "-moved")
        #expect(file.read(forRun: runID, process: 17).pause == nil)
    }

    @Test(arguments: ["0", "-1", "nan", "inf", "x", ""])
    func `hold no rate that is none`(rate: String) throws {
        let database = try TemporaryDatabase()
        let file = RunOrdersFile(besideDatabaseAt: database.path)
        let path = database.path + "-orders"
        let text = """
            {"run_id":"\(runID)","process":17,"throttle":{"by":"x","since":"\(now.rfc3339)",\
            "requests_per_second":"\(rate)"}}
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(file.read(forRun: runID, process: 17).throttle == nil)
    }

    @Test func `that cannot be written say why`() {
        let file = RunOrdersFile(besideDatabaseAt: "/nonexistent/folder/trueup.sqlite")
        #expect(file.give(orders)?.contains("No such file") == true)
    }
}
