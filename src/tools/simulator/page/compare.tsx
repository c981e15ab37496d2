// Compares two deliveries, or two attempts of one, side by side: what differs between them.
import { useState } from 'preact/hooks';
import { useLoaded } from '../../web/components/columns.js';
import { Field } from '../../web/components/form.js';
import { formatTime, plural, shortId, showInvisible } from '../../web/components/format.js';
import { compareBodies, fieldsOf } from '../delivery/compare-bodies.js';
import { type Attempt, api, type Delivery, type Row } from './api.js';
import { useSimulator } from './simulator.js';

interface Side {
  readonly delivery: Delivery;
  readonly attempt: Attempt;
}

const MAX_CHOICES = 100;
const MAX_SHOWN = 200;

export function choicesFor({ delivery, attempt }: Side, rows: readonly Row[]) {
  const attempts = delivery.attempts.filter(({ number }) => number !== attempt.number).reverse();
  const others = rows.filter(({ id, attempts }) => id !== delivery.id && attempts > 0);
  const isSame = (row: Row) => row.event_id === delivery.event_id;
  return [
    ...attempts.map(
      ({ number, started_at: at }) =>
        [`${delivery.id} ${number}`, `Attempt ${number}, ${formatTime(at)}`] as const,
    ),
    ...[...others.filter(isSame), ...others.filter((row) => !isSame(row))].map(
      (row) => [row.id, `${row.event_name} ${shortId(row.id)}, ${formatTime(row.created_at)}`] as const,
    ),
  ].slice(0, MAX_CHOICES);
}

export function Compare(side: Side) {
  const choices = choicesFor(side, useSimulator().rows);
  const [chosen, choose] = useState(choices[0]?.[0] ?? '');
  const [id = '', number] = chosen.split(' ');
  const load = async () => {
    const delivery = await api.delivery(id);
    const wanted = delivery.attempts.find((one) => String(one.number) === number);
    const attempt = wanted ?? delivery.attempts.at(-1);
    return attempt && { delivery, attempt };
  };
  const { data: other } = useLoaded(load, [chosen]);
  return (
    <>
      <Field label="Compare with" name="other" options={choices} change={choose} />
      {other && <Differences one={side} other={other} />}
    </>
  );
}

function Differences({ one, other }: { one: Side; other: Side }) {
  const [left, right] = [factsOf(one), factsOf(other)];
  const names = [...new Set([...left.keys(), ...right.keys()])];
  const changed = names.filter((name) => left.get(name) !== right.get(name));
  const text = (facts: ReadonlyMap<string, string>, name: string) => showInvisible(facts.get(name) ?? '–');
  return (
    <>
      <p role="status">
        The bodies: {compareBodies(one.attempt.request.body, other.attempt.request.body)}.{' '}
        {plural(names.length - changed.length, 'other value')} in common.
      </p>
      <table class="headers compare mono wrap" aria-label="What differs">
        <thead>
          <tr>
            <th scope="col">Value</th>
            <th scope="col">{nameOf(one)}</th>
            <th scope="col">{nameOf(other)}</th>
          </tr>
        </thead>
        <tbody>
          {changed.slice(0, MAX_SHOWN).map((name) => (
            <tr key={name}>
              <th class="muted" scope="row">
                {showInvisible(name)}
              </th>
              <td>{text(left, name)}</td>
              <td>{text(right, name)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function nameOf({ delivery, attempt }: Side): string {
  return `${shortId(delivery.id)}, attempt ${attempt.number}`;
}

function factsOf({ delivery, attempt }: Side): Map<string, string> {
  const { request, response, error } = attempt;
  const facts = new Map([
    ['Event', delivery.event_name],
    ['Event ID', delivery.event_id],
    ['URL', request.url],
    ['Sent', attempt.started_at],
    ['Answer', String(response?.status ?? error?.code)],
    ['SHA-256 of the body', request.body_sha256],
  ]);
  for (const [name, value] of request.headers) facts.set(`${name.toLowerCase()}:`, value);
  try {
    for (const [path, value] of fieldsOf(request.body)) facts.set(path, value);
  } catch {
    // Not JSON, or too long: the digest tells.
  }
  return facts;
}
