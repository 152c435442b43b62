//! Interned text: label keys and values, namespaces, taints, images, resource names as `u32`.
//!
//! Symbols are reference-counted and their numbers are reused, so that memory stays flat however
//! many names come and go. Whoever compiles an object interns through a [`SymbolScope`] and keeps
//! the [`HeldSymbols`]; they are given back with [`Symbols::release`].

use std::sync::Arc;

use hashbrown::HashTable;

use foldhash::quality::FixedState;
use std::hash::BuildHasher;

/// A text known to a [`Symbols`] table. Equal symbols are equal texts; the order of symbols is
/// that of their first use, not of their texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(u32);

/// The table of interned texts.
#[derive(Debug)]
pub struct Symbols {
    hasher: FixedState,
    by_text: HashTable<u32>,
    entries: Vec<Entry>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Entry {
    text: Arc<str>,
    references: u32,
}

/// The references that one compiled value keeps: one per [`SymbolScope::intern`].
#[derive(Debug, Default)]
#[must_use = "symbols that are dropped without Symbols::release are never reclaimed"]
pub struct HeldSymbols(Vec<Symbol>);

/// Interns for one value and remembers what must be released with it.
#[derive(Debug)]
pub struct SymbolScope<'a> {
    symbols: &'a mut Symbols,
    held: Vec<Symbol>,
}

// === impl Symbol ===

impl Symbol {
    /// Stands for any text that nothing holds, in what is compiled without interning: it is equal
    /// to no held symbol, so it matches nothing, and it has no text.
    pub const UNHELD: Self = Self(u32::MAX);

    /// A number that no other text has as long as this one is held.
    pub fn number(self) -> i64 {
        i64::from(self.0)
    }
}

// === impl Symbols ===

impl Symbols {
    /// An empty table whose hasher is keyed with `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            hasher: FixedState::with_seed(seed),
            by_text: HashTable::new(),
            entries: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Opens a scope to compile one value.
    pub fn scope(&mut self) -> SymbolScope<'_> {
        SymbolScope {
            symbols: self,
            held: Vec::new(),
        }
    }

    /// The symbol of `text`, if something holds it. Takes no reference.
    pub fn get(&self, text: &str) -> Option<Symbol> {
        let hash = self.hasher.hash_one(text);
        self.by_text
            .find(hash, |&id| &*self.entries[id as usize].text == text)
            .map(|&id| Symbol(id))
    }

    /// The symbol of `text`, or [`Symbol::UNHELD`]. Takes no reference.
    pub fn get_or_unheld(&self, text: &str) -> Symbol {
        self.get(text).unwrap_or(Symbol::UNHELD)
    }

    /// The text of a held symbol.
    pub fn text(&self, symbol: Symbol) -> &str {
        &self.entries[symbol.0 as usize].text
    }

    /// The text of a held symbol, shared.
    pub fn shared_text(&self, symbol: Symbol) -> Arc<str> {
        Arc::clone(&self.entries[symbol.0 as usize].text)
    }

    /// How many texts are held.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many references each held text has, for audits.
    pub(crate) fn references(&self) -> impl Iterator<Item = (Symbol, u32)> + '_ {
        let entries = (0_u32..).zip(&self.entries);
        entries
            .filter(|(_, entry)| entry.references > 0)
            .map(|(id, entry)| (Symbol(id), entry.references))
    }

    /// Gives back the references of one value.
    pub fn release(&mut self, held: HeldSymbols) {
        for symbol in held.0 {
            self.release_one(symbol);
        }
    }

    /// Takes another reference to each of `symbols` that something holds already.
    pub fn hold(&mut self, symbols: impl IntoIterator<Item = Symbol>) -> HeldSymbols {
        let symbols = symbols.into_iter();
        let held: Vec<Symbol> = symbols.filter(|s| *s != Symbol::UNHELD).collect();
        for symbol in &held {
            self.entries[symbol.0 as usize].references += 1;
        }
        HeldSymbols(held)
    }

    fn acquire(&mut self, text: &str) -> Symbol {
        if let Some(symbol) = self.get(text) {
            self.entries[symbol.0 as usize].references += 1;
            return symbol;
        }
        let entry = Entry {
            text: Arc::from(text),
            references: 1,
        };
        let id = if let Some(id) = self.free.pop() {
            self.entries[id as usize] = entry;
            id
        } else {
            let id = u32::try_from(self.entries.len()).expect("fewer than 2^32 texts must be live");
            self.entries.push(entry);
            id
        };
        let Self {
            hasher,
            by_text,
            entries,
            ..
        } = self;
        by_text.insert_unique(hasher.hash_one(text), id, |&id| {
            hasher.hash_one(&*entries[id as usize].text)
        });
        Symbol(id)
    }

    fn release_one(&mut self, symbol: Symbol) {
        let id = symbol.0;
        let entry = &mut self.entries[id as usize];
        entry.references -= 1;
        if entry.references > 0 {
            return;
        }
        let text = std::mem::replace(&mut entry.text, Arc::from(""));
        let hash = self.hasher.hash_one(&*text);
        if let Ok(found) = self.by_text.find_entry(hash, |&candidate| candidate == id) {
            found.remove();
        }
        self.free.push(id);
    }
}

// === impl HeldSymbols ===

impl HeldSymbols {
    /// Each symbol as often as it is held.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.0.iter().copied()
    }
}

// === impl SymbolScope ===

impl SymbolScope<'_> {
    /// The symbol of `text`, with one reference kept by this scope.
    pub fn intern(&mut self, text: &str) -> Symbol {
        let symbol = self.symbols.acquire(text);
        self.held.push(symbol);
        symbol
    }

    /// The text of a symbol.
    pub fn text(&self, symbol: Symbol) -> &str {
        self.symbols.text(symbol)
    }

    /// Ends the scope: the references go to the compiled value.
    pub fn finish(self) -> HeldSymbols {
        HeldSymbols(self.held)
    }

    /// Ends the scope of a value that did not come to be.
    pub fn abandon(self) {
        for symbol in self.held {
            self.symbols.release_one(symbol);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_one_symbol_until_the_last_holder_lets_go() {
        let mut symbols = Symbols::new(1);
        let mut scope = symbols.scope();
        let (a, b, again) = (scope.intern("a"), scope.intern("b"), scope.intern("a"));
        let first = scope.finish();
        assert_eq!(a, again);
        assert_ne!(a, b);
        let mut scope = symbols.scope();
        scope.intern("a");
        let second = scope.finish();
        symbols.release(first);
        assert_eq!(symbols.get("a"), Some(a));
        assert_eq!(symbols.get("b"), None);
        symbols.release(second);
        assert!(symbols.is_empty());
    }

    #[test]
    fn churn_of_names_does_not_grow_the_table() {
        let mut symbols = Symbols::new(7);
        for round in 0..1_000 {
            let mut scope = symbols.scope();
            for i in 0..10 {
                scope.intern(&format!("pod-{round}-{i}"));
            }
            let held = scope.finish();
            symbols.release(held);
        }
        assert_eq!(symbols.entries.len(), 10);
        assert!(symbols.is_empty());
    }
}
