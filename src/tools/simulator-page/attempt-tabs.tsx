// One attempt in three tabs: the request, the response, and how the signature was computed.
import type { ComponentChild } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { Attempt, Delivery, Settings } from './api.js';
import { RequestView, ResponseView } from './messages.js';
import { SignatureView } from './signature-view.js';

interface AttemptTabsProps {
  readonly attempt: Attempt;
  readonly delivery: Delivery;
  readonly sandbox: boolean;
  readonly settings: Settings | undefined;
}

export function AttemptTabs({ attempt, delivery, sandbox, settings }: AttemptTabsProps) {
  return (
    <Tabs
      label={`Attempt ${attempt.number}`}
      tabs={[
        ['Request', <RequestView delivery={delivery} attempt={attempt} />],
        ['Response', <ResponseView attempt={attempt} />],
        ['Signature', <SignatureView attempt={attempt} sandbox={sandbox} settings={settings} />],
      ]}
    />
  );
}

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly (readonly [name: string, content: ComponentChild])[];
}

/** One tab stop; the arrow keys move between the tabs. */
function Tabs({ label, tabs }: TabsProps) {
  const id = useId();
  const [chosen, choose] = useState(0);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = (chosen + step + tabs.length) % tabs.length;
    choose(next);
    document.getElementById(`${id}-tab-${next}`)?.focus();
  };
  return (
    <div>
      <div class="tab-list" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map(([name], index) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-tab-${index}`}
            aria-selected={index === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={index === chosen ? 0 : -1}
            onClick={() => choose(index)}
          >
            {name}
          </button>
        ))}
      </div>
      <div class="tab-panel stack" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-tab-${chosen}`}>
        {tabs[chosen]?.[1]}
      </div>
    </div>
  );
}
