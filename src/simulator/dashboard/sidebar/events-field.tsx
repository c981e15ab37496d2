// Which events a webhook is told of: all of them, declared ones, or names and patterns that are typed.
import { useId, useState } from 'preact/hooks';
import { TextField } from '../parts/text-field.js';

interface EventsFieldProps {
  readonly events: readonly string[];
  readonly eventNames: readonly string[];
  readonly errors: readonly string[] | undefined;
  readonly change: (events: readonly string[]) => void;
}

export function EventsField({ events, eventNames, errors, change }: EventsFieldProps) {
  const name = useId();
  const all = events.includes('*');
  return (
    <fieldset class="field events-field">
      <legend>Events</legend>
      <label class="choice">
        <input type="radio" name={name} checked={all} onChange={() => change(['*'])} />
        All events
      </label>
      <label class="choice">
        <input type="radio" name={name} checked={!all} onChange={() => change(eventNames)} />
        Only these
      </label>
      {!all && <ChosenEvents events={events} eventNames={eventNames} errors={errors} change={change} />}
    </fieldset>
  );
}

function ChosenEvents({ events, eventNames, errors, change }: EventsFieldProps) {
  const chosen = events.filter((event) => eventNames.includes(event));
  const [others, setOthers] = useState(() =>
    events.filter((event) => !eventNames.includes(event)).join(', '),
  );
  const toggle = (event: string) => {
    const names = chosen.includes(event) ? chosen.filter((one) => one !== event) : [...chosen, event];
    change([...names, ...split(others)]);
  };
  const type = (text: string) => {
    setOthers(text);
    change([...chosen, ...split(text)]);
  };
  return (
    <div class="choices">
      {eventNames.map((event) => (
        <label class="choice" key={event}>
          <input type="checkbox" checked={chosen.includes(event)} onChange={() => toggle(event)} />
          <span class="mono">{event}</span>
        </label>
      ))}
      <TextField
        label="Others, separated by commas"
        hint="A name, or a pattern such as refund.*"
        class="mono"
        value={others}
        errors={errors}
        change={type}
      />
    </div>
  );
}

function split(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== '' && name !== '*');
}
