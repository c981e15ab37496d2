// A labelled line of input, with what was wrong with it.
import { Field } from './field.js';

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly change: (value: string) => void;
  readonly hint?: string;
  readonly errors?: readonly string[] | undefined;
  readonly type?: 'text' | 'url' | 'number';
  readonly class?: 'mono' | 'number';
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly list?: string;
  readonly min?: number;
  readonly max?: number;
}

export function TextField({ label, value, change, hint, errors, ...attributes }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} errors={errors}>
      {(control) => (
        <input
          {...attributes}
          {...control}
          value={value}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
