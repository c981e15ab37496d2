// Sends the payload of a delivery once more, after someone changed it, as a new event.
import { useState } from 'preact/hooks';
import { Form } from '../pages/components/form.js';
import { api, type Delivery } from './api.js';
import { checkPayload } from './check-payload.js';
import { useSimulator } from './simulator-context.js';
import { PayloadField } from './trigger.js';

/** @param body as it was sent */
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

/** A fault may have cut it. */
function parse(body: string): { readonly sandbox: boolean; readonly payload: unknown } {
  try {
    const { sandbox = false, payload = {} } = JSON.parse(body);
    return { sandbox, payload };
  } catch {
    return { sandbox: false, payload: {} };
  }
}
