import Glibc

/// Who runs this process, as the ledger and the lock name it.
package enum RunningUser {
    /// `user@host`; the user's number where it has no name (containers).
    package static var actor: String {
        let number = getuid()
        let name = unsafe getpwuid(number).flatMap { entry in
            unsafe entry.pointee.pw_name.map { unsafe String(cString: $0) }
        }
        return (name ?? String(number)) + "@" + host
    }

    private static var host: String {
        var name = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return "unknown" }
        return String(
            decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// For the lock: who, and which process of theirs.
    package static func lockHolder(doing what: String) -> String {
        "\(actor), process \(getpid()), \(what)"
    }
}
