import Subscriptions
import Testing
import Yams
import trueup

/// An editor that knows the schema must not warn of a right file, and must warn of a wrong one.
@Suite struct `The schema of the settings` {
    @Test(arguments: JobTemplates.all.map(\.name))
    func `accepts the jobs that init writes`(name: String) throws {
        let text = try #require(JobTemplates.all.first { $0.name == name }?.text)
        #expect(try problems(of: text, SettingsSchema.job) == [])
    }

    @Test(arguments: [SettingsText.production, SettingsText.loopback])
    func `accepts settings that the program accepts`(text: String) throws {
        #expect(SettingsText.error(of: text) == nil)
        #expect(try problems(of: text, SettingsSchema.settings) == [])
    }

    @Test(arguments: DeclaredSetting.all)
    func `accepts every example and every default`(setting: DeclaredSetting) throws {
        let schema = try schema(of: setting)
        var texts = setting.description.examples
        if case .value(let text) = setting.description.absence { texts.append(text) }
        for text in texts { #expect(try problems(of: text, schema) == [], "\(text)") }
    }

    @Test(arguments: [
        "sweep_day: 3", "sweep_days: 0", "sweep_days: many", "mode: aply", "steps: []",
        "steps: [walk, wlak]", "settle: 15", "settle: 15 minutes", "sample: -1",
        "guards: {max_changes: 1.5}", "guards: {max_change_share: 5}", "guards: 3",
        "guards: {max_change: 5}", "authority: {status: mine}", "authority: {statuses: apple}",
        "max_duration: {hours: 4}", "fail_on: highest",
    ])
    func `refuses a job that the program refuses`(text: String) throws {
        #expect(throws: ConfigurationError.self) { try JobSettings(yaml: text, file: "a.yaml") }
        #expect(try problems(of: text, SettingsSchema.job) != [])
    }

    @Test(arguments: [
        "stores: {url: sqlite:a}", "apps: {}", "report: reports", "retention: 400",
        "message: {when: sometimes}", "tell: {urls: a}",
    ])
    func `refuses settings that the program refuses`(line: String) throws {
        let text = line.hasPrefix("apps") ? line : SettingsText.production + "\n" + line
        #expect(SettingsText.error(of: text) != nil)
        #expect(try problems(of: text, SettingsSchema.settings) != [])
    }

    @Test func `requires what has no default`() throws {
        #expect(try problems(of: "retention: 4d", SettingsSchema.settings) == ["/: no apps"])
        let text = SettingsText.production(replacing: "key_id: 2X9R4HXF34", by: "proxy: http://a")
        #expect(try problems(of: text, SettingsSchema.settings) == ["/apps/0: no key_id"])
    }

    private func schema(of setting: DeclaredSetting) throws -> CanonicalJSON {
        var schema = setting.file == .job ? SettingsSchema.job : SettingsSchema.settings
        for name in setting.path {
            if let entry = schema["items"] { schema = entry }
            schema = try #require(schema["properties"]?[name])
        }
        return schema
    }

    private func problems(of yaml: String, _ schema: CanonicalJSON) throws -> [String] {
        SchemaValidation.problems(of: try #require(try Yams.load(yaml: yaml)), schema)
    }
}

/// The part of JSON Schema that the schemas use, written from its specification.
private enum SchemaValidation {
    static func problems(
        of value: Any, _ schema: CanonicalJSON, at place: String = ""
    ) -> [String] {
        guard case .object(let members) = schema else { return ["\(place): no schema"] }
        let place = place.isEmpty ? "/" : place
        return members.flatMap { keyword, argument -> [String] in
            switch (keyword, argument) {
            case ("type", .string(let name)):
                isOf(value, name) ? [] : ["\(place): not \(name)"]
            case ("type", .array(let names)):
                names.contains { isOf(value, $0.text) } ? [] : ["\(place): no type"]
            case ("enum", .array(let words)):
                words.contains(
                    (value as? Bool).map(CanonicalJSON.boolean) ?? .string("\(value)"))
                    ? [] : ["\(place): no choice"]
            case ("anyOf", .array(let forms)):
                forms.contains { problems(of: value, $0, at: place).isEmpty }
                    ? [] : ["\(place): none of"]
            case ("minimum", .integer(let least)):
                number(value).map { $0 >= Double(least) } ?? true ? [] : ["\(place): too small"]
            case ("maximum", .integer(let most)):
                number(value).map { $0 <= Double(most) } ?? true ? [] : ["\(place): too large"]
            case ("pattern", .string(let pattern)):
                matches(value, pattern) ? [] : ["\(place): no match"]
            case ("minItems", .integer(let least)):
                (value as? [Any]).map { $0.count >= least } ?? true ? [] : ["\(place): too few"]
            case ("items", let entry):
                (value as? [Any] ?? []).enumerated().flatMap {
                    problems(of: $0.element, entry, at: join(place, "\($0.offset)"))
                }
            case ("required", .array(let names)):
                (value as? [String: Any]).map { found in
                    names.map(\.text).filter { found[$0] == nil }.map { "\(place): no \($0)" }
                } ?? []
            case ("properties", .object(let known)):
                (value as? [String: Any] ?? [:]).flatMap { name, value in
                    known[name].map { problems(of: value, $0, at: join(place, name)) }
                        ?? ["\(place): unknown \(name)"]
                }
            case ("additionalProperties", .boolean(false)), ("description", _), ("title", _),
                ("$schema", _):
                []
            default: ["\(place): keyword \(keyword)"]
            }
        }
    }

    private static func join(_ place: String, _ name: String) -> String {
        (place == "/" ? "" : place) + "/" + name
    }

    private static func isOf(_ value: Any, _ type: String) -> Bool {
        switch type {
        case "string": value is String
        case "integer": value is Int
        case "number": value is Int || value is Double
        case "array": value is [Any]
        case "object": value is [String: Any]
        default: false
        }
    }

    private static func number(_ value: Any) -> Double? {
        (value as? Int).map(Double.init) ?? value as? Double
    }

    private static func matches(_ value: Any, _ pattern: String) -> Bool {
        guard let text = value as? String else { return true }
        return (try? Regex(pattern)).map { text.firstMatch(of: $0) != nil } ?? false
    }
}

extension CanonicalJSON {
    fileprivate subscript(_ name: String) -> CanonicalJSON? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    fileprivate var text: String {
        if case .string(let text) = self { text } else { "" }
    }
}
