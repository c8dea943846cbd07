import Crypto
import Foundation
import Glibc

/// The folder with the files that a client needs.
package struct SimulatorFolder: Sendable {
    package let tlsRootFile: String
    package let signingRootFile: String
    package let keyFile: String
    package let connectKeyFile: String
    package let path: String

    /// `path`: created if it is missing.
    static func write(
        at path: String, tlsRootPEM: String, signingRootPEM: String,
        keys: SimulatorKeys, app: SimulatedApp
    ) throws(SimulatorError) -> SimulatorFolder {
        let folder = SimulatorFolder(
            tlsRootFile: path + "/tls-root.pem", signingRootFile: path + "/signing-root.pem",
            keyFile: path + "/SubscriptionKey_\(app.keyID).p8",
            connectKeyFile: path + "/AuthKey_\(app.connectKeyID).p8", path: path)
        try makeDirectory(path)
        try write(tlsRootPEM, to: folder.tlsRootFile, permissions: 0o644)
        try write(signingRootPEM, to: folder.signingRootFile, permissions: 0o644)
        for (key, file) in [(keys.client, folder.keyFile), (keys.connect, folder.connectKeyFile)] {
            try write(key.pemRepresentation + "\n", to: file, permissions: 0o600)
        }
        return folder
    }

    static func makeDirectory(_ path: String) throws(SimulatorError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true)
        } catch {
            throw .cannotWrite(path: path, reason: "\(error)")
        }
    }

    /// Writes a file that has its permissions before its content, and its whole content or that of
    /// before.
    static func write(
        _ text: String, to path: String, permissions: Int
    ) throws(SimulatorError) {
        let draft = path + ".new"
        try? FileManager.default.removeItem(atPath: draft)
        let isMade = FileManager.default.createFile(
            atPath: draft, contents: nil, attributes: [.posixPermissions: permissions])
        guard isMade else {
            throw .cannotWrite(path: path, reason: "the file cannot be made")
        }
        do {
            try FileManager.default.setAttributes(
                [.posixPermissions: permissions], ofItemAtPath: draft)
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: draft))
            defer { try? handle.close() }
            try handle.write(contentsOf: Data(text.utf8))
            try handle.synchronize()
        } catch {
            try? FileManager.default.removeItem(atPath: draft)
            throw .cannotWrite(path: path, reason: "\(error)")
        }
        guard unsafe rename(draft, path) == 0 else {
            try? FileManager.default.removeItem(atPath: draft)
            throw .cannotWrite(path: path, reason: "the finished file cannot take its name")
        }
    }
}
