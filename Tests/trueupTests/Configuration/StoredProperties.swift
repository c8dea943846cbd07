import Reconciliation
import trueup

/// The stored properties of the typed settings and what they hold.
enum StoredProperties {
    /// For example `AppSettings.quotaShare`: `0.5`.
    static func of(_ told: DeclaredSetting.Told) -> [String: String] {
        properties(of: told.settings, "Settings")
            .merging(properties(of: told.job, "JobSettings")) { own, _ in own }
    }

    /// Names alone, of one value.
    static func names(of value: Any) -> [String] {
        Mirror(reflecting: value).children.compactMap(\.label)
    }

    private static func properties(of value: Any, _ type: String) -> [String: String] {
        var found: [String: String] = [:]
        for child in Mirror(reflecting: value).children {
            guard let label = child.label else { continue }
            switch child.value {
            case let apps as [AppSettings] where label == "apps":
                for app in apps {
                    found.merge(properties(of: app, "AppSettings")) { own, _ in own }
                }
            case let tell as NotifySettings:
                found.merge(properties(of: tell, "NotifySettings")) { own, _ in own }
            case let recovery as JobSettings.Recovery:
                found.merge(properties(of: recovery, "Recovery")) { own, _ in own }
            case let limits as GuardLimits:
                found.merge(properties(of: limits, "GuardLimits")) { own, _ in own }
            default: found["\(type).\(label)"] = text(of: child.value)
            }
        }
        return found
    }

    /// A set's members have no order of their own.
    private static func text(of value: Any) -> String {
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .set else { return String(reflecting: value) }
        return mirror.children.map { String(reflecting: $0.value) }.sorted().joined(separator: ",")
    }
}
