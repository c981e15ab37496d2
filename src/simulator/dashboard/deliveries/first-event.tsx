// Sends the first event: the sample of the first declared one.
import { api } from '../live/api.js';
import type { Sample } from '../live/wire.js';
import { Problem } from '../parts/form-end.js';
import { useForm } from '../parts/use-form.js';
import { focusMain } from './focus.js';

export function FirstEvent({ sample, ready }: { sample: Sample | undefined; ready: boolean }) {
  const { problem, send } = useForm([], async () => {
    if (!sample) return;
    const { event_name, sample: event } = sample;
    await api.trigger({ event_name, payload: event.payload, sandbox: false, count: 1 });
    focusMain();
  });
  return (
    <form class="form" onSubmit={send}>
      <p>
        <button type="submit" class="button primary" disabled={!ready || !sample}>
          Send {sample?.event_name ?? 'an event'}
        </button>
      </p>
      <p class="note">
        {ready
          ? 'Every attempt, its answer and its retries will appear here.'
          : 'As soon as a webhook is registered.'}
      </p>
      <Problem text={problem} />
    </form>
  );
}
