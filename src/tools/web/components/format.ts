// Formats times, sizes, ids, URLs and captured text.

/** `1.2 ms`, `12 ms`, `1.24 s`, `2 m 5 s`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${ms < 9.95 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(2)} s`;
  return formatPause(ms);
}

/** A duration in its largest units: `4 s`, `1 m 20 s`, `5 h`, `2 h 30 m`. */
export function formatPause(ms: number, most = 2): string {
  const seconds = Math.ceil(ms / 1_000);
  const units: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ];
  const first = units.findIndex(([count]) => count > 0);
  if (first === -1) return '0 s';
  return units
    .slice(first, first + most)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

/** `10:32:05` in the time zone of the browser, with the date unless it is today. */
export function formatTime(iso: string, now = new Date()): string {
  const time = new Date(iso);
  // Intl is too slow for hundreds of rows.
  const [clock = ''] = time.toTimeString().split(' ');
  if (time.toDateString() === now.toDateString()) return clock;
  return `${time.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })}, ${clock}`;
}

/** `10:32:05.120` */
export function formatTimeExactly(iso: string): string {
  const milliseconds = String(new Date(iso).getMilliseconds()).padStart(3, '0');
  return `${formatTime(iso)}.${milliseconds}`;
}

/** `980 bytes`, `1.2 KB` of 1,000 bytes. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function byteLength(text: string): number {
  return new TextEncoder().encode(text).byteLength;
}

/** `1 delivery`, `2,003 deliveries`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

export function shortId(id: string): string {
  return id.length > 12 ? id.slice(0, 8) : id;
}

export function shortUrl(url: string): string {
  return url.replace(/^http:\/\//, '');
}

// Control and format characters: bidirectional overrides, zero-width characters, the byte-order mark.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const LAYOUT: ReadonlySet<string> = new Set(['\n', '\t']);
/** A zero-width joiner within an emoji, such as a family, is harmless. */
const JOINED =
  /(?<=\p{Extended_Pictographic}[\u{1F3FB}-\u{1F3FF}\uFE0F]?)\u200D(?=\p{Extended_Pictographic})/gu;

/** Makes visible the characters of a captured text that a browser hides, or that reorder the text. */
export function showInvisible(text: string): string {
  const joiners = new Set(Array.from(text.matchAll(JOINED), ({ index }) => index));
  return text.replace(INVISIBLE, (character, index: number) => {
    if (LAYOUT.has(character) || joiners.has(index)) return character;
    const code = character.codePointAt(0) ?? 0;
    // Unicode has a symbol for each control character: ␀, ␛, ␍.
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}
