//! Character sets of East Asia, in which a character has up to four bytes. ASCII is one byte in all of them.
//!
//! The tables come from the crate encoding_rs, which has those of WHATWG, for browsers. PostgreSQL's have other versions
//! of the same standards: [`SETS`] names each difference, and `tests/serve/test_client_encoding.py` compares all
//! characters.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use super::Decoded;
use super::pages::Pages;

/// How PostgreSQL's character set follows from a table of WHATWG. Codes are the bytes as one number.
struct Source {
    name: &'static str,
    base: &'static encoding_rs::Encoding,
    /// The first bytes of characters of several bytes. Others are no text.
    leads: &'static [RangeInclusive<u8>],
    /// The bytes after them, except GB18030's digits.
    trails: &'static [RangeInclusive<u8>],
    /// Whether codes for private use are characters.
    has_private: bool,
    /// Codes that are not assigned.
    removed: &'static [RangeInclusive<u32>],
    /// The characters of the codes from the first one on.
    runs: &'static [(u32, &'static str)],
    /// The first code, and the number of codes for private use with the first character of them.
    private: &'static [(u32, u32, u32)],
    /// Of several codes for a character, the first one encodes it if it is smaller than this, or else the last one.
    first_code_below: u32,
    /// Characters with the code that encodes them, but does not decode as them.
    only_encoded: &'static [(char, u32)],
}

const PLAIN: Source = Source {
    name: "",
    base: encoding_rs::EUC_KR,
    leads: &[0x80..=0xff],
    trails: &[0x01..=0xff],
    has_private: false,
    removed: &[],
    runs: &[],
    private: &[],
    first_code_below: u32::MAX,
    only_encoded: &[],
};

