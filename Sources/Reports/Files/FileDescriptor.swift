import Glibc

/// An open file descriptor with one owner.
struct FileDescriptor: ~Copyable {
    private let number: Int32

    /// Takes over an open descriptor.
    init(owning number: Int32) {
        self.number = number
    }

    /// Writes all bytes; `nil` when done, else the error number.
    func write(_ bytes: [UInt8]) -> Int32? {
        unsafe bytes.withUnsafeBytes { buffer -> Int32? in
            var offset = 0
            while offset < buffer.count {
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[offset...])
                let written = unsafe Glibc.write(number, rest.baseAddress, rest.count)
                if written < 0 && errno == EINTR { continue }
                // A write that takes nothing would otherwise be tried for ever.
                guard written > 0 else { return written < 0 ? errno : EIO }
                offset += written
            }
            return nil
        }
    }

    /// The next bytes; empty at the end, `nil` with `errno` on a fault.
    func read(upTo limit: Int) -> [UInt8]? {
        var failed = false
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            var taken = unsafe Glibc.read(number, buffer.baseAddress, limit)
            while taken < 0 && errno == EINTR {
                taken = unsafe Glibc.read(number, buffer.baseAddress, limit)
            }
            failed = taken < 0
            count = max(0, taken)
        }
        return failed ? nil : bytes
    }

    /// Drops everything from an offset on; `nil` when done, else the error number.
    func cut(at bytes: Int) -> Int32? {
        ftruncate(number, bytes) == 0 ? nil : errno
    }

    /// Waits until everything is on the disk; `nil` when done, else the error number.
    func synchronize() -> Int32? {
        fsync(number) == 0 ? nil : errno
    }

    /// Closes it, and returns the error that the system reports only then; `nil` when there is none.
    consuming func close() -> Int32? {
        let result = Glibc.close(number)
        let code = errno
        discard self
        return result == 0 ? nil : code
    }

    deinit {
        _ = Glibc.close(number)
    }
}
