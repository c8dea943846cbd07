import EventDelivery
import Foundation
import Subscriptions
import TestSupport
import Testing

@Suite struct `A mail` {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        signal(SIGPIPE, SIG_IGN)
    }

    private func mail(
        subject: String = "trueup nightly: OK", text: String = "All is well.\n",
        sender: String = "trueup", recipients: [String] = ["a@example.com", "b@example.com"],
        at milliseconds: Int64 = 1_795_400_638_000
    ) -> Mail {
        Mail(
            sender: sender, recipients: recipients, subject: subject, text: text,
            date: Timestamp(unixMilliseconds: milliseconds))
    }

    /// Header lines, with folded ones as one, and the body.
    private func parts(_ mail: Mail) -> (headers: [String], body: String) {
        let text = mail.rendered
        guard let end = text.range(of: "\n\n") else { return ([], text) }
        let headers = text[..<end.lowerBound].replacingOccurrences(of: "\n ", with: " ")
        return (headers.components(separatedBy: "\n"), String(text[end.upperBound...]))
    }

    @Test func `has the headers that it needs, and its text`() {
        let (headers, body) = parts(mail())
        #expect(
            headers == [
                "From: trueup", "To: a@example.com, b@example.com",
                "Subject: trueup nightly: OK", "Date: Mon, 23 Nov 2026 02:23:58 +0000",
                "Auto-Submitted: auto-generated", "MIME-Version: 1.0",
                "Content-Type: text/plain; charset=utf-8",
                "Content-Transfer-Encoding: quoted-printable",
            ])
        #expect(body == "All is well.\n")
    }

    @Test(arguments: [
        "x\r\nBcc: thief@example.com", "x\nBcc: thief@example.com", "x\rBcc: y", "x\n\nbody",
        "=?UTF-8?Q?=0ABcc:_y?=", "\u{0}", "\u{2028}Bcc: y",
    ])
    func `takes no header from its subject`(subject: String) {
        let (headers, body) = parts(mail(subject: subject))
        #expect(headers.count == 8)
        #expect(!headers.contains { $0.lowercased().hasPrefix("bcc") })
        #expect(headers.allSatisfy { $0.utf8.allSatisfy { (0x20...0x7E).contains($0) } })
        #expect(body == "All is well.\n")
    }

    @Test func `encodes what is not ASCII in words that are short enough`() {
        let subject = String(repeating: "Größe 円 ", count: 20)
        let lines = mail(subject: subject).rendered.components(separatedBy: "\n")
        for line in lines.prefix(12) { #expect(line.utf8.count <= 76, "\(line)") }
        let words = parts(mail(subject: "Größe")).headers[2]
        #expect(words == "Subject: =?UTF-8?Q?Gr=C3=B6=C3=9Fe?=")
    }

    @Test func `hands its text on through every relay`() {
        let long = String(repeating: "0123456789", count: 40)
        let (_, body) = parts(mail(text: ".\nFrom x\nende \n\(long)\nä=\u{7}\n"))
        #expect(body.hasPrefix("=2E\nFrom x\nende=20\n"))
        #expect(body.hasSuffix("\n=C3=A4=3D=07\n"))
        for line in body.split(separator: "\n") { #expect(line.utf8.count <= 76) }
        #expect(body.replacingOccurrences(of: "=\n", with: "").contains(long))
    }

    @Test(arguments: [
        ("oncall@example.com", true), ("on.call+trueup@mail.example.com", true),
        ("root", true), ("", false), ("a@b@c", false), ("On Call <a@b>", false),
        ("a@b,c@d", false), ("a@b\nBcc: c", false), ("-oQ/tmp", false), ("a@-b", false),
        ("|/bin/sh", false), ("a@example.com ", false),
    ])
    func `goes to addresses only`(text: String, isAddress: Bool) {
        #expect(Mail.isAddress(text) == isAddress)
        let (headers, _) = parts(mail(sender: text, recipients: [text]))
        #expect(headers[0] == "From: " + (isAddress ? text : "trueup"))
        #expect(headers[1] == "To: " + (isAddress ? text : ""))
    }

    private func send(_ script: String, timeout: Duration = .seconds(20)) async throws -> String? {
        let path = try folder.write("#!/bin/sh\n" + script + "\n", to: "sendmail")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        return await Sendmail(
            path: path, environment: ["TRUEUP_SECRET": "x"], timeout: timeout
        ).send(mail())
    }

    @Test func `is handed over once, with the addresses in it`() async throws {
        let path = folder.url.path
        let problem = try await send(
            "echo \"$@\" > \(path)/words; env >> \(path)/words; cat > \(path)/mail")
        #expect(problem == nil)
        #expect(try folder.text("mail") == mail().rendered)
        let words = try folder.text("words")
        #expect(words.hasPrefix("-t -i\n"))
        #expect(!words.contains("TRUEUP_SECRET"))
    }

    @Test func `that is not taken says why, in time`() async throws {
        let refused = try await send("echo 'no route' >&2; exit 75")
        #expect(refused == "it ended with status 75: no route")
        let begun = ContinuousClock.now
        let slow = try await send("sleep 60", timeout: .milliseconds(200))
        #expect(slow?.contains("was ended") == true)
        #expect(ContinuousClock.now - begun < .seconds(50))
        let missing = await Sendmail(
            path: "/nowhere/sendmail", environment: [:], timeout: .seconds(1)
        ).send(mail())
        #expect(missing?.contains("could not be started") == true)
    }
}
