// Stops what the global setup has started.
export default function globalTeardown() {
  return globalThis.stopServices?.();
}
