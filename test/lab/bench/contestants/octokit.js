// @octokit/webhooks, as middleware in Express 5.
import { createNodeMiddleware, Webhooks } from '@octokit/webhooks';
import express from 'express';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const webhooks = new Webhooks({ secret: process.env.SERVICE_PRIVATE_KEY, log: silent });
webhooks.on('issues', async () => {});

export default express().use(createNodeMiddleware(webhooks, { path: '/hooks', log: silent }));
