import Foundation
import RowFiles
import Subscriptions

/// A file that holds a text for one test.
final class RowFixture {
    let path: String

    init(_ bytes: [UInt8], name: String) throws {
        path = NSTemporaryDirectory() + "/trueup-rows-" + UUID().uuidString + name
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// Everything that came of reading a file.
struct ReadRows<Field: NamedColumn, Row: Sendable> {
    var columns: Set<Field> = []
    var rows: [Row] = []
    /// Lines of the rows.
    var lines: [Int] = []
    var bad: [BadLine] = []

    init(_ reader: consuming RowFileReader<Field, Row>) throws {
        columns = reader.columns
        while let line = try reader.next() {
            switch line {
            case .row(let row, let number):
                rows.append(row)
                lines.append(number)
            case .bad(let line): bad.append(line)
            }
        }
    }
}

let oneApp = [AppIdentity(bundleID: "com.example.app", environment: .production)]

func readSubscriptions(
    _ text: String, as name: String = ".csv", apps: [AppIdentity] = oneApp
) throws -> ReadRows<SubscriptionField, LocalSubscription> {
    try readSubscriptions(Array(text.utf8), as: name, apps: apps)
}

func readSubscriptions(
    _ bytes: [UInt8], as name: String = ".csv", apps: [AppIdentity] = oneApp
) throws -> ReadRows<SubscriptionField, LocalSubscription> {
    let file = try RowFixture(bytes, name: name)
    return try ReadRows(SubscriptionFileReader(subscriptionsAt: file.path, apps: apps))
}

/// The error about the file as a whole, without the path in front.
func fileError(_ text: String, as name: String = ".csv") throws -> String? {
    let file = try RowFixture(Array(text.utf8), name: name)
    do throws(RowFileError) {
        _ = try SubscriptionFileReader(subscriptionsAt: file.path, apps: oneApp)
        return nil
    } catch {
        return error.description.replacing(file.path, with: "FILE")
    }
}
