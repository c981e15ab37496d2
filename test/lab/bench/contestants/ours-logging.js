// payment-webhooks with its default logger: one line for each delivery.
import express from 'express';
import { hooks } from './hooks.js';

export default express().post('/hooks', hooks({ logger: undefined }));
