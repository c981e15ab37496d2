// POST /hooks
import { hooks } from '../../hooks';

export const POST = hooks.fetch;
