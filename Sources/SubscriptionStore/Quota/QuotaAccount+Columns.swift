import GRDB
import Subscriptions

extension QuotaAccount {
    var arguments: StatementArguments { [app.bundleID, app.environment.rawValue, endpoint] }

    static let condition = "bundle_id = ? AND environment = ? AND endpoint = ?"
}
