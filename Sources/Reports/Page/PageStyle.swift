import Crypto
import FoundationEssentials

/// The one style of the page, and the policy that allows nothing else.
enum PageStyle {
    /// What a browser may load for the page: this style, and nothing of anywhere.
    static let policy =
        "default-src 'none'; style-src 'sha256-\(digest)'; base-uri 'none'; form-action 'none'"

    private static let digest =
        Data(SHA256.hash(data: Array(text.description.utf8))).base64EncodedString()

    /// All pairs of text and ground have a contrast of at least 4.5 to 1, in both schemes.
    static let text: StaticString = """
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
        .figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:0;margin:1.6rem 0;\
        border-top:1px solid var(--ink);border-bottom:1px solid var(--line)}
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
        @media screen and (max-width:40rem){.stack,.stack tbody,.stack tr,.stack th,.stack td{display:block}
        .stack caption{display:block}
        .stack thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
        .stack tr{padding:.5rem 0;border-bottom:1px solid var(--line)}
        .stack th,.stack td,.open tbody th,.open td:last-child{border:0;padding:.1rem 0;text-align:left;width:auto}
        .stack [data-label]::before{content:attr(data-label) ": ";color:var(--soft)}}

        """
}
