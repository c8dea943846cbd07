import Subscriptions

/// The stored bytes of keys that text does not carry, by what they read as.
///
/// There are hardly ever any; each is a row that somebody damaged.
actor UnspeakableKeys {
    private var known: [SubscriptionKey: StoredKey] = [:]

    func add(_ keys: [SubscriptionKey: StoredKey]) {
        known.merge(keys) { _, new in new }
    }

    func stored(as key: SubscriptionKey) -> StoredKey { known[key] ?? StoredKey(key) }
}
