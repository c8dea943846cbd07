import Subscriptions

/// Fields of an object; an absent value writes nothing, as Apple omits what does not apply.
extension JSONWriter {
    mutating func field(_ name: String, _ value: String?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    mutating func field(_ name: String, _ value: (some BinaryInteger)?) {
        guard let value else { return }
        key(name)
        integer(value)
    }

    mutating func field(_ name: String, _ value: Bool?) {
        guard let value else { return }
        key(name)
        bool(value)
    }

    mutating func field(_ name: String, _ value: Timestamp?) {
        field(name, value?.unixMilliseconds)
    }

    mutating func field(_ name: String, jws: [UInt8]) {
        key(name)
        plain(jws)
    }
}
