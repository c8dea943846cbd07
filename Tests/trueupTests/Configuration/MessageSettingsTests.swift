import Subscriptions
import Testing
import trueup

@Suite struct `The section message` {
    private func error(_ section: String) -> ConfigurationError? {
        SettingsText.error(of: SettingsText.production + "\nmessage: {\(section)}\n")
    }

    @Test func `tells nobody by default, and of problems alone where somebody is named`() throws {
        let none = try SettingsText.settings(SettingsText.production)
        #expect(none.message == MessageSettings())
        let settings = try SettingsText.settings(
            SettingsText.production + """

                message:
                  webhook: https://chat.example.com/hooks/s3cret
                  mail_to: [oncall@example.com, root]
                """)
        #expect(settings.message.occasion == .problems)
        #expect(settings.message.recipients == ["oncall@example.com", "root"])
        #expect(settings.message.webhook?.description == "https://chat.example.com")
    }

    @Test(arguments: [
        ("webhook: \"http://chat.example.com/x\"", "message.webhook"),
        ("webhook: \"https://chat.example.com/x\", webhook_env: NAME", "message.webhook_env"),
        ("secret_env: A, secret_file: b", "message.secret_env"),
        ("mail_to: oncall@example.com", "message.mail_to"),
        ("mail_to: [\"On Call <a@b.example>\"]", "message.mail_to[0]"),
        ("mail_to: [\"a@b.example, c@d.example\"]", "message.mail_to[0]"),
        ("mail_from: \"-f x\"", "message.mail_from"),
        ("link: \"javascript:x\"", "message.link"),
        ("when: sometimes", "message.when"),
        ("webhok: x", "message.webhok"),
    ])
    func `refuses what cannot be meant`(section: String, key: String) throws {
        let found = try #require(error(section))
        #expect(found.key == key, "\(found)")
        #expect(found.status == .config)
    }
}
