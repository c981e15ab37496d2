// Shows the characters of a captured text that a browser would hide, or that would reorder what is read.

// Controls; and what formats: bidirectional overrides, zero-width characters, the byte-order mark.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const LAYOUT: ReadonlySet<string> = new Set(['\n', '\t']);

export function visible(text: string): string {
  return text.replace(HIDDEN, (character) => {
    if (LAYOUT.has(character)) return character;
    const code = character.codePointAt(0) ?? 0;
    // Unicode draws each of the first controls: ␀, ␛, ␍.
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}
