// Triggers an event with a name, payload, count and fault; or edits and resends the event of a delivery.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Button } from '../../web/components/button.js';
import { DialogButton } from '../../web/components/dialog.js';
import { Field, Form } from '../../web/components/form.js';
import { byteLength, formatBytes, plural } from '../../web/components/format.js';
import { Icon } from '../../web/components/icon.js';
import { Panel } from '../../web/components/page-frame.js';
import { loadSetting, saveSetting } from '../../web/components/settings.js';
import { api, type Delivery, type FaultKind } from './api.js';
import { checkPayload, type PayloadCheck } from './check-payload.js';
import { useSimulator } from './simulator.js';
import { FAULT_KINDS, faultEffect } from './texts.js';

const NAME = { label: 'Event', name: 'event_name', class: 'mono', list: 'event-names', required: true };
const COUNT = { type: 'number', min: 1, max: 1000, required: true } as const;
const PAYLOAD = { label: 'Payload', name: 'payload', class: 'mono', rows: 20, autofocus: true };
const FAULTS = [['', 'None'], ...FAULT_KINDS] as const;

export function TriggerPanel() {
  const { samples, webhooks } = useSimulator();
  const [typed, setTyped] = useState(samples[0]?.event_name ?? '');
  const name = typed.trim();
  const [count, setCount] = useState('1');
  const [fault, setFault] = useState('');
  const [result, setResult] = useState('');
  const draft = useDraft(name);
  // The result may say that no webhook subscribes.
  useEffect(() => setResult(''), [webhooks]);
  const submit = async (values: FormData) => {
    setResult('');
    const { data, message } = await api.trigger({
      event_name: name,
      payload: validPayload(draft.check),
      sandbox: values.has('sandbox'),
      count: Number(count),
      ...(fault && { fault: fault as FaultKind }),
    });
    const triggered = `Triggered ${plural(data.events.length, 'event')}`;
    setResult(message ?? `${triggered}: ${plural(data.deliveries.length, 'delivery', 'deliveries')}.`);
  };
  const verb = count === '1' ? 'Trigger event' : `Trigger ${count} events`;
  return (
    <Panel title="Trigger" id="trigger">
      <Form verb={verb} submit={submit} disabled={!draft.check.valid}>
        <Field {...NAME} value={typed} change={setTyped} />
        <datalist id="event-names">
          {samples.map(({ event_name }) => (
            <option key={event_name} value={event_name} />
          ))}
        </datalist>
        <PayloadEditor {...draft} />
        <div class="field-row">
          <Field label="Count" name="count" {...COUNT} value={count} change={setCount} />
          <Field label="Fault" name="fault" options={FAULTS} hint={faultEffect(fault)} change={setFault} />
        </div>
        <label class="cluster">
          <input type="checkbox" name="sandbox" />
          Sandbox event
        </label>
      </Form>
      <p class="note" role="status">
        {result}
      </p>
    </Panel>
  );
}

type Draft = ReturnType<typeof useDraft>;

/** The payload as text: the sample until the user edits it. Each event has its own draft, which survives a reload. */
function useDraft(name: string) {
  const { samples } = useSimulator();
  const setting = `draft.${name}`;
  const [, render] = useState(0);
  /** @param draft undefined resets it to the sample */
  const edit = (draft: string | undefined) => {
    saveSetting(setting, draft);
    render((times) => times + 1);
  };
  const sample = samples.find(({ event_name }) => event_name === name)?.sample.payload;
  const text = loadSetting(setting) ?? JSON.stringify(sample ?? {}, null, 2);
  const check = useMemo(() => checkPayload(text, sample), [text, sample]);
  return { text, check, edit };
}

/** Whether the payload is valid, and a dialog that edits it and checks it on each keystroke. */
function PayloadEditor({ text, check, edit }: Draft) {
  const field = { ...PAYLOAD, invalid: !check.valid, value: text, change: edit };
  return (
    <div class="field stack">
      <span class="label">Payload</span>
      <CheckResult check={check} />
      <DialogButton title="Edit payload">
        {(close) => (
          <>
            <Field {...field} hint={<CheckResult check={check} />} />
            <p class="cluster">
              <Button look="primary" text="Done" act={close} />
              <Button look="quiet" text="Reset to sample" act={() => edit(undefined)} />
            </p>
          </>
        )}
      </DialogButton>
    </div>
  );
}

function CheckResult({ check }: Pick<Draft, 'check'>) {
  const tone = !check.valid ? 'failed' : check.difference ? 'fault' : 'delivered';
  return (
    <span class={`line note tone-${tone}`} role="status">
      <Icon name={tone} />
      <span class="wrap">
        {check.valid
          ? `Valid JSON, ${formatBytes(byteLength(JSON.stringify(check.payload)))} as sent`
          : check.problem}
        {check.valid && check.difference && `. Differs from the sample: ${check.difference}`}
      </span>
    </span>
  );
}

export function EditAndResend({ delivery, body }: { delivery: Delivery; body: string }) {
  const { navigate } = useSimulator();
  const { sandbox, payload } = parse(body);
  const [text, setText] = useState(JSON.stringify(payload, null, 2));
  const check = checkPayload(text, Object(payload));
  const send = async () => {
    const event = { event_name: delivery.event_name, payload: validPayload(check), sandbox };
    const { data, message } = await api.trigger(event);
    const sent =
      data.deliveries.find(({ webhook_id: id }) => id === delivery.webhook_id) ?? data.deliveries[0];
    if (!sent) throw new Error(message);
    navigate({ delivery: sent.id, attempt: undefined });
  };
  const hint = check.valid ? (check.difference ?? 'Sent as a new event, with a new ID.') : check.problem;
  return (
    <Form verb="Send" submit={send} disabled={!check.valid}>
      <Field {...PAYLOAD} invalid={!check.valid} hint={hint} value={text} change={setText} />
    </Form>
  );
}

/** The keyboard submits a form with a disabled button, too. */
function validPayload(check: PayloadCheck): object {
  if (!check.valid) throw new Error(check.problem);
  return check.payload;
}

/** A fault may have truncated the body. */
function parse(body: string): { readonly sandbox: boolean; readonly payload: unknown } {
  try {
    const { sandbox = false, payload = {} } = JSON.parse(body);
    return { sandbox, payload };
  } catch {
    return { sandbox: false, payload: {} };
  }
}
