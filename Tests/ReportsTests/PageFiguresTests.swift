import Testing

@testable import Reports

@Suite struct `The figures at the head of a page` {
    @Test(arguments: 5...10)
    func `leave none alone in a row`(figures: Int) {
        let columns = Page.columns(of: figures)
        #expect(figures % columns != 1, "\(figures) in \(columns) columns")
        #expect(columns < figures)
    }
}
