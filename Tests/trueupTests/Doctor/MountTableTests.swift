import Testing
import trueup

@Suite struct `The table of mounts` {
    private let table = MountTable(
        mountinfo: """
            22 1 252:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
            40 22 0:45 / /data rw,relatime shared:20 - nfs4 server:/export rw,vers=4.2
            41 40 252:2 / /data/local rw,relatime - xfs /dev/vdb rw
            42 22 0:46 / /with\\040blank rw - cifs //server/share rw
            43 22 0:47 / /twice rw - nfs server:/a rw
            44 43 0:48 / /twice rw - tmpfs tmpfs rw

            """)

    @Test(arguments: [
        ("/data/trueup.sqlite", "nfs4"), ("/data", "nfs4"), ("/with blank/x", "cifs"),
    ])
    func `knows network file systems`(path: String, type: String) {
        #expect(table.networkFileSystem(of: path) == type)
    }

    @Test(arguments: ["/", "/database", "/data/local/x", "/twice/x"])
    func `leaves local ones alone`(path: String) {
        #expect(table.networkFileSystem(of: path) == nil)
    }

    @Test func `bears a table that is none`() {
        #expect(MountTable(mountinfo: "x\n - \n1 2 3").networkFileSystem(of: "/x") == nil)
    }
}
