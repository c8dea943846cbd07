package import Subscriptions

/// The definition of one setting: its documentation, and how its value is read.
///
/// The reader, the settings digest, the files that `trueup init` writes and `docs/settings.md` are
/// made from lists of these. The default is the initial value of the property, and is nowhere else.
struct Setting<Section: Sendable>: Sendable {
    typealias Reading = @Sendable (SettingsValue, inout Section) throws(ConfigurationError) -> Void
    typealias Digesting = @Sendable (Section) -> CanonicalJSON

    var description: SettingDescription
    /// Sets the written value.
    var read: Reading
    /// Its contribution to the settings digest; `nil` for none.
    var digested: Digesting?
    /// Its name in the digest.
    var digestKey: String
    /// The settings below this key.
    var nested: [Setting<Section>] = []

    var key: String { description.key }

    /// Whether a run with another value begins a new pass, or continues one that was stopped.
    enum NewPass: Sendable {
        /// It says how, or how fast, something is asked, and changes no check.
        case no
        case yes
        /// The digest has it from the command, which may overrule the job.
        case asCommanded
    }

    /// A setting whose value is in one property.
    ///
    /// `absent` says what holds when the key is left out, where the initial value of the property
    /// cannot be written or is not a default; `variable` is an environment variable that takes
    /// precedence, and `digestKey` the name in the digest where that is not the key.
    init<Value>(
        _ key: String, _ property: any WritableKeyPath<Section, Value> & Sendable,
        _ form: SettingForm<Value>, newPass: NewPass, absent: SettingDescription.Absence? = nil,
        example: String? = nil, variable: String? = nil, digestKey: String? = nil,
        _ meaning: String
    ) where Section: SettingsSection {
        let written = form.written(Section()[keyPath: property])
        description = SettingDescription(
            key: key, form: form.words, choices: form.choices,
            absence: absent ?? written.map(SettingDescription.Absence.value) ?? .words("none"),
            examples: (example.map { [$0] } ?? []) + form.examples, meaning: meaning,
            variable: variable, beginsNewPass: newPass != .no, schema: form.schema,
            display: form.display)
        read = { value, section throws(ConfigurationError) in
            section[keyPath: property] = try form.read(value)
        }
        if newPass == .yes { digested = { form.digested($0[keyPath: property]) } }
        self.digestKey = digestKey ?? key
    }

    /// A key with other settings below it.
    ///
    /// `digested` replaces the digest of the single members.
    init(
        _ key: String, _ nested: [Setting<Section>],
        digested: Digesting? = nil, _ meaning: String
    ) {
        let keys = nested.map(\.key)
        description = SettingDescription(
            key: key, form: "keys and values", absence: .below, examples: [], meaning: meaning,
            beginsNewPass: nested.contains { $0.description.beginsNewPass },
            nested: nested.map(\.description))
        read = { value, section throws(ConfigurationError) in
            let mapping = try value.mapping(keys: keys)
            try mapping.read(nested, into: &section)
        }
        if let digested {
            self.digested = digested
        } else if nested.contains(where: { $0.digested != nil }) {
            self.digested = { .object(nested.digest(of: $0)) }
        }
        digestKey = key
        self.nested = nested
    }

    /// Returns the setting as a member of the section's parent.
    func within<Whole: Sendable>(
        _ part: any WritableKeyPath<Whole, Section> & Sendable
    ) -> Setting<Whole> {
        let (read, digested) = (self.read, self.digested)
        var digesting: Setting<Whole>.Digesting?
        if let digested { digesting = { digested($0[keyPath: part]) } }
        return Setting<Whole>(
            description, digested: digesting, digestKey: digestKey,
            nested: nested.map { $0.within(part) }
        ) { value, whole throws(ConfigurationError) in
            try read(value, &whole[keyPath: part])
        }
    }

