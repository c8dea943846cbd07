import Subscriptions

/// The values that a setting may have, and how they are read.
struct SettingForm<Value: Sendable>: Sendable {
    /// Type and bounds, for people.
    var words: String
    var choices: [String] = []
    /// Texts of different values.
    var examples: [String] = []
    var read: @Sendable (SettingsValue) throws(ConfigurationError) -> Value
    /// The value as one would write it; `nil` for one that cannot be written.
    var written: @Sendable (Value) -> String?
    var digested: @Sendable (Value) -> CanonicalJSON

    init(
        _ words: String, choices: [String] = [], examples: [String] = [],
        read: @escaping @Sendable (SettingsValue) throws(ConfigurationError) -> Value,
        written: @escaping @Sendable (Value) -> String? = { _ in nil },
        digested: (@Sendable (Value) -> CanonicalJSON)? = nil
    ) {
        self.words = words
        self.choices = choices
        self.examples = examples
        self.read = read
        self.written = written
        self.digested = digested ?? { .text(written($0)) }
    }

    /// Only some of the values.
    func refusing(
        _ problem: String, words: String, examples: [String]? = nil,
        _ isRefused: @escaping @Sendable (Value) -> Bool
    ) -> SettingForm {
        var form = self
        form.words = words
        form.examples = examples ?? self.examples
        form.read = { value throws(ConfigurationError) in
            let result = try read(value)
            guard !isRefused(result) else { throw value.error(problem) }
            return result
        }
        return form
    }

    /// The same for a property that has no value when the key is left out.
    static func optional<Wrapped>(_ form: SettingForm<Wrapped>) -> SettingForm
    where Value == Wrapped? {
        SettingForm(
            form.words, choices: form.choices, examples: form.examples,
            read: { value throws(ConfigurationError) in try form.read(value) },
            written: { $0.flatMap(form.written) },
            digested: { $0.map(form.digested) ?? .null })
    }
}

extension SettingForm where Value == Int {
    static func wholeNumber(in range: ClosedRange<Int64>) -> SettingForm {
        SettingForm(
            "whole number, \(range.lowerBound) to \(range.upperBound)",
            examples: ["\(range.lowerBound)", "\(range.upperBound)"],
            read: { value throws(ConfigurationError) in Int(try value.integer(in: range)) },
            written: { String($0) }, digested: { .integer(Int64($0)) })
    }
}

extension SettingForm where Value == Int? {
    static func wholeNumberOrNone(in range: ClosedRange<Int64>) -> SettingForm {
        SettingForm(
            "whole number, \(range.lowerBound) to \(range.upperBound), or `none`",
            examples: ["\(range.upperBound)", "none"],
            read: { value throws(ConfigurationError) in
                try value.integerOrNone(in: range).map { Int($0) }
            },
            written: { $0.map { String($0) } ?? "none" },
            digested: { $0.map { .integer(Int64($0)) } ?? .null })
    }
}

extension SettingForm where Value == Double {
    /// A part of the whole.
    static var share: SettingForm {
        SettingForm(
            "share, 0 to 1", examples: ["0.25", "0.75"],
            read: { value throws(ConfigurationError) in try value.share() },
            written: { String($0) })
    }
}

extension SettingForm where Value == Int64 {
    /// Milliseconds, written with a unit.
    static var duration: SettingForm {
        SettingForm(
            "duration, 0s to \(DurationText.longest)", examples: ["90s", "50d"],
            read: { value throws(ConfigurationError) in try value.durationMilliseconds() },
            written: DurationText.text(ofMilliseconds:), digested: CanonicalJSON.integer)
    }
}

extension SettingForm where Value == String {
    /// One word of plain letters, such as an id.
    static var word: SettingForm {
        SettingForm(
            "one word",
            read: { value throws(ConfigurationError) in
                let text = try value.text()
                guard text.utf8.count <= 255, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
                else { throw value.error("must be one word of plain letters, not \"\(text)\"") }
                return text
            },
            written: { $0 })
    }

    /// A path, seen from the settings file.
    static var path: SettingForm {
        SettingForm(
            "path", read: { value throws(ConfigurationError) in try value.path() },
            written: { $0 })
    }
}

extension SettingForm
where Value: RawRepresentable & CaseIterable & Equatable, Value.RawValue == String {
    static var choice: SettingForm {
        let names = Value.allCases.map(\.rawValue)
        return SettingForm(
            choiceWords(names), choices: names, examples: names,
            read: { value throws(ConfigurationError) in try value.choice() },
            written: { $0.rawValue })
    }
}

/// For example `` `soft` or `hard` ``.
func choiceWords(_ names: [String]) -> String {
    let quoted = names.map { "`\($0)`" }
    guard quoted.count > 1, let last = quoted.last else { return quoted.joined() }
    return quoted.dropLast().joined(separator: ", ") + " or " + last
}
