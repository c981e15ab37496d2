// The event that is being put together, and sending it.
import { useMemo, useState } from 'preact/hooks';
import { api, type Triggered } from '../live/api.js';
import type { Sample } from '../live/wire.js';
import { type Form, useForm } from '../parts/use-form.js';
import { checkPayload, type PayloadCheck } from './check-payload.js';

interface Draft {
  readonly name: string;
  readonly count: string;
  readonly fault: string;
  readonly sandbox: boolean;
  /** Undefined: the sample of the event as it is. */
  readonly edited: string | undefined;
}

interface TriggerState {
  readonly event: Draft;
  readonly set: (change: Partial<Draft>) => void;
  readonly payload: {
    readonly text: string;
    readonly check: PayloadCheck;
    readonly errors: readonly string[] | undefined;
    readonly restore: (() => void) | undefined;
    readonly change: (text: string) => void;
  };
  readonly form: Form;
  readonly outcome: string;
}

const FIELDS = ['event_name', 'payload', 'count', 'fault'];
const START = { count: '1', fault: '', sandbox: false, edited: undefined };

export function useTrigger(samples: readonly Sample[]): TriggerState {
  const [event, setEvent] = useState<Draft>({ name: samples[0]?.event_name ?? '', ...START });
  const [outcome, setOutcome] = useState('');
  const set = (change: Partial<Draft>) => setEvent((before) => ({ ...before, ...change }));
  const sample = samples.find(({ event_name }) => event_name === event.name)?.sample.payload;
  const text = event.edited ?? JSON.stringify(sample ?? {}, null, 2);
  const check = useMemo(() => checkPayload(text, sample), [text, sample]);
  const form = useForm(FIELDS, async () => {
    setOutcome('');
    if (!check.fine) throw new Error('The payload is not valid yet.');
    const { name, sandbox, count, fault } = event;
    const what = { event_name: name.trim(), payload: check.payload, sandbox, count: Number(count) };
    setOutcome(said(await api.trigger({ ...what, ...(fault && { fault: { kind: fault } }) })));
  });
  const payload = {
    ...{ text, check, errors: form.errors.payload },
    restore: event.edited === undefined ? undefined : () => set({ edited: undefined }),
    change: (edited: string) => set({ edited }),
  };
  return { event, set, payload, form, outcome };
}

function said({ data: { events, deliveries }, message }: Triggered): string {
  if (message) return message;
  const counted = (count: number, one: string, more: string) => `${count} ${count === 1 ? one : more}`;
  return `${counted(events.length, 'event', 'events')} on the way: ${counted(deliveries.length, 'delivery', 'deliveries')}.`;
}
