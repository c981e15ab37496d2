// Saves a setting in this browser. A browser that blocks storage keeps it only while the page is open.

export function loadSetting(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function saveSetting(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Storage is blocked.
  }
}
