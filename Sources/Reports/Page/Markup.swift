import Crypto
import FoundationEssentials
import Subscriptions

/// HTML as it is written: names are constants of the program, every value is escaped.
///
/// There is no way to put a value into it unescaped: only a `StaticString`, which no value of a run
/// can become, is taken as it is. Values of attributes always are in double quotes.
struct Markup {
    /// A name, which the program knows, with a value, which may come from outside.
    struct Attribute {
        let name: StaticString
        let value: String

        init(_ name: StaticString, _ value: String) {
            self.name = name
            self.value = value
        }

        static func named(_ name: String) -> Attribute { Attribute("class", name) }
    }

    private(set) var bytes: [UInt8] = []

    /// An element with what the closure puts into it.
    mutating func element(
        _ name: StaticString, _ attributes: [Attribute] = [], _ content: (inout Markup) -> Void
    ) {
        open(name, attributes)
        content(&self)
        bytes.append(contentsOf: "</\(name)>".utf8)
    }

    /// An element without attributes that holds a text.
    mutating func element(_ name: StaticString, _ text: String) {
        element(name, []) { $0.text(text) }
    }

    /// An element that holds a text.
    mutating func element(_ name: StaticString, _ attributes: [Attribute], _ text: String) {
        element(name, attributes) { $0.text(text) }
    }

    /// An element that holds nothing and is not closed: `meta`, `br`, `rect` in a drawing.
    mutating func void(_ name: StaticString, _ attributes: [Attribute] = []) {
        open(name, attributes)
    }

    /// A shape of a drawing: an element without content.
    mutating func shape(_ name: StaticString, _ attributes: [Attribute]) {
        open(name, attributes)
        bytes.append(contentsOf: "</\(name)>".utf8)
    }

    /// Appends text of the program itself: the document type, the style.
    mutating func verbatim(_ text: StaticString) {
        bytes.append(contentsOf: text.description.utf8)
    }

    mutating func lineFeed() { bytes.append(0x0A) }

    mutating func text(_ text: String) {
        guard !text.utf8.allSatisfy(Self.isPlain) else {
            bytes.append(contentsOf: text.utf8)
            return
        }
        for scalar in text.unicodeScalars { append(scalar) }
    }

    private mutating func open(_ name: StaticString, _ attributes: [Attribute]) {
        bytes.append(contentsOf: "<\(name)".utf8)
        for attribute in attributes {
            bytes.append(contentsOf: " \(attribute.name)=\"".utf8)
            text(attribute.value)
            bytes.append(UInt8(ascii: "\""))
        }
        bytes.append(UInt8(ascii: ">"))
    }

    /// Marks that show nothing, or turn the direction of what follows, are written out, as
    /// `inspect` does.
    private mutating func append(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "&": bytes.append(contentsOf: "&amp;".utf8)
        case "<": bytes.append(contentsOf: "&lt;".utf8)
        case ">": bytes.append(contentsOf: "&gt;".utf8)
        case "\"": bytes.append(contentsOf: "&quot;".utf8)
        default:
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
                .unassigned:
                bytes.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".utf8)
            default: bytes.append(contentsOf: String(scalar).utf8)
            }
        }
    }

    /// Printable ASCII that HTML takes as it is.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""): false
        default: byte >= 0x20 && byte < 0x7F
        }
    }
}

/// Tables of the page.
extension Markup {
    /// A column: its heading, and how its cells are set.
    struct Column: ExpressibleByStringInterpolation {
        let heading: String
        let attributes: [Attribute]

        init(_ heading: String, _ attributes: [Attribute] = []) {
            self.heading = heading
            self.attributes = attributes
        }

        init(stringLiteral heading: String) { self.init(heading) }

        /// A column of numbers, which are at the right.
        static func number(_ heading: String) -> Column { Column(heading, [.named("n")]) }

        /// A column of dates or times, each on one line.
        static func date(_ heading: String) -> Column { Column(heading, [.named("d")]) }
    }

