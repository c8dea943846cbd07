import JSONWebSignature
import Testing

@Suite struct `The members of a JSON object` {
    private func members(of text: String) throws -> JSONMembers {
        try #require(JSONMembers(JSONDocument(Array(text.utf8)).root))
    }

    @Test func `are taken by name, in whatever order, each once`() throws {
        var members = try members(of: #"{"a":1,"b":{"x":2,"y":[3]},"c":4}"#)
        #expect(members.take("b")?.isObject == true)
        #expect(members.take("c")?.integer == 4)
        #expect(members.take("a")?.integer == 1)
        #expect(members.take("b") == nil)
        #expect(members.take("x") == nil)
        #expect(members.untakenNames.isEmpty)
    }

    @Test func `of one name are taken one after the other`() throws {
        var members = try members(of: #"{"a":1,"b":2,"a":3}"#)
        #expect(members.take("a")?.integer == 1)
        #expect(members.untakenNames.compactMap(\.text) == ["b", "a"])
        #expect(members.take("a")?.integer == 3)
        #expect(members.take("a") == nil)
    }

    @Test func `have names whose escapes are resolved`() throws {
        var members = try members(of: #"{"\u0061lg":1,"al\/g":2}"#)
        #expect(members.take("al/g")?.integer == 2)
        #expect(members.take("alg")?.integer == 1)
    }

    @Test func `can be taken all at once`() throws {
        var members = try members(of: #"{"a":1,"b":2}"#)
        members.takeAll()
        #expect(members.take("a") == nil)
        #expect(members.untakenNames.isEmpty)
    }

    @Test(arguments: ["[]", "1", "\"a\"", "null"])
    func `are those of an object alone`(text: String) throws {
        #expect(JSONMembers(try JSONDocument(Array(text.utf8)).root) == nil)
    }

    @Test func `of an empty object are none`() throws {
        var members = try members(of: "{}")
        #expect(members.take("a") == nil)
        #expect(members.untakenNames.isEmpty)
    }
}
