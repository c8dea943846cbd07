import EventDelivery
import Subscriptions

/// The receivers of the message about how a run ended, in words for people.
package struct MessageSettings: Hashable, Sendable, SettingsSection {
    /// After which runs.
    package enum Occasion: String, Hashable, Sendable, CaseIterable {
        /// After a run that ended with anything but 0.
        case problems
        case always
        case never
    }

    package var occasion = Occasion.problems
    package var webhook: WebhookURL?
    /// The variable that holds the webhook's address instead.
    package var webhookVariable: String?
    /// The secret that signs the webhook's messages, if any.
    package var secret: SecretSource?
    package var recipients: [String] = []
    package var sender = "trueup"
    /// The program that takes mails over; `nil` for the usual one.
    package var sendmail: String?
    package var link: String?

    static let usualSendmail = "/usr/sbin/sendmail"

    static let declared: [Setting<MessageSettings>] = [
        Setting(
            "when", \.occasion, .choice, newPass: .no,
            "problems = after a run that exited with another status than 0, or 5 without the step walk"
        ),
        Setting(
            "webhook", \.webhook, .optional(.webhook), newPass: .no, absent: .words("none"),
            example: "\"https://chat.example.com/hooks/trueup\"", "where the message is posted"),
        Setting(
            "webhook_env", \.webhookVariable, .optional(.webhookVariable), newPass: .no,
            absent: .words("none"), example: "TRUEUP_MESSAGE_URL",
            "instead of webhook, the variable that holds the address"),
        Setting(
            "secret_env", \.secret,
            .optional(.secretVariable(example: "secret_env: TRUEUP_TELL_SECRET")), newPass: .no,
            absent: .words("unsigned"), example: "TRUEUP_MESSAGE_SECRET",
            "the variable that holds the secret with which the webhook's messages are signed"),
        Setting(
            "secret_file", \.secret, .optional(.secretFile), newPass: .no,
            absent: .words("unsigned"), example: "keys/message",
            "instead of secret_env, a file with the secret, protected as key_file"),
        Setting(
            "mail_to", \.recipients, .addresses, newPass: .no, absent: .words("no mail"),
            example: "[oncall@example.com]", "who gets a mail"),
        Setting(
            "mail_from", \.sender, .address, newPass: .no, example: "trueup@example.com",
            "the sender"),
        Setting(
            "sendmail", \.sendmail, .optional(.path), newPass: .no,
            absent: .words("`\(usualSendmail)`"), example: "/usr/bin/msmtp",
            "the program that accepts mails; a rehearsal does not use the default one"),
        Setting(
            "link", \.link, .optional(.link), newPass: .no, absent: .words("none"),
            example: "\"https://reports.example.com/{day}/{run}\"",
            "where a browser finds a report; {run}, {day} and {job} stand for the run's"),
    ]

    package init() {}
}

/// The section `message` of the settings file, read and checked.
extension MessageSettings {
    /// - Throws: 78 with line, key and what to write instead.
    init(_ value: SettingsValue) throws(ConfigurationError) {
        self.init()
        let mapping = try value.mapping(keys: Self.declared.map(\.key))
        try mapping.read(Self.declared, into: &self)
        try mapping.refuse("webhook_env", nextTo: "webhook")
        try mapping.refuse("secret_env", nextTo: "secret_file")
    }
}

extension SettingForm where Value == String {
    static var webhookVariable: SettingForm {
        SettingForm(
            "name of an environment variable",
            read: { value throws(ConfigurationError) in
                try value.variableName(example: "webhook_env: TRUEUP_MESSAGE_URL")
            }, written: { $0 })
    }

    static var address: SettingForm {
        SettingForm(
            "mail address without a name",
            read: { value throws(ConfigurationError) in
                let text = try value.text("a mail address")
                guard Mail.isAddress(text) else {
                    throw value.error(
                        "is not a plain mail address",
                        suggestion: "write for example oncall@example.com, without a name")
                }
                return text
            }, written: { $0 })
    }

    static var link: SettingForm {
        SettingForm(
            "`https://…`, with `{run}`, `{day}` and `{job}`",
            read: { value throws(ConfigurationError) in
                let text = try value.text("a URL")
                guard text.hasPrefix("https://") || text.hasPrefix("http://"),
                    text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
                else {
                    throw value.error(
                        "must begin with https://",
                        suggestion: "write for example https://reports.example.com/{day}/{run}")
                }
                return text
            }, written: { $0 })
    }
}

extension SettingForm where Value == [String] {
    static var addresses: SettingForm {
        SettingForm(
            "list of mail addresses without names",
            schema: SettingsSchema.list(of: SettingsSchema.text),
            read: { value throws(ConfigurationError) in
                try value.list().map(SettingForm<String>.address.read)
            })
    }
}
