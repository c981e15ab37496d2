// One attempt: the request, the response, and how its signature was made.
import type { Attempt, Delivery, Settings } from '../live/wire.js';
import { Tabs } from '../parts/tabs.js';
import { RequestView } from './request-view.js';
import { ResponseView } from './response-view.js';
import { SignatureView } from './signature-view.js';

interface AttemptViewProps {
  readonly attempt: Attempt;
  readonly delivery: Delivery;
  readonly sandbox: boolean;
  readonly settings: Settings | undefined;
}

export function AttemptView({ attempt, delivery, sandbox, settings }: AttemptViewProps) {
  return (
    <Tabs
      label={`Attempt ${attempt.number}`}
      tabs={[
        { name: 'Request', content: () => <RequestView delivery={delivery} attempt={attempt} /> },
        { name: 'Response', content: () => <ResponseView attempt={attempt} /> },
        {
          name: 'Signature',
          content: () => <SignatureView attempt={attempt} sandbox={sandbox} settings={settings} />,
        },
      ]}
    />
  );
}
