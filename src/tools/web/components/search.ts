// Parses a search: words and `key:value` filters.

export interface SearchParts {
  readonly tokens: ReadonlyMap<string, readonly string[]>;
  readonly words: readonly string[];
  /** What is wrong, and what to type instead. */
  readonly problems: readonly string[];
}

/** The words and filters of a search. White space in double quotes does not end one: `cause:"ship: TypeError"`. */
export function partsOf(text: string): readonly string[] {
  return text.match(/(?:"[^"]*"|\S)+/g) ?? [];
}

/** `event:refund.*,payout.* paid` has two values of `event` and one word. A URL is a word. */
export function readSearch(
  text: string,
  /** Returns what is wrong, or '' to ignore a value that the user is still typing. */
  check: (key: string, value: string) => string | undefined,
): SearchParts {
  const tokens = new Map<string, string[]>();
  const words: string[] = [];
  const problems: string[] = [];
  for (const part of partsOf(text)) {
    const [, key, value] = /^([a-z]+):(?!\/\/)(.*)$/i.exec(part) ?? [];
    if (key === undefined || value === undefined) words.push(part);
    else
      for (const one of value.replace(/^"(.*)"$/, '$1').split(',')) {
        const problem = check(key, one);
        if (problem) problems.push(problem);
        else if (problem === undefined && one !== '') tokens.set(key, [...(tokens.get(key) ?? []), one]);
      }
  }
  return { tokens, words, problems };
}
