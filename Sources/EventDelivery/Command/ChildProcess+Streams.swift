import Glibc

/// A call of the operating system that failed.
struct SystemFailure: Error {
    let code: Int32

    var reason: String {
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }
}

extension ChildProcess {
    /// A pipe whose both ends are closed on exec.
    final class Pipe {
        private(set) var reading: Int32
        private(set) var writing: Int32

        init() throws(SystemFailure) {
            var ends: [Int32] = [-1, -1]
            guard unsafe pipe(&ends) == 0 else { throw SystemFailure(code: errno) }
            (reading, writing) = (ends[0], ends[1])
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        }

        func closeReading() {
            if reading >= 0 { close(reading) }
            reading = -1
        }

        func closeWriting() {
            if writing >= 0 { close(writing) }
            writing = -1
        }

        func closeBoth() {
            closeReading()
            closeWriting()
        }
    }

    /// What a program is given to read: handed over as it reads, without ever waiting for it.
    struct Input {
        private let pipe: Pipe
        private var rest: ArraySlice<UInt8>

        init(bytes: [UInt8], pipe: Pipe) {
            self.pipe = pipe
            rest = bytes[...]
            _ = fcntl(pipe.writing, F_SETFL, O_NONBLOCK)
        }

        /// Writes as much as fits; closes the stream after the last byte.
        mutating func feed() {
            while !rest.isEmpty {
                let count = unsafe rest.withUnsafeBytes { bytes in
                    unsafe write(pipe.writing, bytes.baseAddress, bytes.count)
                }
                if count < 0 && errno == EINTR { continue }
                if count < 0 && errno == EAGAIN { return }
                // A program that does not read it all may still succeed.
                rest = count < 0 ? [] : rest.dropFirst(count)
            }
            pipe.closeWriting()
        }
    }

    /// What a program prints: read so that it never waits for us, and kept only at its beginning.
    struct Output {
        private let pipe: Pipe
        private var kept: [UInt8] = []
        private var isOpen = true

        private static let keptBytes = 1024
        private static let pollMilliseconds: Int32 = 20
        private static let pauseMicroseconds: UInt32 = 2000

        init(pipe: Pipe) {
            self.pipe = pipe
            _ = fcntl(pipe.reading, F_SETFL, O_NONBLOCK)
        }

        var text: String { String(decoding: kept, as: UTF8.self) }

        /// Waits for output, or for a moment.
        mutating func wait() {
            guard isOpen else {
                // All its streams are closed: it is about to end.
                usleep(Self.pauseMicroseconds)
                return
            }
            var entry = pollfd(fd: pipe.reading, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&entry, 1, Self.pollMilliseconds)
            drain()
        }

        /// Reads what is there.
        mutating func drain() {
            var chunk = [UInt8](repeating: 0, count: 4096)
            while isOpen {
                let count = unsafe read(pipe.reading, &chunk, chunk.count)
                if count < 0 && errno == EINTR { continue }
                if count == 0 { isOpen = false }
                guard count > 0 else { return }
                kept.append(contentsOf: chunk[..<count].prefix(Self.keptBytes - kept.count))
            }
        }
    }
}
