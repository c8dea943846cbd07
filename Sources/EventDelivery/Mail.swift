package import Subscriptions

/// A plain mail, as RFC 5322 and RFC 2045 ask for it; nothing in it can add a header.
package struct Mail: Hashable, Sendable {
    /// Addresses without names; `isAddress` of each.
    package var sender: String
    package var recipients: [String]
    package var subject: String
    package var text: String
    package var date: Timestamp

    /// Subjects are shown in one line: what is longer is in the text.
    private static let subjectScalars = 150
    /// Of an encoded word (RFC 2047), with a margin for its frame.
    private static let encodedWordBytes = 50
    /// Of a line of quoted-printable text, with room for the soft line break.
    private static let textColumns = 75

    package init(
        sender: String, recipients: [String], subject: String, text: String, date: Timestamp
    ) {
        self.sender = sender
        self.recipients = recipients
        self.subject = subject
        self.text = text
        self.date = date
    }

    /// Whether a text is an address that mail programs take without quoting, or a local user's
    /// name.
    ///
    /// Nothing that separates addresses or headers is in one, and none looks like an option.
    ///
    /// - Parameter text: A local part, alone or with `@` and a domain.
    /// - Returns: `false` also for addresses that only quoting could express.
    package static func isAddress(_ text: String) -> Bool {
        text.utf8.count <= 254
            && text.wholeMatch(
                of: /[A-Za-z0-9_+][A-Za-z0-9._+=\-]*(@[A-Za-z0-9]([A-Za-z0-9.\-]*[A-Za-z0-9])?)?/
            ) != nil
    }

    /// The mail as `sendmail` reads it from its standard input: ASCII, lines that end with a line
    /// feed.
    ///
    /// What is not an address is left out of the headers.
    package var rendered: String {
        let headers = [
            "From: " + (Self.isAddress(sender) ? sender : "trueup"),
            "To: " + recipients.filter(Self.isAddress).joined(separator: ",\n "),
            "Subject: " + Self.header(subject),
            "Date: " + Self.date(date),
            "Auto-Submitted: auto-generated",
            "MIME-Version: 1.0",
            "Content-Type: text/plain; charset=utf-8",
            "Content-Transfer-Encoding: quoted-printable",
        ]
        return headers.joined(separator: "\n") + "\n\n" + Self.quotedPrintable(text)
    }

    /// Text in a header: as it is where it is printable ASCII, otherwise as encoded words.
    private static func header(_ text: String) -> String {
        var scalars = Array(text.unicodeScalars)
        if scalars.count > subjectScalars {
            scalars = Array(scalars.prefix(subjectScalars)) + Array("...".unicodeScalars)
        }
        let isPlain = scalars.allSatisfy { (0x20...0x7E).contains($0.value) }
        // What looks like an encoded word would be decoded.
        guard !isPlain || text.contains("=?") else {
            return String(String.UnicodeScalarView(scalars))
        }
        var words = [""]
        for scalar in scalars {
            let bytes = String(scalar).utf8.map(word).joined()
            if let last = words.last, last.utf8.count + bytes.utf8.count > encodedWordBytes {
                words.append("")
            }
            words[words.count - 1] += bytes
        }
        return words.map { "=?UTF-8?Q?\($0)?=" }.joined(separator: "\n ")
    }

    private static func word(_ byte: UInt8) -> String {
        switch byte {
        case UInt8(ascii: " "): "_"
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            String(Unicode.Scalar(byte))
        default: escaped(byte)
        }
    }

    private static func escaped(_ byte: UInt8) -> String {
        "=" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }

    /// Lines of at most 76 characters, so that every relay hands them on as they are.
    private static func quotedPrintable(_ text: String) -> String {
        var output = ""
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            var column = 0
            let bytes = Array(line.utf8)
            for (index, byte) in bytes.enumerated() {
                let isLast = index == bytes.count - 1
                // A lone dot would end the mail, and a space at the end of a line may get lost.
                let mustEscape =
                    (byte == UInt8(ascii: " ") && isLast)
                    || (byte == UInt8(ascii: ".") && column == 0)
                    || byte == UInt8(ascii: "=") || !(0x20...0x7E).contains(byte)
                let piece = mustEscape ? escaped(byte) : String(Unicode.Scalar(byte))
                if column + piece.utf8.count > textColumns {
                    output += "=\n"
                    column = 0
                }
                let isDot = byte == UInt8(ascii: ".") && column == 0
                let written = isDot ? escaped(byte) : piece
                output += written
                column += written.utf8.count
            }
            output += "\n"
        }
        // The text ends with a line feed of its own.
        return text.hasSuffix("\n") ? String(output.dropLast()) : output
    }

    /// `Mon, 23 Nov 2026 02:23:58 +0000`.
    private static func date(_ time: Timestamp) -> String {
        let (days, milliseconds) = time.unixMilliseconds.floorDivided(by: Milliseconds.perDay)
        let date = CivilDate(daysSince1970: days)
        let second = milliseconds / 1000
        let weekday = weekdays[Int((days + 3).floorDivided(by: 7).remainder)]
        let month = months[Int((date.month - 1).floorDivided(by: 12).remainder)]
        let clock = [second / 3600, second / 60 % 60, second % 60].map(twoDigits)
        return "\(weekday), \(date.day) \(month) \(date.year) \(clock.joined(separator: ":")) +0000"
    }

    private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func twoDigits(_ number: Int64) -> String {
        (number < 10 ? "0" : "") + String(number)
    }
}

/// The program that takes a mail over, as every Unix machine with mail has one.
package struct Sendmail: Sendable {
    private let path: String
    private let environment: [String: String]
    private let timeout: Duration

    /// - Parameters:
    ///   - path: The program; it understands `-t -i` of sendmail(8).
    ///   - environment: Of this process; the program gets only a few harmless variables of it.
    ///   - timeout: After it, the program and all that it started is ended.
    package init(path: String, environment: [String: String], timeout: Duration) {
        self.path = path
        self.environment = ChildProcess.handedOn(environment)
        self.timeout = timeout
    }

    /// Hands a mail over, once.
    ///
    /// - Parameter mail: To whom is read from it.
    /// - Returns: Why it was not taken; `nil` where it was.
    package func send(_ mail: Mail) async -> String? {
        let child = ChildProcess(
            arguments: [path, "-t", "-i"], environment: environment,
            input: .bytes(Array(mail.rendered.utf8)), timeout: timeout)
        let result = await child.run()
        guard let failure = child.failure(result.end) else { return nil }
        guard case .exited = result.end,
            let said = result.output.split(whereSeparator: \.isNewline).first
        else { return "it " + failure }
        return "it \(failure): \(said)"
    }
}
