// payment-webhooks on Express 4.
import express from 'express4';
import { hooks } from './hooks.js';

export default express().post('/hooks', hooks());
