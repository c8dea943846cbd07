/// What Apple's requirements of an image depend on: its form, dimensions and transparency.
///
/// An image with an alpha channel counts as transparent, whatever the channel contains. Source: Portable
/// Network Graphics specification.
struct PNGHeader: Sendable {
    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// Length, type and checksum of a chunk.
    private static let bytesAroundChunk = 12

    let width: Int
    let height: Int
    let hasTransparency: Bool

    /// `nil` for anything but a complete PNG.
    init?(_ bytes: [UInt8]) {
        guard bytes.starts(with: Self.signature) else { return nil }
        var place = Self.signature.count
        var header: ArraySlice<UInt8>?
        var hasPixels = false
        var isTransparent = false
        while let (type, data) = Self.chunk(of: bytes, at: place) {
            place += data.count + Self.bytesAroundChunk
            switch type {
            case "IHDR":
                guard header == nil, data.count == 13 else { return nil }
                header = data
            case "tRNS": isTransparent = true
            case "IDAT": hasPixels = true
            case "IEND":
                guard let header, hasPixels else { return nil }
                self.init(header: header, isTransparent: isTransparent)
                return
            default: break
            }
        }
        return nil
    }

    private init(header: ArraySlice<UInt8>, isTransparent: Bool) {
        width = Self.number(header.prefix(4))
        height = Self.number(header.dropFirst(4).prefix(4))
        let colourType = header.dropFirst(9).first ?? 0
        hasTransparency = isTransparent || colourType == 4 || colourType == 6
    }

    private static func chunk(
        of bytes: [UInt8], at place: Int
    ) -> (type: String, data: ArraySlice<UInt8>)? {
        let rest = bytes.dropFirst(place)
        guard rest.count >= bytesAroundChunk else { return nil }
        let length = number(rest.prefix(4))
        guard length <= rest.count - bytesAroundChunk else { return nil }
        let type = String(decoding: rest.dropFirst(4).prefix(4), as: UTF8.self)
        return (type, rest.dropFirst(8).prefix(length))
    }

    /// Four bytes, the highest first.
    private static func number(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.reduce(0) { $0 << 8 | Int($1) }
    }
}

extension ImageSize {
    /// Whether an image has the dimensions that its size asks for.
    ///
    /// Apple's numbers of a bullet point's image are not known here. Source: Retention Messaging API,
    /// Upload Image.
    func admits(_ image: PNGHeader) -> Bool {
        self == .bulletPoint || image.width == 3840 && (160...2160).contains(image.height)
    }
}
