// The search above a list: words and `key:value` filters in one field, each filter a chip, and choices with their counts.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { Button } from './button.js';
import { focus } from './focus.js';
import { Icon } from './icon.js';

interface SearchBarProps {
  readonly 'aria-label': string;
  readonly placeholder: string;
  readonly text: string;
  readonly problems: readonly string[];
  readonly find: (text: string) => void;
  /** Whether it is found while it is typed, not only when Enter is pressed. */
  readonly live?: boolean;
  readonly children?: ComponentChildren;
}

export function SearchBar({ text, problems, find, live, children, ...input }: SearchBarProps) {
  const [typed, type] = useState(text);
  // Before the next key: later, it would undo what was typed meanwhile.
  useLayoutEffect(() => type(text), [text]);
  const change = (value: string) => {
    type(value);
    // A field that was emptied by its button asks for everything.
    if (live || value === '') find(value);
  };
  return (
    <search class="search">
      <form
        class="cluster"
        onSubmit={(event) => {
          event.preventDefault();
          find(typed);
        }}
      >
        <input
          type="search"
          value={typed}
          aria-describedby="search-problem"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => change(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
          {...input}
        />
        {children}
      </form>
      <p id="search-problem" class="note problem" aria-live="polite">
        {problems.join(' ')}
      </p>
    </search>
  );
}

export function focusSearch(): void {
  focus('.search input');
  document.querySelector<HTMLInputElement>('.search input')?.select();
}

interface Choice {
  readonly label: string;
  readonly icon?: ComponentChildren;
  readonly count: number;
  readonly pressed: boolean;
  /** Shown even when there are none. */
  readonly always: boolean;
  readonly choose: () => void;
}

interface FilterBarProps {
  readonly legend: string;
  readonly choices: readonly Choice[];
  /** The search, of which each filter is a chip that removes it. */
  readonly text: string;
  /** The key that the choices stand for. */
  readonly except: string;
  readonly find: (text: string) => void;
  readonly children?: ComponentChildren;
}

/** How many rows each choice has, each also a filter; and the filters of the search. */
export function FilterBar({ legend, choices, text, except, find, children }: FilterBarProps) {
  const shown = choices.filter(({ always, count, pressed }) => always || count > 0 || pressed);
  const parts = text.split(/\s+/).filter(Boolean);
  const isChip = (part: string) => /^[a-z]+:(?!\/\/)./i.test(part) && !part.startsWith(`${except}:`);
  return (
    <fieldset class="filter">
      <legend class="visually-hidden">{legend}</legend>
      {shown.map(({ label, icon, count, pressed, choose }) => (
        <Button key={label} look="small quiet" aria-pressed={pressed} act={choose}>
          {icon}
          {label} <b>{count.toLocaleString('en')}</b>
        </Button>
      ))}
      {parts.filter(isChip).map((part) => (
        <Button
          key={part}
          look="small chip"
          label={`Remove the filter ${part}`}
          act={() => find(parts.filter((one) => one !== part).join(' '))}
        >
          <span class="mono">{part}</span>
          <Icon name="close" />
        </Button>
      ))}
      {children}
    </fieldset>
  );
}
