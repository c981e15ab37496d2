// Registers the first webhook, for all events: only its URL is asked.
import { useState } from 'preact/hooks';
import { api } from '../live/api.js';
import { Problem } from '../parts/form-end.js';
import { TextField } from '../parts/text-field.js';
import { useForm } from '../parts/use-form.js';
import { focusMain } from './focus.js';

export function FirstWebhook() {
  const [url, setUrl] = useState('http://localhost:3000/hooks');
  const { errors, problem, send } = useForm(['url'], async () => {
    await api.createWebhook({ url: url.trim() });
    focusMain();
  });
  return (
    <form class="inline-form" onSubmit={send}>
      <TextField
        label="URL of your endpoint"
        type="url"
        class="mono"
        required
        value={url}
        change={setUrl}
        errors={errors.url}
      />
      <button type="submit" class="button primary">
        Register
      </button>
      <Problem text={problem} />
    </form>
  );
}
