import Subscriptions

/// The limits in one line, by the names of their settings, to be kept with a plan.
extension GuardLimits {
    /// For example `max_changes=500 max_change_share=0.05 …`; `none` is no limit.
    package var text: String {
        [
            ("max_changes", String(maxChanges)), ("max_change_share", String(maxChangeShare)),
            ("min_changes", String(minChanges)), ("max_not_found_share", String(maxNotFoundShare)),
            ("max_verification_failures", String(maxVerificationFailures)),
            ("max_same_direction_share", String(maxSameDirectionShare)),
            ("max_shrink_share", String(maxShrinkShare)),
            ("max_own_fault", maxOwnFault.map { String($0) } ?? "none"),
            ("max_excluded_share", String(maxExcludedShare)),
        ].map { "\($0)=\($1)" }.joined(separator: " ")
    }

    /// Reads the same; a limit that is not named has its default.
    package init(text: String) {
        self.init()
        for part in text.split(separator: " ") {
            let words = part.split(separator: "=", maxSplits: 1)
            guard words.count == 2 else { continue }
            let (whole, share) = (Int(words[1]), Double(words[1]))
            switch words[0] {
            case "max_changes": maxChanges = whole ?? maxChanges
            case "max_change_share": maxChangeShare = share ?? maxChangeShare
            case "min_changes": minChanges = whole ?? minChanges
            case "max_not_found_share": maxNotFoundShare = share ?? maxNotFoundShare
            case "max_verification_failures":
                maxVerificationFailures = whole ?? maxVerificationFailures
            case "max_same_direction_share": maxSameDirectionShare = share ?? maxSameDirectionShare
            case "max_shrink_share": maxShrinkShare = share ?? maxShrinkShare
            case "max_own_fault": maxOwnFault = words[1] == "none" ? nil : whole ?? maxOwnFault
            case "max_excluded_share": maxExcludedShare = share ?? maxExcludedShare
            default: break
            }
        }
    }
}
