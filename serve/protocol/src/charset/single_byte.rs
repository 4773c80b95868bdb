//! Character sets of one byte a character.
//!
//! `single_byte.txt` has the characters of the bytes from 0x80 on, as Unicode's mapping tables have them, and as
//! PostgreSQL converts: a byte that is not assigned is an error. (WHATWG's tables, which browsers use, assign all bytes.)

use std::sync::OnceLock;

use super::pages::Pages;

const TEXT: &str = include_str!("single_byte.txt");

/// The characters of one character set.
#[derive(Debug)]
pub(super) struct SingleByte {
    characters: Vec<Option<char>>,
    bytes: Pages,
}

impl SingleByte {
    /// The character set with PostgreSQL's name.
    pub fn named(name: &str) -> Option<&'static Self> {
        static SETS: OnceLock<Vec<(&'static str, SingleByte)>> = OnceLock::new();
        let sets = SETS.get_or_init(|| TEXT.lines().filter_map(|line| line.split_once(' ')).map(Self::read).collect());
        sets.iter().find(|(known, _)| *known == name).map(|(_, set)| set)
    }

    fn read((name, numbers): (&'static str, &str)) -> (&'static str, Self) {
        let character = |number: &str| u32::from_str_radix(number, 16).ok().and_then(char::from_u32);
        let characters: Vec<_> = numbers.split(' ').map(character).collect();
        let mut bytes = Pages::new();
        for (byte, character) in (0x80..).zip(&characters) {
            if let Some(key) = character.and_then(|character| u16::try_from(u32::from(character)).ok()) {
                bytes.set(key, byte);
            }
        }
        (name, Self { characters, bytes })
    }

    /// The character of a byte from 0x80 on.
    pub fn character(&self, byte: u8) -> Option<char> {
        *self.characters.get(usize::from(byte.checked_sub(0x80)?))?
    }

    /// The byte of a character that is not ASCII.
    pub fn byte(&self, character: char) -> Option<u8> {
        let key = u16::try_from(u32::from(character)).ok()?;
        self.bytes.get(key).and_then(|byte| u8::try_from(byte).ok())
    }
}