    /// A table whose rows the closure adds with `row`; the caption is always there, for those who
    /// cannot see where a table is.
    mutating func table(
        _ caption: String, _ columns: [Column], named name: String? = nil,
        _ rows: (inout Markup) -> Void
    ) {
        // What scrolls must be reachable by keyboard; a landmark for each table would hide the
        // others.
        element(
            "div",
            [
                .named("wide"), Attribute("role", "group"), Attribute("tabindex", "0"),
                Attribute("aria-label", caption),
            ]
        ) { page in
            page.element("table", name.map { [.named($0)] } ?? []) { table in
                table.element("caption", caption)
                table.element("thead") { head in
                    head.element("tr") { row in
                        for column in columns {
                            row.element(
                                "th", [.init("scope", "col")] + column.attributes, column.heading)
                        }
                    }
                }
                table.lineFeed()
                table.element("tbody", [], rows)
            }
        }
        lineFeed()
    }

    /// A table of texts.
    mutating func table(
        _ caption: String, _ columns: [Column], named name: String? = nil, rows: [[String]]
    ) {
        table(caption, columns, named: name) { table in
            for cells in rows { table.row(cells, columns) }
        }
    }

    /// A row of texts whose first cell is its heading.
    mutating func row(_ cells: [String], _ columns: [Column], named name: String? = nil) {
        element("tr", name.map { [.named($0)] } ?? []) { row in
            for (index, cell) in cells.enumerated() {
                let attributes = index < columns.count ? columns[index].attributes : []
                if index == 0 {
                    row.element("th", [Attribute("scope", "row")] + attributes, cell)
                } else {
                    row.element("td", attributes, cell)
                }
            }
        }
        lineFeed()
    }

    /// A text that is never broken, so that it can be read, searched and copied: an id, a name of
    /// trueup's.
    mutating func kept(_ text: String) { element("span", [.named("keep")], text) }

    /// A section of the summary as a table, with the words of `summary.txt`.
    ///
    /// `first` is the heading of the first column, `last` that of a column without one.
    mutating func table(
        _ section: Section, _ caption: String, first: String, last: String = "meaning"
    ) {
        if !section.rows.isEmpty {
            let columns = ([first] + section.headings).enumerated().map { index, heading in
                let shown = heading.isEmpty ? last : heading
                return section.numbers.contains(index) ? Column.number(shown) : Column(shown)
            }
            table(caption, columns) { table in
                for row in section.rows {
                    table.row(row.cells, columns, named: row.isSum ? "sum" : nil)
                }
            }
        }
        list(section.sentences)
    }

    /// Sentences as a list; nothing where there are none.
    mutating func list(_ sentences: [String]) {
        guard !sentences.isEmpty else { return }
        element("ul") { list in
            for sentence in sentences { list.element("li", sentence) }
        }
        lineFeed()
    }

    /// A heading that the list of contents leads to.
    mutating func heading(_ section: PageSection) {
        element("h2", [Attribute("id", section.rawValue)], section.title)
        lineFeed()
    }
}

/// A page as a whole.
extension Markup {
    /// A page that loads nothing, with what the closure puts into its body.
    static func page(titled title: String, _ body: (inout Markup) -> Void) -> [UInt8] {
        var page = Markup()
        page.verbatim("<!DOCTYPE html>\n")
        page.element("html", [.init("lang", "en")]) { html in
            html.element("head") { $0.ownStyle(titled: title) }
            html.lineFeed()
            html.element("body", [], body)
        }
        page.lineFeed()
        return page.bytes
    }

    /// Adds the policy that forbids everything but the page's own style, that style, and a title.
    private mutating func ownStyle(titled title: String) {
        void("meta", [.init("charset", "utf-8")])
        void(
            "meta",
            [
                .init("http-equiv", "Content-Security-Policy"),
                .init("content", Self.policy),
            ])
        void(
            "meta",
            [.init("name", "viewport"), .init("content", "width=device-width, initial-scale=1")])
        void("meta", [.init("name", "referrer"), .init("content", "no-referrer")])
        lineFeed()
        element("title", title)
        lineFeed()
        element("style") { $0.verbatim(Self.style) }
    }
}

/// The parts of the page in their order.
enum PageSection: String, CaseIterable {
    case control
    case coverage, findings, causes, money, open, examples, corrections, absent, undecided
    case decisions, calls, business, nights, calendar, next, check, sign

