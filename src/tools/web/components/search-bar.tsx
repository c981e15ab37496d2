// The search above a list: one field for words and `key:value` filters, a chip for each filter, and choices with counts.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { Button } from './button.js';
import { focus } from './focus.js';
import { Icon } from './icon.js';
import { partsOf } from './search.js';

interface SearchBarProps {
  readonly 'aria-label': string;
  readonly placeholder: string;
  readonly text: string;
  readonly problems: readonly string[];
  readonly find: (text: string) => void;
  /** Searches on each keystroke, not only on Enter. */
  readonly live?: boolean;
  readonly children?: ComponentChildren;
}

export function SearchBar({ text, problems, find, live, children, ...input }: SearchBarProps) {
  const [typed, type] = useState(text);
  // A later effect would overwrite the next keystroke.
  useLayoutEffect(() => type(text), [text]);
  const change = (value: string) => {
    type(value);
    // The clear button of the field submits nothing.
    if (live || value === '') find(value);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    find(typed);
  };
  return (
    <search class="search">
      <form class="cluster" onSubmit={submit}>
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
  /** Shown with a count of 0, too. */
  readonly always: boolean;
  readonly choose: () => void;
}

interface FilterBarProps {
  readonly legend: string;
  readonly choices: readonly Choice[];
  /** The search. Each of its filters becomes a chip. */
  readonly text: string;
  /** The key that the choices set: it gets no chip. */
  readonly except: string;
  readonly find: (text: string) => void;
  readonly children?: ComponentChildren;
}

/** A toggle with a count for each choice, and a chip that removes each filter of the search. */
export function FilterBar({ legend, choices, text, except, find, children }: FilterBarProps) {
  const shown = choices.filter(({ always, count, pressed }) => always || count > 0 || pressed);
  const parts = partsOf(text);
  const isChip = (part: string) => /^[a-z]+:(?!\/\/)./i.test(part) && !part.startsWith(`${except}:`);
  const remove = (part: string) => find(parts.filter((one) => one !== part).join(' '));
  return (
    <fieldset class="filter cluster">
      <legend class="visually-hidden">{legend}</legend>
      {shown.map(({ label, icon, count, pressed, choose }) => (
        <Button key={label} look="small quiet" aria-pressed={pressed} act={choose}>
          {icon}
          {label} <b>{count.toLocaleString('en')}</b>
        </Button>
      ))}
      {parts.filter(isChip).map((part) => (
        <Button key={part} look="small chip" label={`Remove the filter ${part}`} act={() => remove(part)}>
          <span class="mono">{part}</span>
          <Icon name="close" />
        </Button>
      ))}
      {children}
    </fieldset>
  );
}
