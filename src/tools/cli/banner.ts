// The banner of `simulate`: the key for the app, how to trigger an event, addresses and credentials.
import type { Webhook } from '../simulator/api/registrations.js';
import { shellQuote } from '../simulator/delivery/curl.js';
import { DEVELOPER, seeds } from '../simulator/seeds.js';
import type { Simulator } from '../simulator/simulator.js';
import type { DemoEndpoint } from './demo-endpoint.js';
import { type Output, table } from './print.js';

export interface Simulation {
  readonly service: Simulator;
  readonly output: Output;
  readonly otherUrls: readonly string[];
  readonly forwards: readonly string[];
  readonly demo: DemoEndpoint | undefined;
  readonly credentials: boolean;
  /** The address that the other commands use without --url. */
  readonly defaultUrl: string;
}

export interface Key {
  readonly letter: string;
  readonly about: string;
  readonly press: () => void | Promise<void>;
}

const NO_WEBHOOK = 'no webhook yet: start with --forward 3000/hooks, or register one on the page';

export function banner(simulation: Simulation, keys: readonly Key[]): string {
  const trigger = 'npx payment-webhooks trigger transaction.paid';
  const { service, output, credentials, defaultUrl } = simulation;
  const { baseUrl, privateKey } = service;
  return [
    output.paint('bold', 'The service runs on this machine.'),
    '',
    'Start your app with its key, and trigger an event in another terminal:',
    '',
    // Quoted for a shell and for a .env file.
    `  SERVICE_PRIVATE_KEY=${/^[\w.-]+$/.test(privateKey) ? privateKey : shellQuote(privateKey)}`,
    `  ${baseUrl === defaultUrl ? trigger : `${trigger} --url ${baseUrl}`}`,
    '',
    table(addresses(simulation)),
    '',
    credentials
      ? credentialTable(service)
      : output.paint('dim', 'More keys and tokens: start with --credentials.'),
    '',
    ...keys.map(({ letter, about }) => output.paint('dim', `${letter}  ${about}`)),
    ...(keys.length > 0 ? [''] : []),
  ].join('\n');
}

export function bannerJson({ service, otherUrls, forwards, demo }: Simulation): object {
  const { baseUrl, dashboardUrl, privateKey, sandboxKey } = service;
  return {
    type: 'ready',
    page: dashboardUrl,
    base_url: baseUrl,
    other_urls: otherUrls,
    private_key: privateKey,
    sandbox_key: sandboxKey,
    forwards,
    demo: demo?.url ?? null,
    dead_letters: demo?.letters ?? null,
    ...credentialsOf(service),
  };
}

function addresses({ service, otherUrls, demo }: Simulation): string[][] {
  const webhooks = service.webhooks
    .list()
    .map((webhook) => [
      webhook.url === demo?.url ? 'demo endpoint' : 'delivers to',
      webhook.url + restriction(webhook),
    ]);
  return [
    ['page', service.dashboardUrl],
    ['API base URL', service.baseUrl],
    ...otherUrls.map((url) => ['other machines', url]),
    ...(webhooks.length > 0 ? webhooks : [['delivers to', NO_WEBHOOK]]),
    ...(demo ? [['dead letters', demo.letters]] : []),
  ];
}

function restriction({ paused, events }: Webhook): string {
  if (paused) return ' (paused)';
  return events.includes('*') ? '' : ` (only ${events.join(', ')})`;
}

export function credentialTable(service: Simulator): string {
  const { keys, tokens } = credentialsOf(service);
  return table([
    ...keys.map(({ key, shows }) => ['key', key, shows]),
    ...tokens.map(({ token, shows }) => ['token', token, shows]),
  ]);
}

export function credentialsOf({ privateKey, sandboxKey }: Simulator) {
  const keys = seeds.keys.map(({ key, account, sandbox, shows }, index) => ({
    key: account === DEVELOPER ? (sandbox ? sandboxKey : privateKey) : key,
    shows: index === 0 ? `${shows}; signs every delivery` : shows,
  }));
  return { keys, tokens: seeds.tokens.map(({ token, shows }) => ({ token, shows })) };
}
