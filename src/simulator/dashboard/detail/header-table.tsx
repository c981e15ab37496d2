// Headers in the order in which they went over the wire.
import type { HeaderPair } from '../live/wire.js';
import { visible } from './visible.js';

export function HeaderTable({ label, headers }: { label: string; headers: readonly HeaderPair[] }) {
  return (
    <table class="headers" aria-label={label}>
      <tbody>
        {headers.map(([name, value], index) => (
          <tr key={index}>
            <th scope="row">{visible(name)}</th>
            <td>{visible(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
