// payment-webhooks without de-duplication, as every peer is.
import express from 'express';
import { hooks } from './hooks.js';

export default express().post('/hooks', hooks({ store: false }));
