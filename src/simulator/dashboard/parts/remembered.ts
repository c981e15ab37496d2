// What this browser remembers of the reader's choices; one that keeps nothing for sites just forgets them.

export function remembered(setting: string): string | null {
  try {
    return localStorage.getItem(setting);
  } catch {
    return null;
  }
}

export function remember(setting: string, value: string): void {
  try {
    localStorage.setItem(setting, value);
  } catch {
    // The choice holds as long as the page is open.
  }
}
