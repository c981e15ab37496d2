// payment-webhooks observed by OpenTelemetry, with no SDK registered.
import express from 'express';
import { door } from './door.js';
import { hooks } from './hooks.js';

const { openTelemetry } = await door('opentelemetry');

export default express().post('/hooks', hooks({ observer: openTelemetry() }));
