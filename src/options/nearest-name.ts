// The name that was probably meant, so that an error can suggest it.

// The work grows with the product of both lengths, and what was typed may come from a stranger.
const LONGEST = 100;

/**
 * The closest of the names by edit distance, when it is close enough to be a likely slip. Text and names of more
 * than 100 characters are not compared.
 */
export function nearestName(typed: string, names: Iterable<string>): string | undefined {
  if (typed.length > LONGEST) return undefined;
  let best: string | undefined;
  let least = Math.max(2, Math.floor(typed.length / 3)) + 1;
  for (const name of names) {
    if (name.length > LONGEST) continue;
    const distance = editDistance(typed.toLowerCase(), name.toLowerCase());
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return best;
}

/** `' Did you mean "limit"?'`, or nothing. */
export function didYouMean(typed: string, names: Iterable<string>): string {
  const name = nearestName(typed, names);
  return name === undefined ? '' : ` Did you mean "${name}"?`;
}

function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let i = 1; i <= from.length; i += 1) {
    const above = row;
    row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (above[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
  }
  return row[to.length] ?? 0;
}
