// Triggers an event with a name, payload, count and fault; or edits and resends the event of a delivery.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Button } from '../pages/components/button.js';
import { DialogButton } from '../pages/components/dialog.js';
import { Field, Form } from '../pages/components/form.js';
import { byteLength, formatBytes, plural } from '../pages/components/format.js';
import { Icon } from '../pages/components/icon.js';
import { Panel } from '../pages/components/page-frame.js';
import { loadSetting, saveSetting } from '../pages/components/settings.js';
import { api, type Delivery, type FaultKind, type Sample } from './api.js';
import { checkPayload, type PayloadCheck } from './check-payload.js';
import { faultEffect } from './fault-text.js';
import { useSimulator } from './simulator-context.js';

const COUNT = { type: 'number', min: 1, max: 1000, required: true } as const;

export function TriggerPanel() {
  const { samples, webhooks, settings: { fault_kinds: faultKinds = [] } = {} } = useSimulator();
  const [name, setName] = useState(samples[0]?.event_name ?? '');
  const [count, setCount] = useState('1');
  const [fault, setFault] = useState('');
  const [result, setResult] = useState('');
  const payload = usePayload(name, samples);
  // The result may say that no webhook subscribes.
  useEffect(() => setResult(''), [webhooks]);
  const submit = async (values: FormData) => {
    setResult('');
    if (!payload.check.valid) throw new Error(payload.check.problem);
    const sandbox = values.has('sandbox');
    const event = { event_name: name.trim(), payload: payload.check.payload, sandbox, count: Number(count) };
    const { data, message } = await api.trigger({ ...event, ...(fault && { fault: fault as FaultKind }) });
    const triggered = `Triggered ${plural(data.events.length, 'event')}`;
    setResult(message ?? `${triggered}: ${plural(data.deliveries.length, 'delivery', 'deliveries')}.`);
  };
  const faults = [['', 'None'] as const, ...faultKinds.map((kind) => [kind, kind] as const)];
  return (
    <Panel title="Trigger" id="trigger">
      <Form
        verb={count === '1' ? 'Trigger event' : `Trigger ${count} events`}
        submit={submit}
        disabled={!payload.check.valid}
      >
        <Field
          label="Event"
          name="event_name"
          class="mono"
          list="event-names"
          required
          value={name}
          change={setName}
        />
        <datalist id="event-names">
          {samples.map(({ event_name }) => (
            <option key={event_name} value={event_name} />
          ))}
        </datalist>
        <PayloadEditor {...payload} />
        <div class="field-row">
          <Field label="Count" name="count" {...COUNT} value={count} change={setCount} />
          <Field label="Fault" name="fault" options={faults} hint={faultEffect(fault)} change={setFault} />
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

/** The payload as text: the sample until the user edits it. Each event has its own draft, which survives a reload. */
function usePayload(name: string, samples: readonly Sample[]) {
  const setting = `draft.${name}`;
  const [, render] = useState(0);
  const edit = (draft: string | undefined) => {
    saveSetting(setting, draft);
    render((times) => times + 1);
  };
  const sample = samples.find(({ event_name }) => event_name === name)?.sample.payload;
  const text = loadSetting(setting) ?? JSON.stringify(sample ?? {}, null, 2);
  const check = useMemo(() => checkPayload(text, sample), [text, sample]);
  return { text, check, edit };
}

interface PayloadEditorProps {
  readonly text: string;
  readonly check: PayloadCheck;
  /** Undefined resets it to the sample. */
  readonly edit: (text: string | undefined) => void;
}

/** Whether the payload is valid, and a dialog that edits it and checks it on each keystroke. */
function PayloadEditor({ text, check, edit }: PayloadEditorProps) {
  return (
    <div class="field stack">
      <span class="label">Payload</span>
      <CheckResult check={check} />
      <DialogButton title="Edit payload" text="Edit payload">
        {(close) => (
          <>
            <PayloadField {...{ text, check, edit }} hint={<CheckResult check={check} />} />
            <p class="cluster">
              <Button look="primary" act={close}>
                Done
              </Button>
              <Button look="quiet" act={() => edit(undefined)}>
                Reset to sample
              </Button>
            </p>
          </>
        )}
      </DialogButton>
    </div>
  );
}

interface PayloadFieldProps extends PayloadEditorProps {
  readonly hint: ComponentChildren;
}

function PayloadField({ text, check, edit, hint }: PayloadFieldProps) {
  return (
    <Field
      label="Payload"
      name="payload"
      class="mono"
      rows={20}
      autofocus
      invalid={!check.valid}
      hint={hint}
      value={text}
      change={edit}
    />
  );
}

function CheckResult({ check }: Pick<PayloadEditorProps, 'check'>) {
  const tone = check.valid ? 'delivered' : 'failed';
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

/** Sends an edited payload as a new event. @param body the body of the delivery, as sent */
export function EditAndResend({ delivery, body }: { delivery: Delivery; body: string }) {
  const { navigate } = useSimulator();
  const { sandbox, payload } = parse(body);
  const [text, setText] = useState(JSON.stringify(payload, null, 2));
  const check = checkPayload(text, Object(payload));
  const send = async () => {
    if (!check.valid) throw new Error(check.problem);
    const event = { event_name: delivery.event_name, payload: check.payload, sandbox };
    const { data, message } = await api.trigger(event);
    const sent =
      data.deliveries.find(({ webhook_id: id }) => id === delivery.webhook_id) ?? data.deliveries[0];
    if (!sent) throw new Error(message);
    navigate({ delivery: sent.id, attempt: undefined });
  };
  const hint = check.valid ? (check.difference ?? 'Sent as a new event, with a new ID.') : check.problem;
  return (
    <Form verb="Send" submit={send} disabled={!check.valid}>
      <PayloadField text={text} check={check} edit={(draft = '') => setText(draft)} hint={hint} />
    </Form>
  );
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
