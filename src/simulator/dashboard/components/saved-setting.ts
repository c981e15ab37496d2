// Saves a setting in this browser. A browser that blocks storage keeps it only while the page is open.

const settings = new Map<string, string>();

export function loadSetting(name: string): string | undefined {
  try {
    return settings.get(name) ?? localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

export function saveSetting(name: string, value: string): void {
  settings.set(name, value);
  try {
    localStorage.setItem(name, value);
  } catch {
    // Storage is blocked.
  }
}