    /// A setting that is read in a way of its own, knowing what was read before it.
    init(
        _ description: SettingDescription, digested: Digesting?, digestKey: String? = nil,
        nested: [Setting<Section>] = [], read: @escaping Reading
    ) {
        self.description = description
        self.read = read
        self.digested = digested
        self.digestKey = digestKey ?? description.key
        self.nested = nested
    }
}

/// A part of the settings whose properties are declared; its initial values are the defaults.
///
/// What has no default is empty at first: the reader refuses a file that leaves it out.
protocol SettingsSection: Sendable {
    init()
    /// Every key, in the order of the documentation.
    static var declared: [Setting<Self>] { get }
}

extension Sequence {
    /// The members that these settings add to the settings digest.
    func digest<Section>(of section: Section) -> [String: CanonicalJSON]
    where Element == Setting<Section> {
        var members: [String: CanonicalJSON] = [:]
        for setting in self { members[setting.digestKey] = setting.digested?(section) }
        return members
    }
}

extension SettingsMapping {
    /// Reads every setting that is here.
    ///
    /// - Throws: 78 for a value that is not of its setting's form, or a key that must be there.
    func read<Section>(
        _ settings: [Setting<Section>], into section: inout Section
    ) throws(ConfigurationError) {
        for setting in settings {
            if setting.description.absence == .required {
                let example = setting.description.examples.first ?? "…"
                try setting.read(try required(setting.key, example: example), &section)
            } else if let value = try value(of: setting) {
                try setting.read(value, &section)
            }
        }
    }

    /// Returns the value under the key or under its other name.
    private func value<Section>(
        of setting: Setting<Section>
    ) throws(ConfigurationError) -> SettingsValue? {
        let named = setting.description.alias.flatMap { value($0) }
        guard let value = value(setting.key) else { return named }
        guard let named else { return value }
        throw named.error(
            "is another name of \(setting.key), which is here as well",
            suggestion: "keep one of them")
    }
}

/// The description of one setting for people.
package struct SettingDescription: Hashable, Sendable {
    package var key: String
    /// The accepted type and bounds.
    package var form: String
    /// The words of which it is one; empty where it is not a choice.
    package var choices: [String] = []
    /// The value when the key is left out.
    package var absence: Absence
    /// Texts that may be written; where there are several, they mean different things.
    package var examples: [String]
    /// One sentence, without a capital at the beginning and a full stop.
    package var meaning: String
    /// An environment variable that takes precedence over the file.
    package var variable: String?
    /// Whether a run with another value begins a new pass instead of continuing a stopped one.
    package var beginsNewPass = false
    /// The settings below this key.
    package var nested: [SettingDescription] = []
    /// Another name of the key, which means the same.
    package var alias: String?
    /// The JSON Schema of its value, for editors; for keys below this one see `nested`.
    package var schema = SettingsSchema.text
    /// How `trueup config show` prints a written value.
    package var display = Display.asWritten
    /// Whether the settings below this key are written once for each entry of a list.
    package var isList = false

    /// The key, and its other name where it has one.
    var names: [String] { [key] + [alias].compactMap(\.self) }

    /// How a written value is shown.
    package enum Display: Hashable, Sendable {
        case asWritten
        /// The path that a relative one means.
        case path
        /// A path behind `sqlite:`, or the URL of a server as written, which has no password.
        case store
        /// Scheme, host and port alone: the path of such an address is often a secret.
        case origin
    }

    package enum Absence: Hashable, Sendable {
        case required
        /// Required under a condition, which the words tell.
        case requiredUnless(String)
        /// The default as one would write it.
        case value(String)
        /// There is nothing that one could write for it.
        case words(String)
        /// The settings below the key have defaults of their own.
        case below

        /// The default as one would write it; `nil` where there is none.
        var defaultText: String? {
            if case .value(let text) = self { text } else { nil }
        }
    }
}

