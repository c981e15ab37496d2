// Compares two texts character by character.

export interface Part {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Above this, the whole text counts as replaced. */
const MAX_CELLS = 4_000_000;

export function diffText(before: string, after: string): readonly Part[] {
  const [one, other] = [[...before], [...after]];
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start += 1;
  let end = 0;
  const least = Math.min(one.length, other.length) - start;
  while (end < least && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  const parts: { kind: Part['kind']; text: string }[] = [];
  const add = (kind: Part['kind'], text: string) => {
    const last = parts.at(-1);
    if (last?.kind === kind) last.text += text;
    else if (text !== '') parts.push({ kind, text });
  };
  add('same', one.slice(0, start).join(''));
  align(one.slice(start, one.length - end), other.slice(start, other.length - end), add);
  add('same', one.slice(one.length - end).join(''));
  return parts;
}

/** By the longest common subsequence. */
function align(
  one: readonly string[],
  other: readonly string[],
  add: (kind: Part['kind'], text: string) => void,
): void {
  if (one.length * other.length > MAX_CELLS) {
    add('removed', one.join(''));
    add('added', other.join(''));
    return;
  }
  const width = other.length + 1;
  // Each cell: the length of the longest common subsequence of the two suffixes.
  const common = new Uint16Array((one.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = one.length - 1; i >= 0; i -= 1)
    for (let j = other.length - 1; j >= 0; j -= 1)
      common[i * width + j] =
        one[i] === other[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  let [i, j] = [0, 0];
  while (i < one.length || j < other.length) {
    const [left, right] = [one[i], other[j]];
    if (left !== undefined && left === right) {
      add('same', left);
      i += 1;
      j += 1;
    } else if (right === undefined || (left !== undefined && at(i + 1, j) >= at(i, j + 1))) {
      add('removed', left ?? '');
      i += 1;
    } else {
      add('added', right);
      j += 1;
    }
  }
}
