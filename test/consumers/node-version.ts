// Whether the Node that runs the tests is new enough for what they install.

/** @param oldest such as `22.12`; undefined: any */
export function runsHere(oldest = '0.0'): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = oldest.split('.').map(Number);
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}
