/// The small parts of a workbook: of the sheet of findings, and of that of control totals where there is one.
///
/// Source: ECMA-376, Office Open XML File Formats, part 1 (SpreadsheetML) and part 2 (packages).
struct WorkbookParts {
    /// The sheet's name.
    let title: StaticString
    /// The cells with headings and filters, such as `A1:Z96`.
    let filtered: (last: String, row: Int)
    /// The second sheet, as bytes; `nil` for a workbook of one.
    var control: [UInt8]?

    static let sheetName = "xl/worksheets/sheet1.xml"

    /// Names and contents, all but the sheet.
    var all: [(name: String, bytes: [UInt8])] {
        let parts = [
            ("[Content_Types].xml", contentTypes), ("_rels/.rels", packageRelations),
            ("xl/workbook.xml", workbook), ("xl/_rels/workbook.xml.rels", workbookRelations),
            ("xl/styles.xml", styles),
        ].map { (name: $0.0, bytes: Array((Self.declaration + $0.1).utf8)) }
        return parts + (control.map { [(name: ControlSheet.sheetName, bytes: $0)] } ?? [])
    }

    static let declaration = #"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"# + "\n"
    static let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    private static let types = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    private static let relations =
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    private static let package = "http://schemas.openxmlformats.org/package/2006"

    private var contentTypes: String {
        """
        <Types xmlns="\(Self.package)/content-types">\
        <Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>\
        <Default Extension="xml" ContentType="application/xml"/>\
        <Override PartName="/xl/workbook.xml" ContentType="\(Self.types).sheet.main+xml"/>\
        <Override PartName="/xl/worksheets/sheet1.xml" ContentType="\(Self.types).worksheet+xml"/>\
        \(control == nil ? "" : overrideOfControl)\
        <Override PartName="/xl/styles.xml" ContentType="\(Self.types).styles+xml"/></Types>
        """
    }

    private var overrideOfControl: String {
        """
        <Override PartName="/\(ControlSheet.sheetName)" ContentType="\(Self.types).worksheet+xml"/>
        """
    }

    private var packageRelations: String {
        """
        <Relationships xmlns="\(Self.package)/relationships"><Relationship Id="rId1" \
        Type="\(Self.relations)/officeDocument" Target="xl/workbook.xml"/></Relationships>
        """
    }

    private var workbook: String {
        """
        <workbook xmlns="\(Self.main)" xmlns:r="\(Self.relations)">\
        <bookViews><workbookView/></bookViews><sheets>\
        <sheet name="\(title)" sheetId="1" r:id="rId1"/>\
        \(control == nil ? "" : #"<sheet name="control totals" sheetId="2" r:id="rId3"/>"#)</sheets><definedNames>\
        <definedName name="_xlnm._FilterDatabase" localSheetId="0" hidden="1">\
        \(title)!$A$1:$\(filtered.last)$\(filtered.row)</definedName></definedNames></workbook>
        """
    }

    private var workbookRelations: String {
        """
        <Relationships xmlns="\(Self.package)/relationships">\
        <Relationship Id="rId1" Type="\(Self.relations)/worksheet" Target="worksheets/sheet1.xml"/>\
        \(control == nil ? "" : relationOfControl)\
        <Relationship Id="rId2" Type="\(Self.relations)/styles" Target="styles.xml"/></Relationships>
        """
    }

    private var relationOfControl: String {
        """
        <Relationship Id="rId3" Type="\(Self.relations)/worksheet" Target="worksheets/sheet2.xml"/>
        """
    }

    /// The formats in the order of `WorkbookCell.Style`.
    private var styles: String {
        let formats: [(number: Int, font: Int)] = [
            (0, 0), (49, 0), (49, 1), (164, 0), (3, 0), (4, 0), (165, 0), (1, 0),
        ]
        let cells = formats.map { format in
            """
            <xf numFmtId="\(format.number)" fontId="\(format.font)" fillId="0" borderId="0" xfId="0" \
            applyNumberFormat="1"\(format.font == 0 ? "" : " applyFont=\"1\"")/>
            """
        }.joined()
        return """
            <styleSheet xmlns="\(Self.main)"><numFmts count="2">\
            <numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/>\
            <numFmt numFmtId="165" formatCode="#,##0.000"/></numFmts><fonts count="2">\
            <font><sz val="11"/><name val="Calibri"/></font>\
            <font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2">\
            <fill><patternFill patternType="none"/></fill>\
            <fill><patternFill patternType="gray125"/></fill></fills><borders count="1">\
            <border><left/><right/><top/><bottom/><diagonal/></border></borders>\
            <cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/>\
            </cellStyleXfs><cellXfs count="\(formats.count)">\(cells)</cellXfs>\
            <cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>\
            </styleSheet>
            """
    }
}
