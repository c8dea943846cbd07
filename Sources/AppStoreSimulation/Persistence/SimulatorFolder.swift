import Crypto
import FoundationEssentials

/// The folder with the files that a client needs.
package struct SimulatorFolder: Sendable {
    package let tlsRootFile: String
    package let signingRootFile: String
    package let keyFile: String
    package let path: String

    /// `path`: created if it is missing.
    static func write(
        at path: String, tlsRootPEM: String, signingRootPEM: String,
        clientKey: P256.Signing.PrivateKey, keyID: String
    ) throws(SimulatorError) -> SimulatorFolder {
        let folder = SimulatorFolder(
            tlsRootFile: path + "/tls-root.pem", signingRootFile: path + "/signing-root.pem",
            keyFile: path + "/SubscriptionKey_\(keyID).p8", path: path)
        try makeDirectory(path)
        try write(tlsRootPEM, to: folder.tlsRootFile, permissions: 0o644)
        try write(signingRootPEM, to: folder.signingRootFile, permissions: 0o644)
        try write(clientKey.pemRepresentation + "\n", to: folder.keyFile, permissions: 0o600)
        return folder
    }

    private static func makeDirectory(_ path: String) throws(SimulatorError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true)
        } catch {
            throw .cannotWrite(path: path, reason: "\(error)")
        }
    }

    /// Writes a file that has its permissions before its content.
    static func write(
        _ text: String, to path: String, permissions: Int
    ) throws(SimulatorError) {
        try? FileManager.default.removeItem(atPath: path)
        let isWritten = FileManager.default.createFile(
            atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: permissions])
        guard isWritten else {
            throw .cannotWrite(path: path, reason: "the file cannot be made")
        }
        do {
            try FileManager.default.setAttributes(
                [.posixPermissions: permissions], ofItemAtPath: path)
        } catch {
            throw .cannotWrite(path: path, reason: "its mode cannot be set")
        }
    }
}
