// Times, sizes and addresses as people read them.

/** `1.2 ms`, `12 ms`, `1.24 s`, `2 m 5 s`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${ms < 9.95 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(2)} s`;
  return formatPause(ms);
}

/** A pause in its largest units: `4 s`, `1 m 20 s`, `5 h`, `2 h 30 m`. */
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

/** The wall clock of this browser: `10:32:05`, with the day when it is not today. */
export function formatTime(iso: string, now = new Date()): string {
  const time = new Date(iso);
  // By hand: hundreds of rows are drawn at once, and the browser's own formatting is slow.
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
  if (time.toDateString() === now.toDateString()) return clock;
  return `${time.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })}, ${clock}`;
}

/** `10:32:05.120` */
export function formatTimeExactly(iso: string): string {
  const milliseconds = String(new Date(iso).getMilliseconds()).padStart(3, '0');
  return `${formatTime(iso)}.${milliseconds}`;
}

/** `980 bytes`, `1.2 KB`: a thousand bytes are one. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function byteLength(text: string): number {
  return new TextEncoder().encode(text).byteLength;
}

/** As much of an id as tells it from its neighbours. */
export function shortId(id: string): string {
  return id.length > 12 ? id.slice(0, 8) : id;
}

/** An address without what every one of them has. */
export function shortUrl(url: string): string {
  return url.replace(/^http:\/\//, '');
}
