package import Subscriptions

/// JSON Schema (draft 2020-12) of the settings files, made from the declarations, for editors.
///
/// A schema accepts every file that the reader accepts. The reader refuses more: what depends on several keys, and
/// what a text must look like.
package enum SettingsSchema {
    /// The schema of `trueup.yaml`.
    package static var settings: CanonicalJSON {
        document(title: "trueup.yaml", of: Settings.descriptions)
    }

    /// The schema of a job file.
    package static var job: CanonicalJSON {
        document(title: "A job of trueup", of: JobSettings.descriptions)
    }

    // MARK: Forms of values

    /// One value, also an id without quotes, which YAML reads as a number where it has only digits.
    package static let text = type("string", "number")
    static let duration = CanonicalJSON.object([
        "type": .string("string"), "pattern": .string("^[0-9]+[smhd]$"),
    ])
    static let share = CanonicalJSON.object([
        "type": .string("number"), "minimum": .integer(0), "maximum": .integer(1),
    ])
    /// A number of rows or requests, or a share.
    static let amount = CanonicalJSON.object([
        "type": .string("number"), "minimum": .integer(0),
    ])
    static let anyMembers = type("object")

    static func wholeNumber(in range: ClosedRange<Int64>) -> CanonicalJSON {
        .object([
            "type": .string("integer"), "minimum": .integer(range.lowerBound),
            "maximum": .integer(range.upperBound),
        ])
    }

    /// One of several words; some readers of YAML read a plain `off` as false.
    static func choice(_ words: [String]) -> CanonicalJSON {
        var values = words.map(CanonicalJSON.string)
        if words.contains("off") { values.append(.boolean(false)) }
        return .object(["enum": .array(values)])
    }

    static func either(_ forms: CanonicalJSON...) -> CanonicalJSON {
        .object(["anyOf": .array(forms)])
    }

    /// A list of at least one entry.
    static func list(of entry: CanonicalJSON) -> CanonicalJSON {
        .object(["type": .string("array"), "minItems": .integer(1), "items": entry])
    }

    /// Keys and values, where every value has the same form.
    static func members(_ keys: [String], _ value: CanonicalJSON) -> CanonicalJSON {
        .object([
            "type": .string("object"), "additionalProperties": .boolean(false),
            "properties": .object(Dictionary(keys.map { ($0, value) }) { first, _ in first }),
        ])
    }

    // MARK: Documents

    private static func type(_ names: String...) -> CanonicalJSON {
        .object([
            "type": names.count == 1
                ? .string(names[0]) : .array(names.map(CanonicalJSON.string))
        ])
    }

    private static func document(
        title: String, of settings: [SettingDescription]
    ) -> CanonicalJSON {
        object(
            of: settings,
            with: [
                "$schema": .string("https://json-schema.org/draft/2020-12/schema"),
                "title": .string(title),
            ])
    }

    private static func object(
        of settings: [SettingDescription], with other: [String: CanonicalJSON] = [:]
    ) -> CanonicalJSON {
        var properties: [String: CanonicalJSON] = [:]
        for setting in settings {
            for name in setting.names { properties[name] = schema(of: setting) }
        }
        var members = other
        members["type"] = .string("object")
        members["additionalProperties"] = .boolean(false)
        members["properties"] = .object(properties)
        let required = settings.filter { $0.absence == .required }.map(\.key)
        if !required.isEmpty { members["required"] = .array(required.map(CanonicalJSON.string)) }
        return .object(members)
    }

    private static func schema(of setting: SettingDescription) -> CanonicalJSON {
        var form = setting.schema
        if !setting.nested.isEmpty {
            let below = object(of: setting.nested)
            form = setting.isList ? list(of: below) : below
        }
        guard case .object(var members) = form else { return form }
        members["description"] = .string(description(of: setting))
        return .object(members)
    }

    /// Returns the text that an editor shows next to the key, with the default in words.
    private static func description(of setting: SettingDescription) -> String {
        let absence: String? =
            switch setting.absence {
            case .required, .below: nil
            case .requiredUnless(let words): words
            case .value(let text): "default: \(text)"
            case .words(let words): "default: \(words)"
            }
        return ([setting.meaning] + [absence].compactMap(\.self)).joined(separator: "; ")
    }
}