static SETS: [Source; 8] = [
    Source {
        name: "EUC_JP",
        base: encoding_rs::EUC_JP,
        leads: &[0x8e..=0x8f, 0xa1..=0xfe],
        trails: &[0xa1..=0xfe],
        // NEC's copy of IBM's characters, which have codes of three bytes instead.
        removed: &[0xf9a1..=0xfcfe, 0x8f_a2b7..=0x8f_a2b7],
        runs: &[
            (0x8f_a2c3, "￤"),
            (0x8f_f3f3, "ⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹⅠⅡ"),
            (
                0x8f_f4a1,
                "ⅢⅣⅤⅥⅦⅧⅨⅩ＇＂㈱№℡炻仼僴凬匇匤﨎咊坙﨏塚增寬峵嵓﨑德悅愠敎昻晥晴朗栁﨓﨔橫櫢淸淲瀨凞猪甁皂皞益礰礼神祥福竧靖精綠緖羽荢﨟薰蘒﨡蠇諸譿賴赶﨣﨤逸郞都鄕﨧﨨閒隆﨩霻靍靑飯飼館馞髙魲鶴黑",
            ),
        ],
        only_encoded: &[('¦', 0x8f_a2c3)],
        ..PLAIN
    },
    Source {
        name: "EUC_CN",
        base: encoding_rs::GBK,
        leads: &[0xa1..=0xfe],
        trails: &[0xa1..=0xfe],
        // What GBK adds to GB 2312.
        removed: &[
            0x80..=0x80,
            0xa2a1..=0xa2b0,
            0xa2e3..=0xa2e4,
            0xa6d9..=0xa7a0,
            0xa8bb..=0xa8c4,
            0xa996..=0xa996,
            0xfea1..=0xfefe,
        ],
        runs: &[(0xa1a4, "・"), (0xa1aa, "―")],
        ..PLAIN
    },
    Source { name: "EUC_KR", leads: &[0xa1..=0xfe], trails: &[0xa1..=0xfe], runs: &[(0xa2e8, "㉾")], ..PLAIN },
    Source {
        name: "SJIS",
        base: encoding_rs::SHIFT_JIS,
        leads: &[0x81..=0x9f, 0xe0..=0xfc],
        trails: &[0x40..=0x7e, 0x80..=0xfc],
        removed: &[0x80..=0x80],
        // Before NEC's row of signs. Of the others, IBM's own codes are the last ones.
        first_code_below: 0x8740,
        only_encoded: &[
            ('¢', 0x8191),
            ('£', 0x8192),
            ('¥', 0x5c),
            ('¬', 0x81ca),
            ('‖', 0x8161),
            ('‾', 0x7e),
            ('\u{2212}', 0x817c),
            ('\u{301c}', 0x8160),
        ],
        ..PLAIN
    },
    Source {
        name: "BIG5",
        base: encoding_rs::BIG5,
        // Hong Kong's supplement.
        removed: &[0x8740..=0xa0fe, 0xa3c0..=0xa3e1, 0xc7fd..=0xc8fe, 0xf9dd..=0xfefe],
        runs: &[
            (0xa145, "•"),
            (0xa14e, "､"),
            (0xa15a, "\u{fffd}"),
            (0xa1c2, "‾\u{fffd}"),
            (0xa1c5, "\u{fffd}"),
            (0xa1e3, "∼"),
            (0xa1f2, "♁☉"),
            (0xa1fe, "\u{fffd}"),
            (0xa240, "\u{fffd}／＼"),
            (0xa244, "¥"),
            (0xa246, "¢£"),
            (0xa2cc, "\u{fffd}"),
            (0xa2ce, "\u{fffd}"),
            (
                0xc6a1,
                "ヾゝゞ々ぁあぃいぅうぇえぉおかがきぎくぐけげこごさざしじすずせぜそぞただちぢっつづてでとどなにぬねのはばぱひびぴふぶぷへべぺほぼぽまみむめもゃやゅゆょよらりるれろゎわゐゑをんァアィイゥウェ",
            ),
            (
                0xc740,
                "エォオカガキギクグケゲコゴサザシジスズセゼソゾタダチヂッツヅテデトドナニヌネノハバパヒビピフブプヘベペホボポマミムメモャヤュユ",
            ),
            (
                0xc7a1,
                "ョヨラリルレロヮワヰヱヲンヴヵヶДЕЁЖЗИЙКЛМУФХЦЧШЩЪЫЬЭЮЯабвгдеёжзийклмнопрстуфхцчшщъыьэюя①②③④⑤⑥⑦⑧⑨⑩⑴⑵⑶⑷⑸⑹⑺⑻⑼⑽",
            ),
        ],
        ..PLAIN
    },
    Source {
        name: "GBK",
        base: encoding_rs::GBK,
        // Windows' code page 936 has no characters there.
        removed: &[
            0x80..=0x80,
            0xa2e3..=0xa2e3,
            0xa3a0..=0xa3a0,
            0xa6d9..=0xa6df,
            0xa6ec..=0xa6ed,
            0xa6f3..=0xa6f3,
            0xa8bc..=0xa8bc,
            0xa8bf..=0xa8bf,
            0xa989..=0xa995,
            0xfe50..=0xfefe,
        ],
        only_encoded: &[('€', 0x80)],
        ..PLAIN
    },
    Source { name: "UHC", runs: &[(0xa2e8, "㉾")], private: &[(0xc9a1, 94, 0xe000), (0xfea1, 94, 0xe05e)], ..PLAIN },
    Source {
        name: "GB18030",
        base: encoding_rs::GB18030,
        leads: &[0x81..=0xfe],
        trails: &[0x40..=0x7e, 0x80..=0xfe],
        has_private: true,
        removed: &[0x80..=0x80],
        // The version of 2000: later ones have characters of Unicode there.
        runs: &[
            (0xa3a0, "\u{e5e5}"),
            (0xa6d9, "\u{e78d}\u{e78e}\u{e78f}\u{e790}\u{e791}\u{e792}\u{e793}"),
            (0xa6ec, "\u{e794}\u{e795}"),
            (0xa6f3, "\u{e796}"),
            (0xa8bc, "\u{e7c7}"),
            (0xfe59, "\u{e81e}"),
            (0xfe61, "\u{e826}"),
            (0xfe66, "\u{e82b}\u{e82c}"),
            (0xfe6d, "\u{e832}"),
            (0xfe7e, "\u{e843}"),
            (0xfe90, "\u{e854}"),
            (0xfea0, "\u{e864}"),
            (0x8135_f437, "\u{1e3f}"),
        ],
        ..PLAIN
    },
];

