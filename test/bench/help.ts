// What `--help` prints, and the command that continues a run.
import { type Described, RECEIVER_OPTIONS, STORE_OPTIONS } from './options.js';

export function receiverHelp(profiles: readonly string[]): string {
  return `npm run bench [-- OPTIONS]

Measures what a delivery costs, beside receivers by hand and those of other packages.
${common(profiles)}
${optionLines(RECEIVER_OPTIONS)}

Examples:
  npm run bench -- --profile accept
  npm run bench -- --gate
  npm run bench -- --ab main --profile accept --contestant ours
  npm run bench -- --node "$(npx -y -p node@24 which node)" --gate
`;
}

export function storeHelp(profiles: readonly string[]): string {
  return `npm run bench:stores [-- OPTIONS]

Measures what a claim and its completion cost in each store, beside a bare round trip of the same client.
${common(profiles)}
${optionLines(STORE_OPTIONS)}

Examples:
  npm run bench:stores -- --profile redis
  npm run bench:stores -- --gate
`;
}

function common(profiles: readonly string[]): string {
  return `Keeps its epochs in .scratch/bench. When the time is up before all are measured it exits with 75; the same command
continues.

Profiles: ${profiles.join(', ')}.
`;
}

function optionLines(options: Readonly<Record<string, Described>>): string {
  return Object.entries(options)
    .map(([name, { value = '', says }]) => `  ${`--${name} ${value}`.padEnd(19)} ${says}`)
    .join('\n');
}

/** Without `--fresh`, which would start over. */
export function commandToContinue(script: string, args: readonly string[]): string {
  const kept = args.filter((arg) => arg !== '--fresh');
  const quoted = kept.map((arg) => (/^[\w./:=@~^-]+$/.test(arg) ? arg : `'${arg}'`));
  return [`npm run ${script}`, ...(quoted.length > 0 ? ['--', ...quoted] : [])].join(' ');
}
