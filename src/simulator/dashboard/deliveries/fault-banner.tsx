// A banner over the deliveries as long as a fault is active.
import { api } from '../api/api.js';
import type { Fault, Webhook } from '../api/api-types.js';
import { faultText } from '../components/fault-text.js';
import { focusMain } from '../components/focus.js';
import { Icon } from '../components/icon.js';
import { memo } from '../components/memo.js';
import { useAction } from '../components/notice.js';

interface FaultBannerProps {
  readonly faults: readonly Fault[];
  readonly webhooks: readonly Webhook[];
}

export const FaultBanner = memo(({ faults, webhooks }: FaultBannerProps) => {
  const removeAll = useAction(async () => {
    await api.removeFaults();
    // The button disappears with the banner.
    focusMain();
  });
  const [first] = faults;
  if (!first) return null;
  return (
    <div class="fault-banner cluster tone-fault" role="status">
      <Icon name="fault" />
      <p>
        <strong>The simulator injects faults:</strong> {faultText(first, webhooks)}
        {faults.length > 1 && `, and ${faults.length - 1} more`}.
      </p>
      <button type="button" class="button small" onClick={() => removeAll()}>
        Remove all faults
      </button>
    </div>
  );
});
