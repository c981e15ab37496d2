// Two builds side by side: what the new one costs, the old one being 1.
import { table } from '../setup/figures.js';
import { type Estimate, estimate } from './bootstrap.js';
import { describe, isOurs, oldName } from './contestants.js';
import { type Comparison, paired, ratioOf } from './pairing.js';
import { droppedFrom } from './report.js';
import type { Measured } from './session.js';
import { intervalOf } from './verdict-table.js';

const DIGITS = 3;

export function abReport(all: readonly Measured[], newLabel: string, oldLabel: string): string {
  const head = ['', 'CPU', '95 % interval', '', 'requests a second', '95 % interval'];
  return [
    `${newLabel}, ${oldLabel} = 1. Contestants of both builds take turns in the same rounds.`,
    table(head, all.flatMap(rowsOf)),
    ...all.flatMap(droppedFrom),
  ].join('\n\n');
}

function rowsOf({ experiment, epochs, dropped }: Measured): string[][] {
  const rows = experiment.contestants
    .filter((name) => isOurs(name) && !name.endsWith('@old'))
    .filter((name) => !(name in dropped) && !(oldName(name) in dropped))
    .map((name) => {
      const ratio = (compare: Comparison) => estimate(paired(epochs, [name, oldName(name)], compare));
      const [cpu, requests] = [ratio(ratioOf('cpuNs')), ratio(ratioOf('requestsPerSecond'))];
      return [
        describe(name),
        ...[shown(cpu), intervalOf(cpu, DIGITS), finding(cpu)],
        ...[shown(requests), intervalOf(requests, DIGITS)],
      ];
    });
  return [[`**${experiment.title}**`, '', '', '', '', ''], ...rows];
}

function shown(ratio: Estimate | undefined): string {
  return ratio?.median.toFixed(DIGITS) ?? '';
}

function finding(cpu: Estimate | undefined): string {
  if (!cpu) return '';
  return cpu.high < 1 ? 'cheaper' : cpu.low > 1 ? 'dearer' : 'no difference shown';
}
