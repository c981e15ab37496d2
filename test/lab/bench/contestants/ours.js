// payment-webhooks as installed, on Express 5, with its default store.
import express from 'express';
import { hooks } from './hooks.js';

export default express().post('/hooks', hooks());
