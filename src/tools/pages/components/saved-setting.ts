// Saves a setting in this browser. A browser that blocks storage keeps it only while the page is open.

/** A page may share its origin, and so its storage, with a whole app. */
const PREFIX = 'payment-webhooks.';

const settings = new Map<string, string>();

export function loadSetting(name: string): string | undefined {
  try {
    return settings.get(name) ?? localStorage.getItem(PREFIX + name) ?? undefined;
  } catch {
    return undefined;
  }
}

export function saveSetting(name: string, value: string): void {
  settings.set(name, value);
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // Storage is blocked.
  }
}
