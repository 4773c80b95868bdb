//! Configurations: how a chunk is encoded.

use std::fmt;
use std::str::FromStr;

use crate::Encoding;

/// How a chunk is encoded: the effort for its columns, and the codec for the whole chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// The effort for each column.
    pub level: Level,
    /// The codec for the encoded chunk.
    pub codec: Codec,
}

/// The effort for each column of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// Plain buffers, unchanged.
    Plain,
    /// Plain buffers, except for columns that are given in a form that is smaller: these stay small.
    AsGiven,
    /// The smallest encoding that sampling finds, without FSST.
    Light,
    /// The same with FSST for text.
    LightFsst,
}

/// A general compressor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// None.
    None,
    /// LZ4, block format.
    Lz4,
    /// Zstandard at a level from 1 to 22.
    Zstd(i32),
}

impl Config {
    /// Plain Arrow buffers.
    pub const PLAIN: Self = Self { level: Level::Plain, codec: Codec::None };
    /// What costs least where bytes cost little: plain buffers, and what is given as codes or as narrow integers.
    pub const AS_GIVEN: Self = Self { level: Level::AsGiven, codec: Codec::None };
    /// An encoding for each column.
    pub const LIGHT: Self = Self { level: Level::Light, codec: Codec::None };
    /// An encoding for each column, with FSST for text.
    pub const LIGHT_FSST: Self = Self { level: Level::LightFsst, codec: Codec::None };
    /// An encoding for each column, then LZ4.
    pub const LIGHT_LZ4: Self = Self { level: Level::Light, codec: Codec::Lz4 };

    /// An encoding for each column, then Zstandard.
    pub const fn light_zstd(level: i32) -> Self {
        Self { level: Level::Light, codec: Codec::Zstd(level) }
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.level {
            Level::Plain => "plain",
            Level::AsGiven => "as given",
            Level::Light => "light",
            Level::LightFsst => "light+fsst",
        })?;
        match self.codec {
            Codec::None => Ok(()),
            Codec::Lz4 => f.write_str("+lz4"),
            Codec::Zstd(level) => write!(f, "+zstd-{level}"),
        }
    }
}

/// A name that this crate does not define.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} \"{name}\" is not known; use {known}")]
pub struct UnknownName {
    what: &'static str,
    name: String,
    known: &'static str,
}

impl FromStr for Config {
    type Err = UnknownName;

    /// Parses `plain`, `light`, `light+fsst`, each optionally followed by `+lz4` or `+zstd-1` … `+zstd-22`.
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let unknown = || UnknownName {
            what: "compression",
            name: text.to_owned(),
            known: "plain, light or light+fsst, alone or followed by +lz4 or +zstd-1 to +zstd-22",
        };
        let (level, rest) = if let Some(rest) = text.strip_prefix("light+fsst") {
            (Level::LightFsst, rest)
        } else if let Some(rest) = text.strip_prefix("light") {
            (Level::Light, rest)
        } else if let Some(rest) = text.strip_prefix("plain") {
            (Level::Plain, rest)
        } else {
            return Err(unknown());
        };
        let codec = match rest {
            "" => Codec::None,
            "+lz4" => Codec::Lz4,
            _ => {
                let level = rest.strip_prefix("+zstd-").and_then(|level| level.parse().ok());
                Codec::Zstd(level.filter(|level| (1..=22).contains(level)).ok_or_else(unknown)?)
            }
        };
        Ok(Self { level, codec })
    }
}

/// The encodings that a reader supports. An encoder uses no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodingSet(u16);

impl EncodingSet {
    /// All encodings of format version 1.
    pub const ALL: Self = Self((1 << Encoding::ALL.len()) - 1);

    /// Whether it contains `encoding`. `plain` is always contained.
    pub fn contains(self, encoding: Encoding) -> bool {
        encoding == Encoding::Plain || self.0 & 1 << encoding as u16 != 0
    }
}

impl Default for EncodingSet {
    fn default() -> Self {
        Self::ALL
    }
}

impl FromStr for EncodingSet {
    type Err = UnknownName;

    /// Parses names separated by commas. Unknown names are ignored, because a reader may support more encodings than
    /// the writer.
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let mut set = 0;
        for name in names(text) {
            if let Some(encoding) = Encoding::ALL.iter().find(|encoding| encoding.name() == name) {
                set |= 1 << *encoding as u16;
            }
        }
        Ok(Self(set))
    }
}

/// The codecs that a reader supports. An encoder uses no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodecSet {
    lz4: bool,
    zstd: bool,
}

impl CodecSet {
    /// All codecs of format version 1.
    pub const ALL: Self = Self { lz4: true, zstd: true };

    /// Whether it contains `codec`. `none` is always contained.
    pub fn contains(self, codec: Codec) -> bool {
        match codec {
            Codec::None => true,
            Codec::Lz4 => self.lz4,
            Codec::Zstd(_) => self.zstd,
        }
    }
}

impl Default for CodecSet {
    fn default() -> Self {
        Self::ALL
    }
}

impl FromStr for CodecSet {
    type Err = UnknownName;

    /// Parses names separated by commas; unknown ones are ignored, as for encodings.
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let has = |wanted| names(text).any(|name| name == wanted);
        Ok(Self { lz4: has("lz4"), zstd: has("zstd") })
    }
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in ["plain", "light", "light+fsst", "light+lz4", "light+zstd-3", "plain+zstd-22", "light+fsst+lz4"] {
            assert_eq!(name.parse::<Config>().map(|config| config.to_string()), Ok(name.to_owned()));
        }
        for name in ["", "auto", "light+", "light+zstd-0", "light+zstd-23", "light+zstd", "lightlz4", "plain+snappy"] {
            assert!(name.parse::<Config>().is_err(), "{name}");
        }
    }

    #[test]
    fn sets_hold_what_was_named() {
        let set: EncodingSet = "packed, delta,quantum".parse().unwrap_or_default();
        assert!(set.contains(Encoding::Packed) && set.contains(Encoding::Delta) && set.contains(Encoding::Plain));
        assert!(!set.contains(Encoding::Fsst));
        let codecs: CodecSet = "none,zstd".parse().unwrap_or_default();
        assert!(codecs.contains(Codec::Zstd(1)) && codecs.contains(Codec::None) && !codecs.contains(Codec::Lz4));
    }
}
