import Foundation
package import Subscriptions

/// The calls of commands that leave the database as it is, in a file beside it.
///
/// `doctor` opens the database to read, and still makes calls that count. It enters each of them here
/// before it makes it; whoever books calls in the database adds what this file has of the last hour.
/// The kernel's lock on the file keeps the two from overlooking each other.
package struct CallNotes: Sendable {
    /// How long to wait for the lock, which is held for milliseconds; a stopped process must not keep
    /// a run waiting for ever.
    private static let patienceMilliseconds = 2000
    private static let pollMilliseconds = 5

    let path: String

    /// - Parameter database: The database's path; a symbolic link leads to the same notes.
    package init(besideDatabaseAt database: String) {
        path = URL(fileURLWithPath: database).resolvingSymlinksInPath().path + "-calls"
    }

    /// Makes the file, for its owner alone, where there is none.
    ///
    /// Where that is impossible nothing is noted; so nobody depends on it.
    package func prepare() {
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Opens the file and locks it for as long as the result lives.
    ///
    /// - Returns: `nil` where there is no such file, or it may not be used.
    func hold() async -> HeldCallNotes? {
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        let held = HeldCallNotes(owning: descriptor)
        var patience = Self.patienceMilliseconds
        while !held.isLocked(), patience > 0 {
            try? await Task.sleep(for: .milliseconds(Self.pollMilliseconds))
            patience -= Self.pollMilliseconds
        }
        return held
    }
}

/// The opened notes; the lock is freed with the last reference.
final class HeldCallNotes: Sendable {
    /// More than this is not read: an hour of `doctor` every second is a third of it.
    private static let maximumBytes = 1 << 20

    private let descriptor: Int32

    init(owning descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// The noted calls of one account, in any order.
    func buckets(of account: QuotaAccount) -> [QuotaWindow.Bucket] {
        lines.compactMap { $0.account == account ? $0.bucket : nil }
    }

    /// Whether the lock is, or now becomes, ours.
    func isLocked() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    /// Notes calls before they are made, and forgets what no longer counts.
    ///
    /// A kill on the way leaves lines twice, never too few.
    ///
    /// - Returns: Whether they are on the disk.
    func enter(_ grant: QuotaGrant, of account: QuotaAccount, at now: Timestamp) -> Bool {
        let first = QuotaWindow.firstCounted(at: now)
        let bucket = QuotaWindow.Bucket(start: grant.bucket, calls: grant.calls)
        let kept = lines.filter { $0.bucket.start >= first } + [(account, bucket)]
        let bytes = kept.flatMap { line in
            let fields = [
                "\(line.bucket.start)", "\(line.bucket.calls)", line.account.app.bundleID,
                line.account.app.environment.rawValue, line.account.endpoint,
            ]
            return Array((fields.joined(separator: " ") + "\n").utf8)
        }
        let written = unsafe bytes.withUnsafeBytes { buffer in
            unsafe pwrite(descriptor, buffer.baseAddress, buffer.count, 0)
        }
        return written == bytes.count && ftruncate(descriptor, off_t(bytes.count)) == 0
            && fdatasync(descriptor) == 0
    }

    private var lines: [(account: QuotaAccount, bucket: QuotaWindow.Bucket)] {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_size > 0 else { return [] }
        let size = min(Int(clamping: status.st_size), Self.maximumBytes)
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = unsafe max(0, pread(descriptor, buffer.baseAddress, size, 0))
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap(Self.line)
    }

    /// `nil` for a line that was cut off, or that somebody else wrote.
    private static func line(
        _ text: Substring
    ) -> (account: QuotaAccount, bucket: QuotaWindow.Bucket)? {
        let fields = text.split(separator: " ").map(String.init)
        guard fields.count == 5, let start = Int64(fields[0]), let calls = Int(fields[1]),
            let environment = AppStoreEnvironment(rawValue: fields[3])
        else { return nil }
        let app = AppIdentity(bundleID: fields[2], environment: environment)
        return (
            QuotaAccount(app: app, endpoint: fields[4]),
            QuotaWindow.Bucket(start: start, calls: max(0, calls))
        )
    }
}

extension SQLiteStore {
    /// Notes a call beside the database, which stays as it is.
    ///
    /// - Parameters:
    ///   - account: Whose call.
    ///   - limit: The calls that any hour may have.
    ///   - now: The present.
    /// - Returns: One call, or none where processes have made those of an hour, or a 429 holds.
    /// - Throws: When the database cannot be read.
    package func noteCall(
        of account: QuotaAccount, limit: Int, at now: Timestamp
    ) async throws(StoreError) -> QuotaGrant {
        let held = await CallNotes(besideDatabaseAt: file.path).hold()
        if let refusal = try await refusal(of: account, at: now) {
            return QuotaGrant(during: refusal, limit: limit, at: now)
        }
        let grant = try await quotaWindow(of: account, noted: held, at: now)
            .grant(1, limit: limit, at: now)
        // Where the notes cannot be written the call is still made: to find such faults is what
        // `doctor` is for.
        if grant.calls > 0 { _ = held?.enter(grant, of: account, at: now) }
        return grant
    }
}
