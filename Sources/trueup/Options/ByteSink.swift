import Glibc
import Subscriptions

/// Where a command writes: standard output or standard error, or memory in a test.
package protocol ByteSink: AnyObject {
    func write(_ bytes: [UInt8]) throws(CommandFailure)

    /// Writes out what is still buffered.
    func flush() throws(CommandFailure)
}

extension ByteSink {
    /// Writes a line of text.
    package func line(_ text: String) throws(CommandFailure) {
        try write(Array((text + "\n").utf8))
    }
}

/// A buffered file descriptor.
package final class DescriptorSink: ByteSink {
    private static let bufferBytes = 1 << 16

    private let descriptor: Int32
    private let name: String
    private var buffer: [UInt8] = []

    /// - Parameters:
    ///   - descriptor: stays open; it belongs to the process.
    ///   - name: for the error.
    package init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
    }

    package func write(_ bytes: [UInt8]) throws(CommandFailure) {
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.bufferBytes { try flush() }
    }

    package func flush() throws(CommandFailure) {
        var written = 0
        while written < buffer.count {
            let count = unsafe buffer.withUnsafeBytes { bytes in
                unsafe Glibc.write(
                    descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written)
            }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else {
                let code = errno
                buffer.removeAll()
                throw CommandFailure.output(name, errorNumber: code)
            }
            written += count
        }
        buffer.removeAll(keepingCapacity: true)
    }
}

/// Keeps what is written, for tests.
package final class MemorySink: ByteSink {
    private var bytes: [UInt8] = []

    package init() {}

    package func write(_ bytes: [UInt8]) { self.bytes.append(contentsOf: bytes) }

    package func flush() {}

    package var text: String { String(decoding: bytes, as: UTF8.self) }
}
