// Shows how two texts differ, character by character.
import { showInvisible } from '../pages/components/format.js';

interface Part {
  readonly kind: 'same' | 'removed' | 'added';
  text: string;
}

/** How much unchanged text is shown around a change. */
const CONTEXT = 40;

export function Difference({ before, after }: { before: string; after: string }) {
  const parts = compare([...before], [...after]);
  const shorten = (text: string, index: number) => {
    if (text.length <= 2 * CONTEXT) return text;
    const start = index === 0 ? '' : text.slice(0, CONTEXT);
    const end = index === parts.length - 1 ? '' : text.slice(-CONTEXT);
    return `${start}…${end}`;
  };
  return (
    <code class="code-block wrap difference">
      {parts.map(({ kind, text }, index) => {
        if (kind === 'same') return <span key={index}>{showInvisible(shorten(text, index))}</span>;
        const Change = kind === 'removed' ? 'del' : 'ins';
        return <Change key={index}>{showInvisible(text)}</Change>;
      })}
    </code>
  );
}

/** Above this, the whole text counts as replaced. */
const MAX_CELLS = 4_000_000;

function compare(one: readonly string[], other: readonly string[]): readonly Part[] {
  const least = Math.min(one.length, other.length);
  let start = 0;
  while (start < least && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < least - start && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  const parts: Part[] = [];
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
    const [left = '', right = ''] = [one[i], other[j]];
    const drop = right === '' || (left !== '' && at(i + 1, j) >= at(i, j + 1));
    const kind = left === right ? 'same' : drop ? 'removed' : 'added';
    add(kind, kind === 'added' ? right : left);
    if (kind !== 'added') i += 1;
    if (kind !== 'removed') j += 1;
  }
}
