// svix, with express.raw() in Express 5.
// Declares Node 22 and runs on Node 20.
import { Webhook } from 'svix';
import { verifying } from './verifying.js';

export default verifying(Webhook);
