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
            case .timestamp: .timestamp(minutesEast: try minutesEast())
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

    /// The clock of times without an offset: `UTC`, or an offset that never changes.
    private func minutesEast() throws(ConfigurationError) -> Int {
        let value = try required("zone", example: "UTC")
        let text = try value.text("UTC or an offset such as +02:00")
        guard text.uppercased() != "UTC", text != "Z" else { return 0 }
        guard let sign = text.first, "+-".contains(sign), text.utf8.count == 6,
            Timestamp(rfc3339: "2000-01-01T00:00:00" + text) != nil,
            let hours = Int(text.dropFirst().prefix(2)), let minutes = Int(text.suffix(2))
        else {
            throw value.error(
                "must be UTC or an offset such as +02:00, not \"\(text)\"",
                suggestion: "where clocks are changed in summer an hour of the year is ambiguous: "
                    + "keep such a column as timestamptz, or show it so in a view")
        }
        let total = hours.multipliedReportingOverflow(by: 60).partialValue &+ minutes
        return sign == "-" ? 0 &- total : total
    }
}
