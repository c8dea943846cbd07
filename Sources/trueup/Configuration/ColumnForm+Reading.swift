import FoundationEssentials
import Subscriptions

/// The words for the forms of columns.
enum FormWord: String, CaseIterable {
    case text, integer, milliseconds, seconds, timestamptz, timestamp, boolean, uuid

    static let ofTimes = "milliseconds, seconds, timestamptz, timestamp"
}

extension SettingsMapping {
    /// The form of a column of ours; for times it must be stated.
    func form(
        of field: SubscriptionField, hasWords: Bool
    ) throws(ConfigurationError) -> ColumnForm {
        guard let value = value("form") else {
            guard field.form != .time else {
                throw error(
                    "form", "is missing", suggestion: "forms of times: \(FormWord.ofTimes)")
            }
            return field.form == .text ? .text : .integer
        }
        let word = try value.choice(of: FormWord.self)
        let form: ColumnForm =
            switch word {
            case .text: .text
            case .integer: .integer
            case .milliseconds: .milliseconds
            case .seconds: .seconds
            case .timestamptz: .timestamptz
            case .timestamp: .timestamp(try clock())
            case .boolean: .boolean
            case .uuid: .uuid
            }
        if word != .timestamp, let zone = self.value("zone") {
            throw zone.error("stands beside a form that has none", suggestion: "leave it out")
        }
        guard form.fits(field.form, hasWords: hasWords) else {
            throw value.error("\"\(word.rawValue)\" cannot hold \(field.rawValue)")
        }
        return form
    }

    /// The clock of times without an offset: `UTC`, an offset that never changes, or a zone.
    private func clock() throws(ConfigurationError) -> LocalClock {
        let value = try required("zone", example: "UTC")
        let text = try value.text("UTC, an offset such as +02:00, or a zone such as Europe/Berlin")
        guard text.uppercased() != "UTC", text != "Z" else { return LocalClock(minutesEast: 0) }
        guard let sign = text.first, "+-".contains(sign) else { return try value.zone(text) }
        guard text.utf8.count == 6, Timestamp(rfc3339: "2000-01-01T00:00:00" + text) != nil,
            let hours = Int(text.dropFirst().prefix(2)), let minutes = Int(text.suffix(2))
        else { throw value.error("must be an offset such as +02:00, not \"\(text)\"") }
        let total = hours.multipliedReportingOverflow(by: 60).partialValue &+ minutes
        return LocalClock(minutesEast: sign == "-" ? 0 &- total : total)
    }
}

extension SettingsValue {
    /// A zone of this machine's time zone database.
    fileprivate func zone(_ name: String) throws(ConfigurationError) -> LocalClock {
        let isName =
            !name.isEmpty && name.utf8.count < 100
            && name.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { part in
                !part.isEmpty && part.utf8.allSatisfy(ZoneFiles.nameBytes.contains)
            }
        guard isName, let data = FileManager.default.contents(atPath: ZoneFiles.folder + name),
            data.count < ZoneFiles.mostBytes
        else {
            throw error(
                "\"\(name)\" is no zone of this machine",
                suggestion: "write UTC, an offset such as +02:00, or a file of \(ZoneFiles.folder) "
                    + "(package tzdata) such as Europe/Berlin")
        }
        guard let clock = LocalClock(zone: name, tzif: Array(data)) else {
            throw error(
                "\(ZoneFiles.folder)\(name) cannot be read as a zone",
                suggestion: "keep the column as timestamptz, or show it so in a view")
        }
        return clock
    }
}

/// Where the rules of zones stand.
private enum ZoneFiles {
    static let folder = "/usr/share/zoneinfo/"
    static let mostBytes = 1 << 20
    /// No dots: nothing outside of the folder has such a name.
    static let nameBytes = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-".utf8)
}
