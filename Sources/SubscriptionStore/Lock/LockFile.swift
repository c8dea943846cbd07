import Foundation
import Subscriptions

/// An open lock file: the kernel's lock on it, and a note about who holds the lock.
///
/// The note is a line with the holder's name and a line with the time.
struct LockFile: ~Copyable {
    enum Attempt {
        case locked, heldByAnother
        case failed(String)
    }

    private static let maximumNoteBytes = 4096

    private let descriptor: Int32

    /// Only for the job's user: anybody who can open a lock file can hold the lock.
    private static let mode: mode_t = 0o600

    /// Opens the file, or says why not.
    ///
    /// A file that an earlier version left readable is restricted. That may fail for a file that
    /// belongs to another user, who then decides its mode.
    static func open(_ path: String, creating: Bool) -> Result<Int32, Failure> {
        let flags = creating ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDONLY | O_CLOEXEC
        let descriptor = unsafe Glibc.open(path, flags, mode)
        guard descriptor >= 0 else { return .failure(Failure(text: reasonOfFailure())) }
        var status = stat()
        if creating, unsafe fstat(descriptor, &status) == 0, status.st_mode & 0o777 != mode {
            _ = fchmod(descriptor, mode)
        }
        return .success(descriptor)
    }

    struct Failure: Error {
        let text: String
    }

    /// Takes the descriptor over; it is closed, and the lock freed, with this value.
    init(owning descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Tries to lock once, for this holder alone or shared with others who only look.
    func attempt(exclusive: Bool) -> Attempt {
        guard flock(descriptor, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 else {
            return .locked
        }
        return errno == EWOULDBLOCK || errno == EINTR
            ? .heldByAnother : .failed(Self.reasonOfFailure())
    }

    /// Writes the note; errors are ignored, because the lock holds without it.
    func write(holder: String, since: Timestamp) {
        let name = holder.split(whereSeparator: \.isNewline).joined(separator: " ")
        let bytes = Array("\(name)\n\(since.rfc3339)\n".utf8.prefix(Self.maximumNoteBytes))
        guard ftruncate(descriptor, 0) == 0 else { return }
        _ = unsafe bytes.withUnsafeBytes { buffer in
            unsafe pwrite(descriptor, buffer.baseAddress, buffer.count, 0)
        }
    }

    func readNote() -> (holder: String, since: Timestamp?) {
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Self.maximumNoteBytes) {
            buffer, count in
            count = unsafe max(0, pread(descriptor, buffer.baseAddress, buffer.count, 0))
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        let holder = lines.first.map(String.init) ?? "a run that has not said who it is"
        return (holder, lines.dropFirst().first.flatMap { Timestamp(rfc3339: $0) })
    }

    private static func reasonOfFailure() -> String { unsafe String(cString: strerror(errno)) }
}