/// A character set in both directions.
#[derive(Debug)]
pub(super) struct MultiByte {
    is_gb18030: bool,
    is_euc_jp: bool,
    leads: &'static [RangeInclusive<u8>],
    trails: &'static [RangeInclusive<u8>],
    /// Characters by codes of one or two bytes.
    pairs: Pages,
    /// By the last two bytes of codes of three bytes.
    triples: Pages,
    /// By the places of codes of four bytes ([`place`]).
    quadruples: Pages,
    /// Codes by characters.
    codes: Pages,
}

/// The first byte of EUC_JP's codes of three bytes.
const EUC_JP_TRIPLE: u8 = 0x8f;
/// The first place of GB18030's codes of four bytes for characters beyond 16 bits.
const GB18030_SUPPLEMENTARY: u32 = 189_000;

impl MultiByte {
    /// The character set with PostgreSQL's name. Its tables, of some hundred kilobytes, are made when it is first used.
    pub fn named(name: &str) -> Option<&'static Self> {
        static BUILT: [OnceLock<MultiByte>; SETS.len()] = [const { OnceLock::new() }; SETS.len()];
        let (at, source) = SETS.iter().enumerate().find(|(_, source)| source.name == name)?;
        Some(BUILT.get(at)?.get_or_init(|| Self::new(source)))
    }

    fn new(source: &'static Source) -> Self {
        let mut set = Self {
            is_gb18030: source.name == "GB18030",
            is_euc_jp: source.name == "EUC_JP",
            leads: source.leads,
            trails: source.trails,
            pairs: Pages::new(),
            triples: Pages::new(),
            quadruples: Pages::new(),
            codes: Pages::new(),
        };
        let pairs = || (0x80..=0xff_u8).flat_map(|lead| (0x40..=0xff_u8).map(move |trail| [lead, trail]));
        (0x80..=0xff_u8).for_each(|byte| set.add_from(source, &[byte]));
        pairs().for_each(|[lead, trail]| set.add_from(source, &[lead, trail]));
        if set.is_euc_jp {
            pairs().for_each(|[middle, last]| set.add_from(source, &[EUC_JP_TRIPLE, middle, last]));
        }
        if set.is_gb18030 {
            // Those of 16 bits have codes up to 0x8431a439.
            for code in (0..).map(code_of_place).take_while(|code| *code <= 0x8431_a439) {
                set.add_from(source, &code.to_be_bytes());
            }
        }
        for (first, characters) in source.runs {
            (*first..).zip(characters.chars()).for_each(|(code, character)| set.add(code, character.into()));
        }
        for (first, count, character) in source.private {
            (0..*count).for_each(|step| set.add(first + step, character + step));
        }
        set.fill_codes(source);
        set
    }

    /// Adds the character that the source has for these bytes.
    fn add_from(&mut self, source: &Source, bytes: &[u8]) {
        let Some(text) = source.base.decode_without_bom_handling_and_without_replacement(bytes) else { return };
        let mut characters = text.chars();
        let (Some(character), None) = (characters.next(), characters.next()) else { return };
        let code = bytes.iter().fold(0, |code, byte| code << 8 | u32::from(*byte));
        let is_private = matches!(character, '\u{e000}'..='\u{f8ff}') && !source.has_private;
        let is_removed = source.removed.iter().any(|range| range.contains(&code));
        let is_outside = match bytes {
            [lead, trail] => !is_in(source.leads, *lead) || !is_in(source.trails, *trail),
            _ => false,
        };
        if u16::try_from(u32::from(character)).is_ok() && !is_private && !is_removed && !is_outside {
            self.add(code, character.into());
        }
    }

    fn add(&mut self, code: u32, character: u32) {
        match code {
            0..=0xffff => self.pairs.set(code as u16, character),
            0x1_0000..=0xff_ffff => self.triples.set(code as u16, character),
            _ => self.quadruples.set(place(code.to_be_bytes()) as u16, character),
        }
    }

    /// Fills the codes of the characters, in the order of the codes.
    fn fill_codes(&mut self, source: &Source) {
        let pairs = (0x80..=0xffff).map(|code: u16| (u32::from(code), self.pairs.get(code)));
        let triples = (0..=0xffff).map(|code: u16| (0x8f_0000 | u32::from(code), self.triples.get(code)));
        let quadruples = (0..=0xffff).map(|place: u16| (code_of_place(place.into()), self.quadruples.get(place)));
        let mut codes = Pages::new();
        for (code, character) in pairs.chain(triples).chain(quadruples) {
            let Some(key) = character.and_then(|character| u16::try_from(character).ok()) else { continue };
            if codes.get(key).is_none_or(|first| first >= source.first_code_below) {
                codes.set(key, code);
            }
        }
        for (character, code) in source.only_encoded {
            codes.set(u32::from(*character) as u16, *code);
        }
        self.codes = codes;
    }

    /// What the bytes begin with.
    pub fn first(&self, bytes: &[u8]) -> Decoded {
        let found = |character: Option<u32>, length| {
            let character = character.and_then(char::from_u32);
            character.map_or(Decoded::Unassigned(length), |character| Decoded::Character(character, length))
        };
        match *bytes {
            [] => Decoded::Incomplete,
            [byte, ..] if self.pairs.get(byte.into()).is_some() => found(self.pairs.get(byte.into()), 1),
            [lead, ..] if !is_in(self.leads, lead) => Decoded::Invalid(1),
            [_, 0x30..=0x39, _, _, ..] if self.is_gb18030 => {
                let code = [bytes[0], bytes[1], bytes[2], bytes[3]];
                match code {
                    [0x81..=0xfe, _, 0x81..=0xfe, 0x30..=0x39] => found(self.quadruple(code), 4),
                    _ => Decoded::Invalid(4),
                }
            }
            [_, 0x30..=0x39, ..] if self.is_gb18030 => Decoded::Incomplete,
            [_, trail, ..] if !is_in(self.trails, trail) => Decoded::Invalid(2),
            [EUC_JP_TRIPLE, middle, last, ..] if self.is_euc_jp => {
                if !is_in(self.trails, last) {
                    return Decoded::Invalid(3);
                }
                found(self.triples.get(u16::from_be_bytes([middle, last])), 3)
            }
            [EUC_JP_TRIPLE, _] if self.is_euc_jp => Decoded::Incomplete,
            [lead, trail, ..] => found(self.pairs.get(u16::from_be_bytes([lead, trail])), 2),
            [_] => Decoded::Incomplete,
        }
    }

    fn quadruple(&self, code: [u8; 4]) -> Option<u32> {
        let place = place(code);
        match u16::try_from(place) {
            Ok(place) => self.quadruples.get(place),
            Err(_) => place.checked_sub(GB18030_SUPPLEMENTARY).map(|rest| rest + 0x1_0000),
        }
    }

    /// Appends the bytes of a character that is not ASCII, if it has any.
    pub fn push(&self, character: char, out: &mut Vec<u8>) -> bool {
        let code = match u16::try_from(u32::from(character)) {
            Ok(key) => self.codes.get(key),
            Err(_) if self.is_gb18030 => Some(code_of_place(u32::from(character) - 0x1_0000 + GB18030_SUPPLEMENTARY)),
            Err(_) => None,
        };
        let bytes = code.unwrap_or_default().to_be_bytes();
        out.extend(bytes.iter().skip_while(|byte| **byte == 0));
        code.is_some()
    }
}

fn is_in(ranges: &[RangeInclusive<u8>], byte: u8) -> bool {
    ranges.iter().any(|range| range.contains(&byte))
}

/// The place of a code of four bytes in the order of GB18030's codes.
fn place([a, b, c, d]: [u8; 4]) -> u32 {
    let digit = |byte: u8, first: u8| u32::from(byte.saturating_sub(first));
    ((digit(a, 0x81) * 10 + digit(b, 0x30)) * 126 + digit(c, 0x81)) * 10 + digit(d, 0x30)
}

/// The code at a place.
fn code_of_place(place: u32) -> u32 {
    let (d, rest) = (0x30 + place % 10, place / 10);
    let (c, rest) = (0x81 + rest % 126, rest / 126);
    let (b, a) = (0x30 + rest % 10, 0x81 + rest / 10);
    a << 24 | b << 16 | c << 8 | d
}
