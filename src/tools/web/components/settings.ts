// Settings of a page in localStorage, or in memory if storage is blocked.

/** The page may share its origin, and so its storage, with an app. */
const PREFIX = 'payment-webhooks.';

const settings = new Map<string, string | undefined>();

export function loadSetting(name: string): string | undefined {
  if (settings.has(name)) return settings.get(name);
  try {
    return localStorage.getItem(PREFIX + name) ?? undefined;
  } catch {
    return undefined;
  }
}

/** @param value undefined deletes it */
export function saveSetting(name: string, value: string | undefined): void {
  settings.set(name, value);
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // Storage is blocked.
  }
}
