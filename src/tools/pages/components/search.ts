// Reads a search: plain words, and `key:value` filters.

export interface SearchParts {
  /** Values by key. */
  readonly tokens: ReadonlyMap<string, readonly string[]>;
  readonly words: readonly string[];
  /** What is wrong with the search, and what to type. */
  readonly problems: readonly string[];
}

/** `event:refund.*,payout.* paid` is two values of `event`, and a word. A URL is a word. */
export function readSearch(
  text: string,
  /** Says what is wrong with a key or a value; the empty text is one that is still being typed, and ignored. */
  check: (key: string, value: string) => string | undefined,
): SearchParts {
  const tokens = new Map<string, string[]>();
  const words: string[] = [];
  const problems: string[] = [];
  for (const part of text.split(/\s+/).filter(Boolean)) {
    const [, key, value] = /^([a-z]+):(?!\/\/)(.*)$/i.exec(part) ?? [];
    if (key === undefined || value === undefined) words.push(part);
    else
      for (const one of value.split(',')) {
        const problem = check(key, one);
        if (problem) problems.push(problem);
        else if (problem === undefined && one !== '') tokens.set(key, [...(tokens.get(key) ?? []), one]);
      }
  }
  return { tokens, words, problems };
}
