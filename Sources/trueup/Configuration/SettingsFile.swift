import FoundationEssentials
import Glibc

/// Paths in the settings: relative ones start at the file that names them.
enum SettingsPath {
    /// `path` seen from the folder `directory`, without needless parts.
    static func resolve(_ path: String, from directory: String) -> String {
        guard !path.hasPrefix("/") else { return path }
        var rest = Substring(path)
        while rest.hasPrefix("./") { rest = rest.dropFirst(2).drop { $0 == "/" } }
        if rest.isEmpty || rest == "." { return directory }
        if directory == "." { return String(rest) }
        return directory.hasSuffix("/") ? directory + rest : directory + "/" + rest
    }

    /// Where systemd says in which folder a unit's credentials are.
    static let credentialVariable = "CREDENTIALS_DIRECTORY"

    /// The name of a credential, of a path that is `$CREDENTIALS_DIRECTORY/NAME`.
    static func credential(in path: String) -> String? {
        let beginning = "$" + credentialVariable + "/"
        guard path.hasPrefix(beginning), path.count > beginning.count else { return nil }
        return String(path.dropFirst(beginning.count))
    }

    /// The folder that holds a file: `.` for a bare name.
    static func directory(of file: String) -> String {
        guard let slash = file.lastIndex(of: "/") else { return "." }
        return slash == file.startIndex ? "/" : String(file[..<slash])
    }

    /// The name of a file without folder and `.yaml`.
    static func stem(of file: String) -> String {
        let name = file.split(separator: "/").last.map(String.init) ?? file
        for ending in [".yaml", ".yml"] where name.hasSuffix(ending) && name.count > ending.count {
            return String(name.dropLast(ending.count))
        }
        return name
    }
}

/// Reads the small files that the settings consist of, and refuses those that anybody could change.
enum SettingsFile {
    /// A settings file is a page or two; a mistaken path must not be read whole.
    static let maximumBytes = 1 << 20

    /// The text of a settings or job file.
    ///
    /// - Throws: 78 when it is absent, unreadable, too large, not UTF-8 or writable by everybody
    ///   (whoever may write it decides where the token is sent and what is written).
    static func text(
        ofFileAt path: String, absent suggestion: String?
    ) throws(ConfigurationError) -> String {
        let (bytes, status) = try contents(ofFileAt: path, absent: suggestion)
        if status.st_mode & S_IFMT == S_IFREG, status.st_mode & S_IWOTH != 0 {
            throw ConfigurationError(
                file: path, problem: "everybody may write this file",
                suggestion: "run: chmod o-w \(path)")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ConfigurationError(
                file: path, problem: "is not UTF-8 text", suggestion: "save it as UTF-8")
        }
        return text
    }

    /// The bytes of a file that the settings name (a certificate), for whoever needs them.
    static func bytes(
        ofFileAt path: String, key: String
    ) throws(ConfigurationError) -> [UInt8] {
        do throws(ConfigurationError) {
            return try contents(ofFileAt: path, absent: "put the file there or mend the path").bytes
        } catch {
            var named = error
            named.key = key
            throw named
        }
    }

    private static func contents(
        ofFileAt path: String, absent suggestion: String?
    ) throws(ConfigurationError) -> (bytes: [UInt8], status: stat) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let missing = errno == ENOENT
            throw ConfigurationError(
                file: path,
                problem: missing ? "does not exist" : "cannot be read: \(reason(errno))",
                suggestion: missing ? suggestion : nil)
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
            throw ConfigurationError(file: path, problem: "is a folder, not a file")
        }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while bytes.count <= maximumBytes {
            let count = unsafe read(descriptor, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else {
                throw ConfigurationError(file: path, problem: "cannot be read: \(reason(errno))")
            }
            if count == 0 { return (bytes, status) }
            bytes.append(contentsOf: chunk[..<count])
        }
        throw ConfigurationError(
            file: path, problem: "is larger than \(maximumBytes) bytes and cannot be settings")
    }

    /// What the operating system calls an error.
    static func reason(_ code: Int32) -> String {
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }
}
