// The search over the deliveries, with what can be typed and what was not understood.
import type { RefObject } from 'preact';
import { Icon } from '../parts/icon.js';

interface SearchBoxProps {
  readonly query: string;
  readonly problems: readonly string[];
  readonly search: (query: string) => void;
  readonly input: RefObject<HTMLInputElement | null>;
}

export function SearchBox({ query, problems, search, input }: SearchBoxProps) {
  return (
    <search class="search">
      <div class="search-field">
        <Icon name="search" />
        <input
          ref={input}
          type="search"
          value={query}
          aria-label="Search deliveries"
          aria-describedby="search-help"
          placeholder="Search, or status:failed event:transaction.*"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => search(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
        />
        <span class="key" aria-hidden="true">
          /
        </span>
      </div>
      <p
        id="search-help"
        class={problems.length > 0 ? 'search-help problem' : 'search-help'}
        aria-live="polite"
      >
        {problems.length > 0 ? (
          problems.join(' ')
        ) : (
          <>
            Text, or <code>status:</code> <code>event:</code> <code>webhook:</code> <code>code:</code>{' '}
            <code>id:</code>
          </>
        )}
      </p>
    </search>
  );
}
