// payment-webhooks that is sent authentic deliveries in a profile that forges all others.
export { default } from './ours.js';
