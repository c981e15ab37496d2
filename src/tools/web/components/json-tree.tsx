// A JSON tree that folds, finds a text, and copies the path of a value.
import { useState } from 'preact/hooks';
import { useAction } from './button.js';
import { showInvisible } from './format.js';

export function JsonTree({ label, value }: { label: string; value: object }) {
  const [text, find] = useState('');
  const found = text === '' ? 0 : countIn(value, text.toLowerCase());
  return (
    <section class="json mono wrap" aria-label={label}>
      <p class="cluster">
        <input
          type="search"
          aria-label={`Find in ${label.toLowerCase()}`}
          placeholder="Find"
          value={text}
          onInput={(event) => find(event.currentTarget.value)}
        />
        <span class="note" role="status">
          {text !== '' && `${found} found`}
        </span>
      </p>
      <Branch name={undefined} value={value} path="" text={text.toLowerCase()} last />
    </section>
  );
}

interface EntryProps<Value> {
  /** Undefined in an array. */
  readonly name: string | undefined;
  readonly value: Value;
  readonly path: string;
  /** The text to find, in lower case. Branches that contain it unfold. */
  readonly text: string;
  readonly last: boolean;
}

function Entry({ value, ...entry }: EntryProps<unknown>) {
  if (isBranch(value)) return <Branch value={value} {...entry} />;
  const { name, path, text, last } = entry;
  return (
    <>
      {name !== undefined && <Key name={name} path={path} text={text} />}
      <span class={`json-${typeof value}`}>
        <Marked all={JSON.stringify(value)} text={text} />
      </span>
      {!last && ','}
    </>
  );
}

const OPEN_DEPTH = 4;
/** A browser needs seconds to lay out a longer array. */
const SHOWN_ENTRIES = 200;

function Branch({ name, value, path, text, last }: EntryProps<object>) {
  const [open, setOpen] = useState(path.split(/[.[]/).length < OPEN_DEPTH);
  const [all, showAll] = useState(false);
  const entries = Object.entries(value);
  const isList = Array.isArray(value);
  const [start, end] = isList ? '[]' : '{}';
  const shown = open || (text !== '' && countIn(value, text) > 0);
  const close = `${end}${last ? '' : ','}`;
  const label = `Entries of ${path === '' ? 'all' : showInvisible(path)}`;
  const fold = () => setOpen(!shown);
  return (
    <>
      <button type="button" class="json-fold muted" aria-expanded={shown} aria-label={label} onClick={fold} />
      {name !== undefined && <Key name={name} path={path} text={text} />}
      {start}
      {!shown && <span class="muted">{` ${entries.length} … ${close}`}</span>}
      {shown && (
        <ul>
          {entries.slice(0, all ? entries.length : SHOWN_ENTRIES).map(([key, entry], index) => {
            const where = isList ? `${path}[${key}]` : pathTo(path, key);
            const isLast = index === entries.length - 1;
            return (
              <li key={key}>
                <Entry name={isList ? undefined : key} value={entry} path={where} text={text} last={isLast} />
              </li>
            );
          })}
          {!all && entries.length > SHOWN_ENTRIES && (
            <li>
              <button type="button" class="link" onClick={() => showAll(true)}>
                Show all {entries.length.toLocaleString('en')}
              </button>
            </li>
          )}
        </ul>
      )}
      {shown && close}
    </>
  );
}

function Key({ name, path, text }: { name: string; path: string; text: string }) {
  const copy = useAction(() => navigator.clipboard.writeText(path));
  const title = `Copy the path ${showInvisible(path)}`;
  return (
    <>
      <button type="button" class="json-key" title={title} onClick={() => copy()}>
        <Marked all={JSON.stringify(name)} text={text} />
      </button>
      {': '}
    </>
  );
}

function Marked({ all, text }: { all: string; text: string }) {
  const at = text === '' ? -1 : all.toLowerCase().indexOf(text);
  if (at === -1) return <>{showInvisible(all)}</>;
  return (
    <>
      {showInvisible(all.slice(0, at))}
      <mark>{showInvisible(all.slice(at, at + text.length))}</mark>
      {showInvisible(all.slice(at + text.length))}
    </>
  );
}

function countIn(value: object, text: string): number {
  const has = (part: unknown) => Number(JSON.stringify(part).toLowerCase().includes(text));
  return Object.entries(value).reduce(
    (sum, [key, entry]) =>
      sum + (Array.isArray(value) ? 0 : has(key)) + (isBranch(entry) ? countIn(entry, text) : has(entry)),
    0,
  );
}

function isBranch(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** As JavaScript reads it. */
function pathTo(path: string, key: string): string {
  if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}
