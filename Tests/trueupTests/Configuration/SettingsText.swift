import Subscriptions
import trueup

/// A settings file that is right, and ways to make it wrong.
enum SettingsText {
    static let production = """
        apps:
          - bundle_id: com.example.app
            app_apple_id: 1234567890
            environment: production
            issuer_id: 57246542-96fe-1a63-e053-0824d011072a
            key_id: 2X9R4HXF34
            key_file: keys/key.p8
        """

    static let loopback = """
        apps:
          - bundle_id: com.example.app
            environment: sandbox
            issuer_id: 57246542-96fe-1a63-e053-0824d011072a
            key_id: 0123
            key_env: APP_KEY
            endpoint: https://127.0.0.1:8443
        """

    /// `production` with a line put behind the line that begins with `key`, at the app's depth.
    static func production(with line: String) -> String { production + "\n    " + line }

    static func loopback(with line: String) -> String { loopback + "\n    " + line }

    static func production(replacing old: String, by new: String) -> String {
        production.replacing(old, with: new)
    }

    /// The error of reading a text as settings; `nil` when it is accepted.
    static func error(
        of yaml: String, environment: [String: String] = [:]
    ) -> ConfigurationError? {
        do throws(ConfigurationError) {
            _ = try Settings(yaml: yaml, file: "conf/trueup.yaml", environment: environment)
            return nil
        } catch {
            return error
        }
    }

    static func settings(
        _ yaml: String, environment: [String: String] = [:]
    ) throws -> Settings {
        try Settings(yaml: yaml, file: "conf/trueup.yaml", environment: environment)
    }
}
