// A labelled choice of one out of several, with what was wrong with it.
import { Field } from './field.js';

interface SelectFieldProps {
  readonly label: string;
  readonly options: readonly (readonly [value: string, words: string])[];
  readonly value: string;
  readonly change: (value: string) => void;
  readonly hint?: string | undefined;
  readonly errors?: readonly string[] | undefined;
}

export function SelectField({ label, options, value, change, hint, errors }: SelectFieldProps) {
  return (
    <Field label={label} hint={hint} errors={errors}>
      {(control) => (
        <select {...control} value={value} onChange={(event) => change(event.currentTarget.value)}>
          {options.map(([option, words]) => (
            <option key={option} value={option}>
              {words}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