/// The values that a setting may have, and how they are read.
struct SettingForm<Value: Sendable>: Sendable {
    /// Type and bounds, for people.
    var words: String
    /// Type and bounds, for editors.
    var schema: CanonicalJSON
    var display = SettingDescription.Display.asWritten
    var choices: [String] = []
    /// Texts of different values.
    var examples: [String] = []
    var read: @Sendable (SettingsValue) throws(ConfigurationError) -> Value
    /// The value as one would write it; `nil` for one that cannot be written.
    var written: @Sendable (Value) -> String?
    var digested: @Sendable (Value) -> CanonicalJSON

    init(
        _ words: String, schema: CanonicalJSON = SettingsSchema.text,
        display: SettingDescription.Display = .asWritten,
        choices: [String] = [], examples: [String] = [],
        read: @escaping @Sendable (SettingsValue) throws(ConfigurationError) -> Value,
        written: @escaping @Sendable (Value) -> String? = { _ in nil },
        digested: (@Sendable (Value) -> CanonicalJSON)? = nil
    ) {
        self.words = words
        self.schema = schema
        self.display = display
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

    /// Returns the form for a property that has no value when the key is left out.
    static func optional<Wrapped>(_ form: SettingForm<Wrapped>) -> SettingForm
    where Value == Wrapped? {
        SettingForm(
            form.words, schema: form.schema, display: form.display, choices: form.choices,
            examples: form.examples,
            read: { value throws(ConfigurationError) in try form.read(value) },
            written: { $0.flatMap(form.written) },
            digested: { $0.map(form.digested) ?? .null })
    }
}

extension SettingForm where Value == Int {
    static func wholeNumber(in range: ClosedRange<Int64>) -> SettingForm {
        SettingForm(
            "whole number, \(range.lowerBound) to \(range.upperBound)",
            schema: SettingsSchema.wholeNumber(in: range),
            examples: ["\(range.lowerBound)", "\(range.upperBound)"],
            read: { value throws(ConfigurationError) in Int(try value.integer(in: range)) },
            written: { String($0) }, digested: { .integer(Int64($0)) })
    }
}

extension SettingForm where Value == Int? {
    static func wholeNumberOrNone(in range: ClosedRange<Int64>) -> SettingForm {
        SettingForm(
            "whole number, \(range.lowerBound) to \(range.upperBound), or `none`",
            schema: SettingsSchema.either(
                SettingsSchema.wholeNumber(in: range), SettingsSchema.choice(["none"])),
            examples: ["\(range.upperBound)", "none"],
            read: { value throws(ConfigurationError) in
                try value.text("a whole number or none") == "none"
                    ? nil : Int(value.integer(in: range))
            },
            written: { $0.map { String($0) } ?? "none" },
            digested: { $0.map { .integer(Int64($0)) } ?? .null })
    }
}

extension SettingForm where Value == Double {
    /// A part of the whole.
    static var share: SettingForm {
        SettingForm(
            "share, 0 to 1", schema: SettingsSchema.share, examples: ["0.25", "0.75"],
            read: { value throws(ConfigurationError) in try value.share() },
            written: { String($0) })
    }
}

extension SettingForm where Value == Int64 {
    /// Milliseconds, written with a unit.
    static var duration: SettingForm {
        SettingForm(
            "duration, 0s to \(DurationText.longest)", schema: SettingsSchema.duration,
            examples: ["90s", "50d"],
            read: { value throws(ConfigurationError) in try value.durationMilliseconds() },
            written: DurationText.text(ofMilliseconds:), digested: CanonicalJSON.integer)
    }
}

extension SettingForm where Value == String {
    /// One word of plain letters, such as an id.
    static var word: SettingForm {
        SettingForm(
            "one word", schema: SettingsSchema.text,
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
            "path", display: .path,
            read: { value throws(ConfigurationError) in try value.path() },
            written: { $0 })
    }
}

extension SettingForm
where Value: RawRepresentable & CaseIterable & Equatable, Value.RawValue == String {
    static var choice: SettingForm {
        let names = Value.allCases.map(\.rawValue)
        return SettingForm(
            choiceWords(names), schema: SettingsSchema.choice(names), choices: names,
            examples: names,
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