    var title: String {
        switch self {
        case .control: "Control totals"
        case .coverage: "What was checked, and what was not"
        case .findings: "What differs"
        case .causes: "Why"
        case .money: "Money"
        case .open: "Open findings, worst first"
        case .examples: "Before and after: examples"
        case .corrections: "Corrections"
        case .absent: "Ids that Apple does not find"
        case .undecided: "Not checked"
        case .decisions: "Guards, acknowledgements, messages"
        case .calls: "Calls and evidence"
        case .business: "Business, from what Apple signed"
        case .nights: "The runs before"
        case .calendar: "Calendar"
        case .next: "What to do next"
        case .check: "Check it by hand"
        case .sign: "Signatures"
        }
    }
}

/// The one style of the page, and the policy that allows nothing else.
extension Markup {
    /// The content security policy: the page may load this style, and nothing else.
    private static let policy =
        "default-src 'none'; style-src 'sha256-\(digest)'; base-uri 'none'; form-action 'none'"

    private static let digest =
        Data(SHA256.hash(data: Array(style.description.utf8))).base64EncodedString()

    /// All pairs of text and ground have a contrast of at least 4.5 to 1, in both schemes.
    private static let style: StaticString = """
        :root{color-scheme:light dark;--ground:#fdfcf9;--panel:#f4f2ec;--ink:#1d1f21;--soft:#565a5e;\
        --line:#d5d1c6;--strong:#8a867b;--good:#17653a;--notable:#7d4a00;--alarm:#a31621;--bar:#3f5f7f}
        @media (prefers-color-scheme:dark){:root{--ground:#16181a;--panel:#1f2225;--ink:#e8e6e1;\
        --soft:#a9adb1;--line:#3a3e42;--strong:#7b8085;--good:#7fd0a0;--notable:#e8b464;--alarm:#ff9a94;\
        --bar:#8fb3d6}}
        *{box-sizing:border-box}
        body{margin:0;background:var(--ground);color:var(--ink);\
        font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;overflow-wrap:break-word}
        header,main,footer{max-width:70rem;margin:0 auto;padding:0 1.5rem}
        header{padding-top:2.5rem}
        footer{border-top:1px solid var(--line);margin-top:3.5rem;padding-top:1rem;padding-bottom:3rem;\
        color:var(--soft);font-size:.85rem}
        h1,h2,h3{font-family:"Iowan Old Style",Palatino,"Palatino Linotype","Book Antiqua",Georgia,serif;\
        font-weight:600;line-height:1.25;text-wrap:balance}
        h1{font-size:clamp(1.4rem,1rem + 1.9vw,2.1rem);margin:.35rem 0 1rem;letter-spacing:-.01em}
        h2{font-size:1.4rem;margin:3.2rem 0 .6rem;padding-top:.9rem;border-top:1px solid var(--line)}
        h3{font-size:1.08rem;margin:1.8rem 0 .4rem}
        p{max-width:46rem;margin:.5rem 0}
        .kicker{margin:0;color:var(--soft);letter-spacing:.06em;font-size:.85rem}
        .verdict{font-size:1.18rem;line-height:1.5}
        .soft{color:var(--soft)}
        .good{color:var(--good)}.notable{color:var(--notable)}.alarming{color:var(--alarm)}
        .good,.notable,.alarming{font-weight:600}
        .caution{border:1px solid var(--alarm);border-left-width:.4rem;padding:.6rem 1rem;margin:1rem 0;\
        overflow-wrap:anywhere}
        .figures{display:grid;grid-template-columns:repeat(4,1fr);gap:0;margin:1.6rem 0;\
        border-top:1px solid var(--ink);border-bottom:1px solid var(--line)}
        .figures.by3{grid-template-columns:repeat(3,1fr)}.figures.by5{grid-template-columns:repeat(5,1fr)}
        .figures div{padding:.7rem .9rem .7rem 0}
        .figures dt{color:var(--soft);font-size:.85rem}
        .figures dd{margin:0;font-size:1.6rem;line-height:1.2;font-variant-numeric:tabular-nums}
        .figures .more{display:block;font-size:.85rem;color:var(--soft)}
        .pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:0 3rem}
        .wide{overflow-x:auto;background:linear-gradient(to right,var(--ground) 30%,transparent),\
        linear-gradient(to left,var(--ground) 30%,transparent) 100% 0,\
        linear-gradient(to right,var(--line),transparent),\
        linear-gradient(to left,var(--line),transparent) 100% 0;background-repeat:no-repeat;\
        background-size:4rem 100%,4rem 100%,1.4rem 100%,1.4rem 100%;background-attachment:local,local,scroll,scroll}
        table{border-collapse:collapse;width:100%;margin:.8rem 0 1rem;font-size:.92rem}
        caption{text-align:left;font-weight:600;padding-bottom:.3rem}
        th,td{text-align:left;vertical-align:top;padding:.32rem .9rem .32rem 0;border-bottom:1px solid var(--line)}
        thead th{color:var(--soft);font-weight:500;font-size:.82rem;border-bottom:1px solid var(--strong)}
        tbody th{font-weight:500}
        .n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}thead .n{white-space:normal}
        .sum th,.sum td{border-top:1px solid var(--ink);border-bottom:0;font-weight:600}
        code{font:.86em/1.4 ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;\
        overflow-wrap:anywhere}
        pre{background:var(--panel);padding:.7rem 1rem;overflow-x:auto;margin:.5rem 0 1rem}
        .long{overflow-wrap:anywhere}
        .d{white-space:nowrap;font-variant-numeric:tabular-nums}
        .keep{white-space:nowrap;overflow-wrap:normal}.part{display:inline-block;max-width:100%}
        .open tbody th,.open td:last-child{width:1%}
        .dense{font-size:.8rem;line-height:1.4}.dense th,.dense td{padding-right:1.1rem}
        .narrow thead th{white-space:normal}.narrow td,.narrow th{padding-right:.7rem}
        td p:first-child{margin-top:0}
        .charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,20rem),1fr));gap:1.4rem 2rem}
        figure{margin:0;display:flex;flex-direction:column;justify-content:flex-end}
        figcaption{font-size:.88rem;color:var(--soft)}
        figcaption b{color:var(--ink)}
        svg{display:block;width:100%;height:3.6rem}
        .bar{fill:var(--bar)}.last{fill:var(--ink)}.base{stroke:var(--strong)}.gap{stroke:var(--alarm)}
        .calendar{max-width:56rem}
        .calendar td{border:1px solid var(--line);padding:.25rem .4rem;font-size:.8rem;width:12.5%}
        .calendar b{font-variant-numeric:tabular-nums}
        .missing{outline:2px dashed var(--alarm);outline-offset:-3px}
        .today{outline:2px solid var(--ink);outline-offset:-2px}
        .sign td{height:3.4rem;border-bottom:1px solid var(--strong)}
        nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;list-style:none;padding:0;margin:1.2rem 0 0;font-size:.9rem}
        a{color:inherit;text-decoration-color:var(--strong);text-underline-offset:.2em}
        a:focus-visible,.wide:focus-visible{outline:3px solid var(--bar);outline-offset:2px}
        @media print{:root{--ground:#fff;--panel:#f4f4f4;--ink:#000;--soft:#444;--line:#bbb;--strong:#777;\
        --good:#0b4d2a;--notable:#5e3800;--alarm:#8a0f18;--bar:#444;color-scheme:light}
        :root{font-size:9.5pt}nav{display:none}header,main,footer{max-width:none;padding-left:0;padding-right:0}
        .wide{overflow:visible;background:none}h2,h3,caption{break-after:avoid}tr,figure,.caution{break-inside:avoid}
        thead{display:table-header-group;break-inside:avoid;break-after:avoid}table.dense,table.dense thead th{font-size:7.3pt;line-height:1.3}
        .dense th,.dense td{padding:.14rem .6rem .14rem 0}@page{margin:14mm 12mm}}
        @media screen and (max-width:40rem){.figures,.figures.by3,.figures.by5{grid-template-columns:1fr 1fr}\
        .figures div:last-child:nth-child(odd){grid-column:1/-1}.stack,.stack tbody,.stack tr,.stack th,.stack td{display:block}
        .stack caption{display:block}
        .stack thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
        .stack tr{padding:.5rem 0;border-bottom:1px solid var(--line)}
        .stack th,.stack td,.open tbody th,.open td:last-child{border:0;padding:.1rem 0;text-align:left;width:auto}
        .stack [data-label]::before{content:attr(data-label) ": ";color:var(--soft)}}

        """
}
