// What the page shows while it captures deliveries of the real service: where they go, and how the first one arrives.
import { CopyLine } from '../../web/components/copy-button.js';
import { Panel } from '../../web/components/page-frame.js';
import { useSimulator } from './simulator.js';

export function CapturePanel() {
  const { path, forward } = useSimulator().settings?.capture ?? {};
  return (
    <Panel title="Capture" id="capture">
      <p class="note wrap">
        Every POST to <code>{path}</code> is recorded as it came, and{' '}
        {forward ? (
          <>
            passed on to <span class="mono">{forward}</span>. Its answer goes back.
          </>
        ) : (
          'answered 200. To pass it on to your app, start with --forward 3000/hooks.'
        )}
      </p>
      <p class="note wrap">Through a tunnel, nothing else of this page can be reached.</p>
    </Panel>
  );
}

export function CaptureSteps() {
  const { path } = useSimulator().settings?.capture ?? {};
  return (
    <section class="onboarding" aria-labelledby="onboarding-title">
      <h2 id="onboarding-title">No deliveries yet</h2>
      <p class="muted">Three steps to the first delivery of your account.</p>
      <ol class="steps">
        <li>
          <h3>Start a tunnel to this port</h3>
          <CopyLine label="Run" name="command" text={`cloudflared tunnel --url ${location.origin}`} />
        </li>
        <li>
          <h3>Register its address as a webhook</h3>
          <p class="muted">
            In the dashboard of a test account, with the path <code>{path}</code>.
          </p>
        </li>
        <li>
          <h3>Make a sandbox payment</h3>
          <p class="muted">The delivery appears here, with the header that has its signature.</p>
        </li>
      </ol>
    </section>
  );
}
