// Tells how far a run is, on standard error: the tables alone are on standard output.

/** @param passing only for a terminal, where it is written over */
export function progress(text: string, passing = false): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}${passing ? '' : '\n'}`);
  else if (!passing) process.stderr.write(`${text}\n`);
}
