import Glibc

/// As whom a process reads: its user, and every group that it is in.
package struct ProcessIdentity: Hashable, Sendable {
    package var user: UInt32
    package var groups: Set<UInt32>

    package init(user: UInt32, groups: Set<UInt32>) {
        self.user = user
        self.groups = groups
    }

    /// This process.
    static var current: ProcessIdentity {
        // The kernel's own limit of groups a process may be in.
        var supplementary = [gid_t](repeating: 0, count: 65_536)
        let count = unsafe getgroups(Int32(supplementary.count), &supplementary)
        return ProcessIdentity(
            user: geteuid(),
            groups: Set(supplementary.prefix(Int(max(0, count)))).union([getegid()]))
    }
}

/// Who may read and write a file, as the kernel says of it.
package struct FileAccess: Hashable, Sendable {
    /// Permissions, and nothing of the file's type.
    package var mode: UInt32
    package var owner: UInt32
    package var group: UInt32
    /// Handed over by the service manager, which lets this unit alone into the folder.
    ///
    /// Where an access list does that, the mode shows it as a right of root's group.
    package var isCredential: Bool

    package init(mode: UInt32, owner: UInt32, group: UInt32, isCredential: Bool = false) {
        self.mode = mode
        self.owner = owner
        self.group = group
        self.isCredential = isCredential
    }

    /// Why a secret may not lie there; `nil` where it may.
    ///
    /// Its owner alone, as ever; or as secrets are mounted: root's or the process's own, and
    /// readable by one group that the process is in. Nobody but the owner may write.
    package func objection(to process: ProcessIdentity) -> String? {
        let octal = "0" + String(mode, radix: 8)
        switch mode {
        case 0o600, 0o400: return nil
        case 0o640, 0o440: break
        default:
            return "has mode \(octal); it is for its owner, or for one group to read"
        }
        guard owner == 0 || owner == process.user else {
            return "has mode \(octal) and belongs to user \(owner), neither root nor this process's"
        }
        guard isCredential || process.groups.contains(group) else {
            return "has mode \(octal) for group \(group), and this process is not in that group"
        }
        return nil
    }
}
