// Imported before the app, which looks for its key when it is loaded.
process.env.SERVICE_PRIVATE_KEY = 'pri_test';
