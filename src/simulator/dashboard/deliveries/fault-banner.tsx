// Says, as long as a fault is in force, that deliveries are damaged on purpose.
import { api } from '../live/api.js';
import type { Fault, Webhook } from '../live/wire.js';
import { Icon } from '../parts/icon.js';
import { useAction } from '../parts/notice.js';
import { pure } from '../parts/pure.js';
import { faultText } from '../sidebar/fault-text.js';
import { focusMain } from './focus.js';

interface FaultBannerProps {
  readonly faults: readonly Fault[];
  readonly webhooks: readonly Webhook[];
}

export const FaultBanner = pure(({ faults, webhooks }: FaultBannerProps) => {
  const clear = useAction(async () => {
    await api.removeFaults();
    // The banner goes away, and with it the button that has the focus.
    focusMain();
  });
  const [first] = faults;
  if (!first) return null;
  return (
    <div class="fault-banner" role="status">
      <Icon name="fault" />
      <p>
        <strong>Deliveries are damaged on purpose:</strong> {faultText(first, webhooks)}
        {faults.length > 1 && `, and ${faults.length - 1} more`}.
      </p>
      <button type="button" class="button small" onClick={() => clear()}>
        Turn all faults off
      </button>
    </div>
  );
});
