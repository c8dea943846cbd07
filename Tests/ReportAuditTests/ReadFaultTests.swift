import Testing

@testable import ReportAudit

struct `Faults of the system during an audit` {
    /// Reads the beginning of a file during an audit, and ends that.
    private func audit(reading path: String) throws {
        let faults = ReadFaults()
        ReadFaults.$current.withValue(faults) {
            #expect(throws: UnreadableFile.self) {
                _ = try PlainFile(path).read(upTo: 1, at: 0)
            }
        }
        try faults.refuse()
    }

    /// The first page of a process is never mapped, so reading it is an error of input and output.
    @Test func `end the audit, and name the file`() {
        let failure = #expect(throws: AuditFailure.self) { try audit(reading: "/proc/self/mem") }
        #expect(
            failure?.description.contains("/proc/self/mem could not be read: Input/output error")
                == true)
    }

    @Test(arguments: ["/nowhere/at/all", "/dev/null/below", "/proc/self/exe", "/dev"])
    func `are not what was put in the place of a file`(path: String) throws {
        try audit(reading: path)
    }
}
