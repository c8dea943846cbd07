/// What identifies the finished bytes of a file.
package struct FileSeal: Hashable, Sendable {
    package var name: String
    /// In lowercase hexadecimal.
    package var sha256: String
    package var bytes: Int
    /// Line feeds, as `wc -l` counts: a quoted CSV field may hold some of its own.
    package var lines: Int
}
