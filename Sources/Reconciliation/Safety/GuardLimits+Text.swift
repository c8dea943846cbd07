import Subscriptions

/// The limits in one line, by the names of their settings, to be kept with a plan.
extension GuardLimits {
    /// For example `max_changes=500 max_change_share=0.05 …`; `none` is no limit.
    package var text: String {
        GuardLimits.all.map { limit in
            switch limit.place {
            case .count(let property): "\(limit.name)=\(self[keyPath: property])"
            case .countOrNone(let property):
                "\(limit.name)=" + (self[keyPath: property].map { String($0) } ?? "none")
            case .share(let property): "\(limit.name)=\(self[keyPath: property])"
            }
        }.joined(separator: " ")
    }

    /// Reads the same; a limit that is not named has its default.
    package init(text: String) {
        self.init()
        for part in text.split(separator: " ") {
            let words = part.split(separator: "=", maxSplits: 1)
            guard words.count == 2,
                let limit = GuardLimits.all.first(where: { $0.name == words[0] })
            else { continue }
            let (whole, share) = (Int(words[1]), Double(words[1]))
            switch limit.place {
            case .count(let property): self[keyPath: property] = whole ?? self[keyPath: property]
            case .countOrNone(let property):
                self[keyPath: property] =
                    words[1] == "none" ? nil : whole ?? self[keyPath: property]
            case .share(let property): self[keyPath: property] = share ?? self[keyPath: property]
            }
        }
    }
}
