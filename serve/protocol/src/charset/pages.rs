//! Numbers by keys of 16 bits. Only the pages with keys occupy memory.

/// A map from `u16`. The value 0 is none.
#[derive(Debug)]
pub(super) struct Pages(Vec<Option<Box<[u32; 256]>>>);

impl Pages {
    pub fn new() -> Self {
        Self(vec![None; 256])
    }

    pub fn get(&self, key: u16) -> Option<u32> {
        let page = self.0.get(usize::from(key >> 8))?.as_ref()?;
        page.get(usize::from(key & 0xff)).copied().filter(|value| *value != 0)
    }

    pub fn set(&mut self, key: u16, value: u32) {
        let page = self.0.get_mut(usize::from(key >> 8)).map(|page| page.get_or_insert_with(|| Box::new([0; 256])));
        if let Some(place) = page.and_then(|page| page.get_mut(usize::from(key & 0xff))) {
            *place = value;
        }
    }
}
