import Testing

@testable import MySQLDatabase

@Suite struct `A password in an option file` {
    @Test(arguments: [
        ("[client]\npassword=a b\n", "a b"), ("[client]\n password = 'x # y' \n", "x # y"),
        ("[client]\npassword=\"a\\\"b\"", "a\"b"),
        ("[mysqld]\npassword=no\n[client]\npassword=yes", "yes"),
        ("[client]\npassword=abc # the old one", "abc"), ("[client]\npassword=a\npassword=b", "b"),
        ("[client]\npassword=a=b\\\\c", "a=b\\c"), ("[client]\npassword=", ""),
    ])
    func `is the last one that is meant for clients`(text: String, password: String) {
        #expect(OptionFile.password(in: text) == password)
    }

    @Test(arguments: ["", "password=x", "[mysqldump]\npassword=x", "[client]\n#password=x\nuser=y"])
    func `is none in another part of the file`(text: String) {
        #expect(OptionFile.password(in: text) == nil)
    }
}
