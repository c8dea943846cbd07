import Testing
import trueup

@Suite struct `A secret's file` {
    /// To user 900, whose own group is 900, with the group that a volume is mounted for.
    private func objection(
        _ mode: UInt32, owner: UInt32, group: UInt32, isCredential: Bool = false
    ) -> String? {
        FileAccess(mode: mode, owner: owner, group: group, isCredential: isCredential)
            .objection(toUser: 900, in: [900, 2000])
    }

    @Test(arguments: [0o600, 0o400] as [UInt32])
    func `may be its owner's alone`(mode: UInt32) {
        #expect(objection(mode, owner: 900, group: 900) == nil)
        #expect(objection(mode, owner: 900, group: 7) == nil)
    }

    @Test(arguments: [0o440, 0o640] as [UInt32])
    func `may be readable by a group of the process, when root or the process owns it`(
        mode: UInt32
    ) {
        #expect(objection(mode, owner: 0, group: 2000) == nil)
        #expect(objection(mode, owner: 900, group: 900) == nil)
        #expect(objection(mode, owner: 0, group: 7)?.contains("group 7") == true)
        #expect(objection(mode, owner: 901, group: 2000)?.contains("user 901") == true)
    }

    @Test(arguments: [0o644, 0o444, 0o660, 0o460, 0o604, 0o750, 0o500, 0o2440, 0o4600, 0o040])
    func `is nobody else's to read, write or run`(mode: UInt32) {
        for owner in [0, 900] as [UInt32] {
            #expect(objection(mode, owner: owner, group: 2000) != nil)
            #expect(objection(mode, owner: owner, group: 2000, isCredential: true) != nil)
        }
    }

    @Test func `may show the right of a unit as one of root's group, where systemd put it there`() {
        #expect(objection(0o440, owner: 0, group: 0) != nil)
        #expect(objection(0o440, owner: 0, group: 0, isCredential: true) == nil)
        #expect(objection(0o440, owner: 901, group: 0, isCredential: true) != nil)
    }
}
